//! The decompressor. It accepts only a whole stream of the expected length, and never panics.

use super::compress::{TAIL_LEN, positions};
use super::{FIRST_LITERALS, MIDDLE_DISTANCE_MAX, NEAR_DISTANCE_MAX};
use crate::cpu::{Cpu, Unit};

/// Decompress a stream into `expected_len` bytes.
///
/// `None` where the data is no whole stream of that length.
pub fn decompress(data: &[u8], expected_len: usize) -> Option<Vec<u8>> {
    decompress_counting(data, expected_len).map(|(bytes, _)| bytes)
}

/// What a stream consists of, and how it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub matches: u64,
    /// Instructions that copy literals. Up to 3 literals come with a match and have none.
    pub literal_runs: u64,
    /// Bytes that the kernel copies one by one, and not in words: those of matches that repeat the
    /// last few bytes.
    pub single_bytes: u64,
    /// The literals at the end, behind which there is no room for a word. They are copied one by
    /// one, too, in a loop that takes longer.
    pub tail_bytes: u64,
    /// Places at which the compressor looked for a match.
    pub positions: u64,
}

/// The distance from which on a match is copied in words, bytes.
const WORD: usize = 8;

impl Parts {
    /// Charge for putting the parts of a stream together again.
    pub(crate) fn charge_unpacking(&self, cpu: &Cpu) {
        cpu.charge(Unit::UnlzoMatch, self.matches);
        cpu.charge(Unit::UnlzoLiterals, self.literal_runs);
        cpu.charge(Unit::UnlzoSingle, self.single_bytes);
        cpu.charge(Unit::UnlzoTail, self.tail_bytes);
    }

    fn count(&mut self, len: usize, distance: usize) {
        self.matches += 1;
        if distance < WORD {
            self.single_bytes += len as u64;
        }
    }

    /// Count literals, which `left` bytes of output follow at most.
    fn count_literals(&mut self, len: usize, left: usize) {
        self.literal_runs += 1;
        if left < len + 2 * WORD - 1 {
            self.tail_bytes += len as u64;
        }
    }
}

/// The parts of a stream that was made of `len` bytes.
pub(crate) fn parts(stream: &[u8], len: usize) -> Parts {
    decompress_counting(stream, len).map_or_else(Parts::default, |(_, parts)| parts)
}

/// Decompress a stream into `expected_len` bytes, and count its parts.
///
/// `None` unless `data` is one complete stream of this length with nothing behind it. Memory for
/// `expected_len` bytes is allocated, whatever the stream says.
pub(crate) fn decompress_counting(data: &[u8], expected_len: usize) -> Option<(Vec<u8>, Parts)> {
    let mut parts = Parts::default();
    // Where the last match ended.
    let mut done = 0;
    let mut out = Vec::new();
    out.try_reserve_exact(expected_len).ok()?;
    let mut decoder = Decoder { coded: data, out, expected_len, literal_count: 0 };
    decoder.copy_first_literals()?;
    loop {
        match decoder.instruction()? {
            Instruction::Literals { len } => {
                parts.count_literals(len, decoder.room());
                decoder.copy_literals(len)?;
            }
            Instruction::Match { len, distance, literal_count } => {
                parts.positions += positions(decoder.out.len() - done + 1, done == 0);
                parts.count(len, distance);
                decoder.copy_match(len, distance)?;
                done = decoder.out.len();
                decoder.copy_literals(literal_count)?;
            }
            Instruction::End => break,
        }
    }
    let tail = decoder.out.len() - done;
    parts.positions += positions(tail.saturating_sub(TAIL_LEN), done == 0);
    (decoder.coded.is_empty() && decoder.room() == 0).then_some((decoder.out, parts))
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Literals { len: usize },
    Match { len: usize, distance: usize, literal_count: usize },
    End,
}

