//! Compression of node data: each compressor is tried in the platform's order.
//!
//! Compressors are tried in the order of the options. As in the kernel's priority mode, the first
//! whose output is shorter is used; data that none of them shrinks is stored as it is. At the end
//! of a block a page may not fit. Zlib then takes as much of the page as fits, and the other
//! compressors take nothing. Every attempt costs CPU time: with random data the time is spent and
//! nothing is saved.

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::format::Compression;
use crate::cpu::{Codec, Cpu, Unit};
use crate::deflate::{END_LEN, Format, deflate_prefix, inflate, symbols, tables};
use crate::lzo;
use crate::memo::Memo;

/// Compressed data, by order of compressors, room and input.
static PACKED: Memo = Memo::new();

/// A compressor that JFFS2 may try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Compressor {
    /// LZO1X-1. It has the highest priority in kernels that are built with it.
    Lzo,
    /// Deflate in zlib's format.
    Zlib,
    /// Rtime, the run-length coder of JFFS2 itself.
    Rtime,
}

named!(Compressor, "compressor");

impl Compressor {
    const fn codec(self) -> Codec {
        match self {
            Self::Lzo => Codec::Lzo,
            Self::Zlib => Codec::Zlib,
            Self::Rtime => Codec::Rtime,
        }
    }

    const fn stored_as(self) -> Compression {
        match self {
            Self::Lzo => Compression::Lzo,
            Self::Zlib => Compression::Zlib,
            Self::Rtime => Compression::Rtime,
        }
    }

    /// Compress a prefix of `data` into at most `room` bytes. Returns the output and the length of
    /// the prefix, or `None` if the output is not shorter.
    fn run(self, data: &[u8], room: usize) -> Option<(Vec<u8>, usize)> {
        let stored = match self {
            Self::Lzo => lzo::compress(data),
            Self::Zlib => return deflate_prefix(data, room),
            Self::Rtime => rtime_compress(data, room)?,
        };
        let gains = stored.len() <= room && stored.len() < data.len();
        gains.then_some((stored, data.len()))
    }
}

/// Data in the form in which a node stores it.
#[derive(Debug)]
pub(super) struct Packed {
    pub compression: Compression,
    /// The bytes in the node.
    pub stored: Vec<u8>,
    /// How many bytes of the file they stand for.
    pub data_len: usize,
}

/// Compress a prefix of `data` into at most `room` bytes: all of `data`, if it fits in any form.
pub(super) fn pack(order: &[Compressor], data: &[u8], room: usize, cpu: &Cpu) -> Packed {
    let limit = room.min(data.len());
    let Recalled { winner, symbols, packed } = recalled(order, data, limit);
    for compressor in &order[..order.len().min(winner + 1)] {
        if *compressor == Compressor::Zlib {
            if limit <= END_LEN {
                // It is not even begun.
                continue;
            }
            cpu.charge(Unit::DeflateSymbol, symbols);
        }
        if order.get(winner) == Some(compressor) {
            cpu.compress(compressor.codec(), data.len(), packed.stored.len());
            if *compressor == Compressor::Lzo {
                let parts = lzo::parts(&packed.stored, data.len());
                cpu.charge(Unit::LzoMatch, parts.matches);
                cpu.charge(Unit::LzoPosition, parts.positions);
            }
        } else {
            cpu.compress_in_vain(compressor.codec(), data.len());
            if *compressor == Compressor::Lzo {
                cpu.charge(Unit::LzoPosition, lzo::positions_in_vain(data.len()));
            }
        }
    }
    packed
}

/// What the memo knows of data.
struct Recalled {
    /// The index in `order` of the compressor that was used. It is beyond the last if none of them
    /// made the data shorter.
    winner: usize,
    /// How many values of bytes occur in the data.
    symbols: u64,
    packed: Packed,
}

