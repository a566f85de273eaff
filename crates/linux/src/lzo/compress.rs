//! The compressor. It is greedy and remembers the last position of each hash of four bytes.
//!
//! A file system programs a page when compressed data fills it. Compressed sizes must therefore be
//! those of the kernel's LZO1X-1 to the byte: the same positions are tried, the same hashes
//! collide, and the same codes are chosen.

#![expect(clippy::cast_possible_truncation, reason = "each operand is matched to its bits first")]

use super::{
    END, FAR_DISTANCE_MAX, FIRST_LITERALS, MIDDLE_DISTANCE_MAX, NEAR_DISTANCE_MAX, NEAR_LEN_MAX,
};

/// Log2 of the number of positions that are remembered.
const TABLE_BITS: u32 = 13;

/// No match begins in the first `HEAD_LEN` bytes or in the last `TAIL_LEN` bytes.
pub(super) const TAIL_LEN: usize = 20;
const HEAD_LEN: usize = 5;

/// Largest number of literals of a stream without any match that have a code of their own.
const FIRST_LITERALS_MAX: usize = 238;

/// After this many bytes without a match the stride begins at one again.
const STRIDE_PERIOD: usize = 1 << 15;

/// Low 16 bits of the last position of each hash.
///
/// They give the distance to that position modulo 64 Ki. If the position is farther away, or the
/// slot was never written, the distance leads to some other earlier byte. Comparing the bytes
/// reveals that, so inputs of any length can use the same small table.
type Table = [u16; 1 << TABLE_BITS];

/// Compress `data`. The result is at most one sixteenth and 67 bytes longer than the data.
pub fn compress(data: &[u8]) -> Vec<u8> {
    let mut coded = Vec::with_capacity(data.len() + data.len() / 16 + 67);
    let mut table = [0; 1 << TABLE_BITS];
    let end = data.len().saturating_sub(TAIL_LEN);
    let mut done = 0;
    while let Some((at, distance)) = find_match(data, done, end, &mut table) {
        let len = match_len(data, at, distance, end);
        push_literals(&mut coded, &data[done..at]);
        push_match(&mut coded, len, distance);
        done = at + len;
    }
    match data.len() - done {
        len @ 1..=FIRST_LITERALS_MAX if coded.is_empty() => {
            coded.push(FIRST_LITERALS + len as u8);
            coded.extend_from_slice(data);
        }
        _ => push_literals(&mut coded, &data[done..]),
    }
    coded.extend(END);
    coded
}

/// Find the next position from `done` to `end` whose four bytes stood somewhere before. Returns the
/// position and the distance.
///
/// As in Snappy, the stride grows by one every 32 bytes without a match, so that incompressible
/// data costs little time. Now and then it begins at one again, to notice compressible data behind.
fn find_match(data: &[u8], done: usize, end: usize, table: &mut Table) -> Option<(usize, usize)> {
    let mut at = done.max(HEAD_LEN);
    while at < end {
        let bytes = data[at..].first_chunk::<4>()?;
        let slot = &mut table[hash(*bytes)];
        let distance = usize::from((at as u16).wrapping_sub(*slot));
        *slot = at as u16;
        let in_reach = (1..=FAR_DISTANCE_MAX).contains(&distance);
        if in_reach && data[at - distance..].first_chunk() == Some(bytes) {
            return Some((at, distance));
        }
        at += stride(at - done);
    }
    None
}

/// At how many places [`compress`] looks for a match in the `end` bytes behind the last match, or
/// behind the start of the data.
pub(super) fn positions(end: usize, is_first: bool) -> u64 {
    let mut at = if is_first { HEAD_LEN } else { 0 };
    let mut positions = 0;
    while at < end {
        positions += 1;
        at += stride(at);
    }
    positions
}

/// How far the search moves on if it is `passed` bytes behind the last match.
const fn stride(passed: usize) -> usize {
    1 + passed % STRIDE_PERIOD / 32
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4) with the multiplier of
/// LZO.
fn hash(bytes: [u8; 4]) -> usize {
    (u32::from_le_bytes(bytes).wrapping_mul(0x1824_429D) >> (u32::BITS - TABLE_BITS)) as usize
}

/// Length of a match whose first four bytes are known to agree. Eight bytes are compared at a time,
/// until `end` is passed.
fn match_len(data: &[u8], at: usize, distance: usize, end: usize) -> usize {
    let mut len = 4;
    loop {
        let (one, other) = (&data[at + len..][..8], &data[at + len - distance..][..8]);
        let equal = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        len += equal;
        if equal < 8 || at + len >= end {
            return len;
        }
    }
}

fn push_literals(coded: &mut Vec<u8>, literals: &[u8]) {
    match literals.len() {
        0 => return,
        len @ 1..=3 => {
            // Each match has room for this count in its last byte but one.
            let count_at = coded.len() - 2;
            coded[count_at] |= len as u8;
        }
        len => push_instruction(coded, 0, len - 3, 15),
    }
    coded.extend_from_slice(literals);
}

fn push_match(coded: &mut Vec<u8>, len: usize, distance: usize) {
    debug_assert!(len >= 3, "shorter matches need literals before them");
    debug_assert!((1..=FAR_DISTANCE_MAX).contains(&distance));
    if len <= NEAR_LEN_MAX && distance <= NEAR_DISTANCE_MAX {
        let offset = distance - 1;
        coded.extend([((len - 1) << 5 | (offset & 7) << 2) as u8, (offset >> 3) as u8]);
    } else if distance <= MIDDLE_DISTANCE_MAX {
        push_instruction(coded, 0b10_0000, len - 2, 31);
        push_offset(coded, distance - 1);
    } else {
        let offset = distance - MIDDLE_DISTANCE_MAX;
        let high = (offset / MIDDLE_DISTANCE_MAX) as u8;
        push_instruction(coded, 0b1_0000 | high << 3, len - 2, 7);
        push_offset(coded, offset % MIDDLE_DISTANCE_MAX);
    }
}

/// Push `opcode` with `len` in its low bits. If `len` is more than `len_max`, it follows in further
/// bytes.
fn push_instruction(coded: &mut Vec<u8>, opcode: u8, len: usize, len_max: usize) {
    if len <= len_max {
        coded.push(opcode | len as u8);
        return;
    }
    let extra = len - len_max - 1;
    coded.push(opcode);
    coded.resize(coded.len() + extra / 255, 0);
    coded.push((extra % 255) as u8 + 1);
}

fn push_offset(coded: &mut Vec<u8>, offset: usize) {
    coded.extend(((offset << 2) as u16).to_le_bytes());
}
