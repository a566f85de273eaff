//! Compression of file blocks. As in the kernel, blocks that are short or hardly shrink are stored
//! uncompressed.

use super::options::Compressor;
use crate::cpu::{Codec, Cpu, Unit};
use crate::deflate::{Format, deflate_raw, inflate, symbols, tables};
use crate::lzo;
use crate::memo::Memo;
use crate::zstd::Parts;

/// Compressed blocks, by compressor and data.
static PACKED: Memo = Memo::new();

/// Blocks shorter than this are not compressed, bytes.
const SIZE_MIN: usize = 128;
/// A block is stored compressed only if that saves at least this many bytes.
const GAIN_MIN: usize = 64;

/// The number of a compressor in nodes.
pub(super) const fn number(compressor: Compressor) -> u16 {
    match compressor {
        Compressor::None => 0,
        Compressor::Lzo => 1,
        Compressor::Zlib => 2,
        Compressor::Zstd => 3,
    }
}

pub(super) const fn of_number(number: u16) -> Option<Compressor> {
    match number {
        0 => Some(Compressor::None),
        1 => Some(Compressor::Lzo),
        2 => Some(Compressor::Zlib),
        3 => Some(Compressor::Zstd),
        _ => None,
    }
}

const fn codec(compressor: Compressor) -> Option<Codec> {
    match compressor {
        Compressor::None => None,
        Compressor::Lzo => Some(Codec::Lzo),
        Compressor::Zlib => Some(Codec::CryptoDeflate),
        Compressor::Zstd => Some(Codec::Zstd),
    }
}

/// Compress a block. Returns the bytes to store and the compressor that made them.
pub(super) fn pack(compressor: Compressor, data: &[u8], cpu: &Cpu) -> (Compressor, Vec<u8>) {
    let Some(codec) = codec(compressor).filter(|_| data.len() >= SIZE_MIN) else {
        return (Compressor::None, data.to_vec());
    };
    let parameter = u64::from(number(compressor));
    let made = PACKED.recall(parameter, data, || Some(compressed(codec, data)));
    let made = made.expect("any data can be compressed");
    let shrinks = made.len() + GAIN_MIN <= data.len();
    if codec == Codec::CryptoDeflate {
        cpu.charge(Unit::DeflateSymbol, symbols(data));
    }
    if codec == Codec::Lzo {
        let parts = lzo::parts(&made, data.len());
        cpu.charge(Unit::LzoMatch, parts.matches);
        cpu.charge(Unit::LzoPosition, parts.positions);
    }
    // A compressor that gains nothing has given about as many bytes as it took.
    cpu.compress(codec, data.len(), if shrinks { made.len() } else { data.len() });
    if codec == Codec::Zstd {
        let parts = Parts::made(&made, data);
        cpu.charge(Unit::ZstdPosition, parts.positions);
        cpu.charge(Unit::ZstdSymbol, parts.symbols);
        charge(cpu, parts, [Unit::ZstdTable, Unit::ZstdLiteral, Unit::ZstdSequence]);
    }
    if shrinks { (compressor, made) } else { (Compressor::None, data.to_vec()) }
}

/// Charge for what a frame of zstd consists of: its tables, coded literals and sequences.
fn charge(cpu: &Cpu, parts: Parts, units: [Unit; 3]) {
    let Parts { tables, literals, sequences, .. } = parts;
    for (unit, number) in units.into_iter().zip([tables, literals, sequences]) {
        cpu.charge(unit, number);
    }
}

/// The compressed form of a block, which may be no shorter.
fn compressed(codec: Codec, data: &[u8]) -> Vec<u8> {
    match codec {
        Codec::Zlib | Codec::CryptoDeflate => deflate_raw(data),
        Codec::Zstd => crate::zstd::compress(data),
        Codec::Lzo | Codec::Rtime => lzo::compress(data),
    }
}

/// Decompress stored bytes into `size` bytes. `None` if they are malformed.
pub(super) fn unpack(
    compressor: Compressor,
    stored: &[u8],
    size: usize,
    cpu: &Cpu,
) -> Option<Vec<u8>> {
    let Some(codec) = codec(compressor) else {
        return (stored.len() == size).then(|| stored.to_vec());
    };
    cpu.decompress(codec, stored.len(), size);
    if codec == Codec::Zstd {
        charge(
            cpu,
            Parts::of(stored),
            [Unit::UnzstdTable, Unit::UnzstdLiteral, Unit::UnzstdSequence],
        );
    }
    let data = match codec {
        Codec::Zlib | Codec::CryptoDeflate => {
            cpu.charge(Unit::InflateTable, tables(stored, Format::Raw));
            inflate(stored, Format::Raw, size)?
        }
        Codec::Zstd => crate::zstd::decompress(stored, size)?,
        Codec::Lzo | Codec::Rtime => {
            let (data, parts) = lzo::decompress_counting(stored, size)?;
            parts.charge_unpacking(cpu);
            data
        }
    };
    (data.len() == size).then_some(data)
}
