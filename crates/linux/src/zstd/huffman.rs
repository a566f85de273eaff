//! The literals section of a block: literals are stored as they are, as one repeated byte, or
//! Huffman-coded.

use super::bits::{BitWriter, high_bit};
use super::fse::{Table, describe, normalize};

/// Length of the longest code that the format allows, bits.
const CODE_LEN_MAX: u32 = 11;
/// With fewer literals a code table is not worth its size.
const CODED_MIN: usize = 64;
/// Coding must save more than this many bytes, as the reference encoder demands.
const GAIN_MIN: usize = 2;
/// Log2 of the size of the table that codes the weights.
const WEIGHTS_LOG: u32 = 6;

pub(super) fn literals_section(literals: &[u8]) -> Vec<u8> {
    if literals.len() > 3 && literals.iter().all(|byte| *byte == literals[0]) {
        let mut section = plain_header(1, literals.len());
        section.push(literals[0]);
        return section;
    }
    coded_section(literals).unwrap_or_else(|| {
        let mut section = plain_header(0, literals.len());
        section.extend(literals);
        section
    })
}

fn plain_header(kind: u32, len: usize) -> Vec<u8> {
    let size = u32::try_from(len).expect("one block");
    let (header, bytes) = match len {
        0..32 => (kind | size << 3, 1),
        32..4096 => (kind | 1 << 2 | size << 4, 2),
        _ => (kind | 3 << 2 | size << 4, 3),
    };
    header.to_le_bytes()[..bytes].to_vec()
}

fn coded_section(literals: &[u8]) -> Option<Vec<u8>> {
    if literals.len() < CODED_MIN {
        return None;
    }
    let mut counts = [0_u32; 256];
    for &byte in literals {
        counts[usize::from(byte)] += 1;
    }
    let lens = code_lens(&counts);
    let mut coded = describe_tree(&lens)?;
    let table = codes(&lens);
    let is_single = literals.len() < 256;
    if is_single {
        coded.extend(stream(literals, &table));
    } else {
        let streams: Vec<Vec<u8>> =
            literals.chunks(literals.len().div_ceil(4)).map(|part| stream(part, &table)).collect();
        for part in &streams[..3] {
            coded.extend(u16::try_from(part.len()).ok()?.to_le_bytes());
        }
        for part in &streams {
            coded.extend(part);
        }
    }
    if coded.len() + (literals.len() >> 6) + GAIN_MIN >= literals.len() {
        return None;
    }
    let (size, packed) = (literals.len() as u64, coded.len() as u64);
    let (format, width, bytes) = match literals.len() {
        0..256 => (0, 10, 3),
        256..1024 => (1, 10, 3),
        1024..16_384 => (2, 14, 4),
        _ => (3, 18, 5),
    };
    let header = 2 | format << 2 | size << 4 | packed << (4 + width);
    let mut section = header.to_le_bytes()[..bytes].to_vec();
    section.extend(coded);
    Some(section)
}

/// Lengths of an optimal code whose longest codes are not too long for the format.
fn code_lens(counts: &[u32; 256]) -> [u32; 256] {
    let mut scaled = *counts;
    loop {
        let lens = tree_lens(&scaled);
        if lens.iter().all(|&len| len <= CODE_LEN_MAX) {
            return lens;
        }
        // Rare symbols are counted more often, until the tree is flat enough.
        for count in scaled.iter_mut().filter(|count| **count > 0) {
            *count = count.div_ceil(2);
        }
    }
}

fn tree_lens(counts: &[u32; 256]) -> [u32; 256] {
    let present = (0..256).filter(|&symbol| counts[symbol] > 0);
    let mut groups: Vec<(u32, Vec<usize>)> =
        present.map(|symbol| (counts[symbol], vec![symbol])).collect();
    let mut lens = [0; 256];
    while groups.len() > 1 {
        groups.sort_by_key(|(count, symbols)| std::cmp::Reverse((*count, symbols.len())));
        let (small, mut symbols) = groups.pop().expect("two groups");
        let (large, more) = groups.pop().expect("two groups");
        symbols.extend(more);
        for &symbol in &symbols {
            lens[symbol] += 1;
        }
        groups.push((small + large, symbols));
    }
    lens
}

/// The code and the length of each symbol. The longest codes have the lowest values.
fn codes(lens: &[u32; 256]) -> [(u32, u32); 256] {
    let longest = lens.iter().copied().max().expect("256 symbols");
    let mut codes = [(0, 0); 256];
    let mut next = 0;
    for len in (1..=longest).rev() {
        for symbol in (0..256).filter(|&symbol| lens[symbol] == len) {
            codes[symbol] = (next, len);
            next += 1;
        }
        next >>= 1;
    }
    codes
}

/// The weights of all symbols but the last, which the decoder can compute.
fn describe_tree(lens: &[u32; 256]) -> Option<Vec<u8>> {
    let longest = lens.iter().copied().max().expect("256 symbols");
    let last = lens.iter().rposition(|&len| len > 0)?;
    let weight = |&len: &u32| if len == 0 { 0 } else { longest + 1 - len };
    let weights: Vec<u32> = lens[..last].iter().map(weight).collect();
    if let Some(packed) = pack_weights(&weights)
        && packed.len() < 128
        && (packed.len() < last.div_ceil(2) || last > 128)
    {
        let mut description = vec![u8::try_from(packed.len()).expect("below 128")];
        description.extend(packed);
        return Some(description);
    }
    if last > 128 {
        return None;
    }
    let mut description = vec![u8::try_from(127 + last).expect("at most 255")];
    for pair in weights.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        description.push(u8::try_from(pair[0] << 4 | low).expect("weights have four bits"));
    }
    Some(description)
}

/// Code the weights with two states in turns. `None` if FSE cannot code them.
fn pack_weights(weights: &[u32]) -> Option<Vec<u8>> {
    let most = usize::try_from(*weights.iter().max()?).expect("small");
    let mut counts = vec![0; most + 1];
    for &weight in weights {
        counts[weight as usize] += 1;
    }
    if weights.len() < 3 || counts.iter().filter(|count| **count > 0).count() < 2 {
        return None;
    }
    let size = u32::try_from(weights.len()).expect("at most 255");
    let log = WEIGHTS_LOG.min(high_bit(size - 1).saturating_sub(2)).max(5);
    let counts = normalize(&counts, log);
    let mut packed = describe(&counts, log);
    let table = Table::new(&counts, log);
    let mut out = BitWriter::default();
    let mut rest: Vec<usize> = weights.iter().map(|&weight| weight as usize).collect();
    let mut take = || rest.pop();
    let (last, before) = (take()?, take()?);
    // The state that decodes the first weight is read first.
    let mut states = [table.begin(last), table.begin(before)];
    let mut turn = 0;
    while let Some(weight) = take() {
        table.encode(&mut states[turn], weight, &mut out);
        turn = 1 - turn;
    }
    table.end(states[turn], &mut out);
    table.end(states[1 - turn], &mut out);
    packed.extend(out.close());
    Some(packed)
}

fn stream(literals: &[u8], codes: &[(u32, u32); 256]) -> Vec<u8> {
    let mut out = BitWriter::default();
    for &byte in literals.iter().rev() {
        let (code, len) = codes[usize::from(byte)];
        out.put(code, len);
    }
    out.close()
}