struct Decoder<'a> {
    /// The rest of the stream.
    coded: &'a [u8],
    out: Vec<u8>,
    expected_len: usize,
    /// Number of literals copied last. The meaning of instructions below 16 depends on it.
    literal_count: usize,
}

impl Decoder<'_> {
    fn room(&self) -> usize {
        self.expected_len - self.out.len()
    }

    fn copy_first_literals(&mut self) -> Option<()> {
        let first = *self.coded.first()?;
        if first > FIRST_LITERALS {
            self.coded = &self.coded[1..];
            self.copy_literals(usize::from(first - FIRST_LITERALS))?;
        }
        Some(())
    }

    fn instruction(&mut self) -> Option<Instruction> {
        let code = self.byte()?;
        let operand = usize::from(code);
        match code {
            0..16 if self.literal_count == 0 => {
                Some(Instruction::Literals { len: 3 + self.length(operand, 15)? })
            }
            0..16 => {
                let offset = operand >> 2 | usize::from(self.byte()?) << 2;
                let (len, nearest) =
                    if self.literal_count < 4 { (2, 1) } else { (3, 1 + NEAR_DISTANCE_MAX) };
                let literal_count = operand & 3;
                Some(Instruction::Match { len, distance: nearest + offset, literal_count })
            }
            16..32 => {
                let len = 2 + self.length(operand & 7, 7)?;
                let (offset, literal_count) = self.offset()?;
                let distance = MIDDLE_DISTANCE_MAX * (1 + (operand >> 3 & 1)) + offset;
                if distance > MIDDLE_DISTANCE_MAX {
                    return Some(Instruction::Match { len, distance, literal_count });
                }
                (len == 3).then_some(Instruction::End)
            }
            32..64 => {
                let len = 2 + self.length(operand & 31, 31)?;
                let (offset, literal_count) = self.offset()?;
                Some(Instruction::Match { len, distance: 1 + offset, literal_count })
            }
            64.. => {
                let offset = operand >> 2 & 7 | usize::from(self.byte()?) << 3;
                let (len, literal_count) = (1 + (operand >> 5), operand & 3);
                Some(Instruction::Match { len, distance: 1 + offset, literal_count })
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.coded.split_first()?;
        self.coded = rest;
        Some(byte)
    }

    /// The distance in two bytes, and the number of literals in their low bits.
    fn offset(&mut self) -> Option<(usize, usize)> {
        let (&bytes, rest) = self.coded.split_first_chunk()?;
        self.coded = rest;
        let word = usize::from(u16::from_le_bytes(bytes));
        Some((word >> 2, word & 3))
    }

    /// The length `short`, or the length in the following bytes if `short` is 0.
    fn length(&mut self, short: usize, short_max: usize) -> Option<usize> {
        if short > 0 {
            return Some(short);
        }
        let zero_count = self.coded.iter().take_while(|byte| **byte == 0).count();
        // A length beyond the whole output is refused here, so that no sum overflows.
        if zero_count > self.expected_len / 255 {
            return None;
        }
        self.coded = &self.coded[zero_count..];
        Some(short_max + 255 * zero_count + usize::from(self.byte()?))
    }

    fn copy_literals(&mut self, len: usize) -> Option<()> {
        let (literals, rest) = self.coded.split_at_checked(len)?;
        if len > self.room() {
            return None;
        }
        self.out.extend_from_slice(literals);
        self.coded = rest;
        self.literal_count = len;
        Some(())
    }

    fn copy_match(&mut self, len: usize, distance: usize) -> Option<()> {
        let start = self.out.len().checked_sub(distance)?;
        if len > self.room() {
            return None;
        }
        let end = self.out.len() + len;
        // Each turn copies all bytes from `start` on, which are whole periods of the match, and
        // doubles them.
        while self.out.len() < end {
            let run_end = self.out.len().min(start + end - self.out.len());
            self.out.extend_from_within(start..run_end);
        }
        Some(())
    }
}
