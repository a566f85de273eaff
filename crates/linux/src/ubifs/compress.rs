//! Compression of file blocks.
//!
//! As in the kernel, short data and data that gain little are stored as they are.

use super::options::Compressor;
use crate::cpu::{Codec, Cpu, Work};
use crate::deflate::{deflate, inflate};
use crate::lzo;
use miniz_oxide::DataFormat;

/// Shorter data is not compressed.
const SIZE_MIN: usize = 128;
/// Compression must win this much.
const GAIN_MIN: usize = 64;
/// The kernel's deflate level.
const ZLIB_LEVEL: u8 = 6;

/// A compressor's number in nodes.
pub(super) const fn number(compressor: Compressor) -> u16 {
    match compressor {
        Compressor::None => 0,
        Compressor::Lzo => 1,
        Compressor::Zlib => 2,
        Compressor::Zstd => 3,
    }
}

/// The compressor of this number.
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
        Compressor::Zlib => Some(Codec::Zlib),
        Compressor::Zstd => Some(Codec::Zstd),
    }
}

/// Pack a block: what is stored, and how.
pub(super) fn pack(compressor: Compressor, data: &[u8], cpu: &Cpu) -> (Compressor, Vec<u8>) {
    let Some(codec) = codec(compressor).filter(|_| data.len() >= SIZE_MIN) else {
        return (Compressor::None, data.to_vec());
    };
    cpu.charge(Work::Compress(codec, data.len()));
    let stored = match codec {
        Codec::Zlib => deflate(data, DataFormat::Raw, ZLIB_LEVEL),
        Codec::Zstd => crate::zstd::compress(data),
        Codec::Lzo | Codec::Rtime => lzo::compress(data),
    };
    if stored.len() + GAIN_MIN > data.len() {
        return (Compressor::None, data.to_vec());
    }
    (compressor, stored)
}

/// Unpack `size` bytes; `None` if the stored bytes are no such thing.
pub(super) fn unpack(
    compressor: Compressor,
    stored: &[u8],
    size: usize,
    cpu: &Cpu,
) -> Option<Vec<u8>> {
    let Some(codec) = codec(compressor) else {
        return (stored.len() == size).then(|| stored.to_vec());
    };
    cpu.charge(Work::Decompress(codec, size));
    let data = match codec {
        Codec::Zlib => inflate(stored, DataFormat::Raw, size)?,
        Codec::Zstd => crate::zstd::decompress(stored, size)?,
        Codec::Lzo | Codec::Rtime => lzo::decompress(stored, size)?,
    };
    (data.len() == size).then_some(data)
}