fn recalled(order: &[Compressor], data: &[u8], limit: usize) -> Recalled {
    let tried = order.iter().fold(1, |tried, &compressor| tried << 2 | compressor as u64);
    let parameter = tried << u32::BITS | limit as u64;
    let mut kept = PACKED.recall(parameter, data, || Some(encoded(order, data, limit)));
    let kept = kept.as_mut().expect("anything can be stored");
    let [winner, data_len, symbols] = [(); 3].map(|()| {
        let (rest, tail) = kept.split_last_chunk().expect("three numbers are stored behind");
        let number = usize::from_le_bytes(*tail);
        let len = rest.len();
        kept.truncate(len);
        number
    });
    let (compression, stored) = match order.get(winner) {
        Some(compressor) => (compressor.stored_as(), std::mem::take(kept)),
        None => (Compression::None, data[..limit].to_vec()),
    };
    Recalled { winner, symbols: symbols as u64, packed: Packed { compression, stored, data_len } }
}

/// The output of the first compressor that makes the data shorter. A memo stores only bytes, so the
/// number of symbols, the length of the data and the compressor's index in `order` are appended.
fn encoded(order: &[Compressor], data: &[u8], limit: usize) -> Vec<u8> {
    let outcomes = order.iter().enumerate().map(|(place, it)| Some((place, it.run(data, limit)?)));
    let nothing_gained = (order.len(), (Vec::new(), limit));
    let (winner, (mut stored, data_len)) = outcomes.flatten().next().unwrap_or(nothing_gained);
    let symbols = usize::try_from(symbols(data)).expect("256 at most");
    for number in [symbols, data_len, winner] {
        stored.extend_from_slice(&number.to_le_bytes());
    }
    stored
}

/// Decompress stored bytes into `data_len` bytes of the file. `None` if they are malformed.
pub(super) fn unpack(
    compression: Compression,
    stored: &[u8],
    data_len: usize,
    cpu: &Cpu,
) -> Option<Vec<u8>> {
    let codec = match compression {
        Compression::None => return (stored.len() == data_len).then(|| stored.to_vec()),
        Compression::Zero => return Some(vec![0; data_len]),
        Compression::Unknown(_) => return None,
        Compression::Rtime => Codec::Rtime,
        Compression::Zlib => Codec::Zlib,
        Compression::Lzo => Codec::Lzo,
    };
    cpu.decompress(codec, stored.len(), data_len);
    let data = match codec {
        Codec::Lzo => {
            let (data, parts) = lzo::decompress_counting(stored, data_len)?;
            parts.charge_unpacking(cpu);
            data
        }
        Codec::Rtime => rtime_decompress(stored, data_len)?,
        Codec::Zstd | Codec::CryptoDeflate => unreachable!("not of JFFS2"),
        Codec::Zlib => {
            cpu.charge(Unit::InflateTable, tables(stored, Format::Zlib));
            inflate(stored, Format::Zlib, data_len)?
        }
    };
    (data.len() == data_len).then_some(data)
}

/// Rtime: each byte is followed by the length of a run. The run repeats the bytes that followed the
/// last occurrence of the same byte. `None` if that takes more than `room` bytes.
fn rtime_compress(data: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut last_after = [0_usize; 256];
    let mut coded = Vec::with_capacity(room);
    let mut at = 0;
    while let Some(&value) = data.get(at) {
        if coded.len() + 2 > room {
            return None;
        }
        at += 1;
        let from = std::mem::replace(&mut last_after[usize::from(value)], at);
        let repeats = data[from..].iter().zip(&data[at..]);
        let run = repeats.take(255).take_while(|(old, new)| old == new).count();
        // Position 0 also stands for a byte not seen yet. A run from there is valid for the
        // decoder, too.
        let run = if from < at { run } else { 0 };
        coded.extend([value, u8::try_from(run).expect("taken from 255 at most")]);
        at += run;
    }
    Some(coded)
}

fn rtime_decompress(coded: &[u8], data_len: usize) -> Option<Vec<u8>> {
    let mut last_after = [0_usize; 256];
    let mut data = Vec::with_capacity(data_len);
    for pair in coded.chunks(2) {
        if data.len() == data_len {
            break;
        }
        let &[value, run] = pair else { return None };
        data.push(value);
        let from = std::mem::replace(&mut last_after[usize::from(value)], data.len());
        for at in from..from + usize::from(run) {
            let repeated = *data.get(at)?;
            data.push(repeated);
        }
        if data.len() > data_len {
            return None;
        }
    }
    (data.len() == data_len).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Speed;
    use flysch_chip::{Clock, Prng};

    #[test]
    fn every_compressor_gives_its_input_back() {
        let cpu = Cpu::new(Clock::new(), Speed::default());
        let mut random = vec![0; 1000];
        Prng::new(3).fill(&mut random);
        let mut half = vec![0; 4096];
        half[1000..2000].copy_from_slice(&random);
        let text =
            b"flysch is rock laid down in layers, one after another, never rewritten".repeat(9);
        for data in [&[7_u8; 300][..], &text, &half, &random] {
            for compressor in [Compressor::Lzo, Compressor::Zlib, Compressor::Rtime] {
                let packed = pack(&[compressor], data, 4096, &cpu);
                assert_eq!(packed.data_len, data.len());
                let stored = unpack(packed.compression, &packed.stored, data.len(), &cpu);
                assert_eq!(stored.as_deref(), Some(data), "{compressor:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_stored_raw() {
        let cpu = Cpu::new(Clock::new(), Speed::default());
        let mut random = vec![0; 1000];
        Prng::new(4).fill(&mut random);
        let packed = pack(&[Compressor::Zlib], &random, 600, &cpu);
        assert_eq!((packed.compression, packed.data_len), (Compression::None, 600));
    }

    /// Few bytes of one value are coded by the codes that deflate has for all, and need no table.
    #[test]
    fn tables_of_codes_are_counted() {
        let cpu = Cpu::new(Clock::new(), Speed::default());
        let mut text = vec![0; 1000];
        Prng::new(7).fill(&mut text);
        for byte in &mut text {
            *byte = b'a' + *byte % 16;
        }
        for (data, tables) in [(vec![0; 500], 0), (text, 1)] {
            let packed = pack(&[Compressor::Zlib], &data, 4096, &cpu);
            assert_eq!(packed.compression, Compression::Zlib);
            let before = cpu.counts().0[Unit::InflateTable as usize];
            assert_eq!(unpack(packed.compression, &packed.stored, data.len(), &cpu), Some(data));
            assert_eq!(cpu.counts().0[Unit::InflateTable as usize] - before, tables);
        }
    }

    /// Deflate of what does not shrink makes no codes, and LZO's time depends on its matches.
    #[test]
    fn compressing_in_vain_and_matches_are_counted() {
        let cpu = Cpu::new(Clock::new(), Speed::default());
        let count = |unit: Unit| cpu.counts().0[unit as usize];
        let mut random = vec![0; 1000];
        Prng::new(6).fill(&mut random);
        pack(&[Compressor::Zlib], &random, 4096, &cpu);
        assert_eq!((count(Unit::DeflateVain), count(Unit::DeflateOut)), (1000, 0));
        let packed = pack(&[Compressor::Zlib], &b"flysch ".repeat(100), 4096, &cpu);
        assert_eq!(count(Unit::DeflateOut), packed.stored.len() as u64);
        let twice = [&random[..], &random[..500], &[7; 400]].concat();
        let packed = pack(&[Compressor::Lzo], &twice, 4096, &cpu);
        assert_eq!(count(Unit::LzoMatch), 2);
        assert!(count(Unit::LzoPosition) < 300, "the stride grows where nothing matches");
        assert_eq!(unpack(packed.compression, &packed.stored, 1900, &cpu), Some(twice));
        assert_eq!((count(Unit::UnlzoMatch), count(Unit::DeflateVain)), (2, 1000));
        assert!((380..=400).contains(&count(Unit::UnlzoSingle)), "the run of sevens");
    }

    #[test]
    fn hostile_bytes_are_refused() {
        let cpu = Cpu::new(Clock::new(), Speed::default());
        let mut prng = Prng::new(5);
        for len in 0..200 {
            let mut bytes = vec![0; len];
            prng.fill(&mut bytes);
            for kind in [Compression::Rtime, Compression::Zlib, Compression::Lzo] {
                if let Some(data) = unpack(kind, &bytes, 300, &cpu) {
                    assert_eq!(data.len(), 300);
                }
            }
        }
    }
}
