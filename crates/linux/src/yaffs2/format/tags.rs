//! Tags: they say what a chunk holds. They stand in the OOB area of its page and have an
//! error-correcting code of their own.
//!
//! The tags of a header hold more. The top bits of the chunk number are flags, and the rest of it
//! is the parent's number. The top four bits of the object number are its kind, and the byte count
//! is the file's size.

use flysch_nand::is_erased;

use super::{Kind, put_u32, u32_at};

/// Length of the tags with their code, bytes.
pub(in super::super) const TAGS_SIZE: usize = 28;
/// Length of the tags without their code, bytes.
const PLAIN_SIZE: usize = 16;

const HEADER_FLAG: u32 = 0x8000_0000;
const SHRINK_FLAG: u32 = 0x4000_0000;
const SHADOWS_FLAG: u32 = 0x2000_0000;
const FLAGS: u32 = 0xF000_0000;
const KIND_SHIFT: u32 = 28;
const OBJECT_MASK: u32 = 0x0FFF_FFFF;

/// The fields of a header that its tags repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Extra {
    pub parent: u32,
    pub kind: Kind,
    pub size: u32,
    pub is_shrink: bool,
    pub shadows: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Tags {
    pub sequence: u32,
    pub object: u32,
    /// 0 for a header; otherwise the number of the chunk in its file, counted from 1.
    pub chunk: u32,
    pub bytes: u32,
    pub extra: Option<Extra>,
}

/// What a page holds where its tags should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Found {
    /// All bytes are 0xFF, as after an erase.
    Blank,
    /// Tags that the code cannot correct, or numbers that no tags have.
    Damaged,
    /// Valid tags, perhaps corrected.
    Tags(Tags),
}

impl Tags {
    /// The three words behind the sequence number. A block's summary has the same words.
    pub(in super::super) fn words(&self) -> [u32; 3] {
        let Some(extra) = self.extra else { return [self.object, self.chunk, self.bytes] };
        let shrink = if extra.is_shrink { SHRINK_FLAG } else { 0 };
        let shadows = if extra.shadows { SHADOWS_FLAG } else { 0 };
        let object = self.object | extra.kind.number() << KIND_SHIFT;
        [object, HEADER_FLAG | shrink | shadows | extra.parent, extra.size]
    }

    /// The tags with this sequence number and these three words. `None` if no tags can have them.
    pub(in super::super) fn of_words(sequence: u32, words: [u32; 3]) -> Option<Self> {
        let [object, chunk, bytes] = words;
        if chunk & HEADER_FLAG == 0 {
            let is_plain = object & FLAGS == 0 && object != 0 && chunk != 0;
            return is_plain.then_some(Self { sequence, object, chunk, bytes, extra: None });
        }
        let kind = Kind::of(object >> KIND_SHIFT)?;
        let extra = Extra {
            parent: chunk & !FLAGS,
            kind,
            size: bytes,
            is_shrink: chunk & SHRINK_FLAG != 0,
            shadows: chunk & SHADOWS_FLAG != 0,
        };
        let object = object & OBJECT_MASK;
        (object != 0).then_some(Self { sequence, object, chunk: 0, bytes, extra: Some(extra) })
    }

    /// The bytes of the tags with their code.
    pub(in super::super) fn emit(&self) -> [u8; TAGS_SIZE] {
        let mut bytes = [0; TAGS_SIZE];
        put_u32(&mut bytes, 0, self.sequence);
        for (place, word) in self.words().into_iter().enumerate() {
            put_u32(&mut bytes, 4 + 4 * place, word);
        }
        let code = Code::of(&bytes[..PLAIN_SIZE]);
        bytes[16] = code.columns;
        put_u32(&mut bytes, 20, code.lines);
        put_u32(&mut bytes, 24, code.inverse_lines);
        bytes
    }

    /// Parse tags, and correct one flipped bit.
    pub(in super::super) fn parse(bytes: &[u8; TAGS_SIZE]) -> Found {
        if is_erased(bytes) {
            return Found::Blank;
        }
        let mut plain = [0; PLAIN_SIZE];
        plain.copy_from_slice(&bytes[..PLAIN_SIZE]);
        let lines = u32_at(bytes, 20);
        let stored = Code { columns: bytes[16], lines, inverse_lines: u32_at(bytes, 24) };
        if !stored.mend(&mut plain) {
            return Found::Damaged;
        }
        let words = [u32_at(&plain, 4), u32_at(&plain, 8), u32_at(&plain, 12)];
        Self::of_words(u32_at(&plain, 0), words).map_or(Found::Damaged, Found::Tags)
    }
}

/// Whether the free OOB bytes of a page hold valid tags.
pub fn has_tags(oob: &[u8]) -> bool {
    oob.first_chunk().is_some_and(|bytes| matches!(Tags::parse(bytes), Found::Tags(_)))
}

/// A Hamming code. `columns` is the parity of the bits at the same place in all bytes; the others
/// combine the places of bytes with odd parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Code {
    columns: u8,
    lines: u32,
    inverse_lines: u32,
}

/// The bits of a byte that each column parity covers. Two neighbours cover opposite bits.
const COLUMN_MASKS: [u8; 6] = [0x55, 0xAA, 0x33, 0xCC, 0x0F, 0xF0];

impl Code {
    fn of(bytes: &[u8]) -> Self {
        let mut code = Self { columns: 0, lines: 0, inverse_lines: 0 };
        for (place, &byte) in (0_u32..).zip(bytes) {
            for (bit, mask) in COLUMN_MASKS.into_iter().enumerate() {
                code.columns ^= u8::from((byte & mask).count_ones() % 2 == 1) << bit;
            }
            if byte.count_ones() % 2 == 1 {
                code.lines ^= place;
                code.inverse_lines ^= !place;
            }
        }
        code
    }

    /// Correct one flipped bit of `bytes`, or of the code itself. Returns whether the bytes are
    /// right then.
    fn mend(self, bytes: &mut [u8]) -> bool {
        let found = Self::of(bytes);
        let columns = self.columns ^ found.columns;
        let lines = self.lines ^ found.lines;
        let inverse = self.inverse_lines ^ found.inverse_lines;
        let flipped = columns.count_ones() + lines.count_ones() + inverse.count_ones();
        if flipped <= 1 {
            return true;
        }
        let (odd, even) = (columns >> 1 & 0x15, columns & 0x15);
        let is_one_bit = columns & 0xC0 == 0 && odd ^ even == 0x15 && lines ^ inverse == u32::MAX;
        let Some(byte) = bytes.get_mut(lines as usize).filter(|_| is_one_bit) else { return false };
        let bit = odd & 1 | odd >> 1 & 2 | odd >> 2 & 4;
        *byte ^= 1 << bit;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> [Tags; 2] {
        let data = Tags { sequence: 0x1003, object: 257, chunk: 9, bytes: 2048, extra: None };
        let extra =
            Extra { parent: 1, kind: Kind::File, size: 77, is_shrink: true, shadows: false };
        [data, Tags { chunk: 0, bytes: 77, extra: Some(extra), ..data }]
    }

    #[test]
    fn tags_come_back_with_any_one_bit_flipped() {
        for tags in samples() {
            let bytes = tags.emit();
            assert_eq!(Tags::parse(&bytes), Found::Tags(tags));
            for bit in (0..TAGS_SIZE * 8).filter(|bit| !(17 * 8..20 * 8).contains(bit)) {
                let mut flipped = bytes;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Tags::parse(&flipped), Found::Tags(tags), "bit {bit}");
            }
        }
    }

    #[test]
    fn torn_tags_are_damaged() {
        for tags in samples() {
            let bytes = tags.emit();
            assert_eq!(Tags::parse(&[0xFF; TAGS_SIZE]), Found::Blank);
            for len in 1..27 {
                let mut torn = [0xFF; TAGS_SIZE];
                torn[..len].copy_from_slice(&bytes[..len]);
                assert_ne!(Tags::parse(&torn), Found::Blank, "{len}");
                let is_other = Tags::parse(&torn) != Found::Tags(tags);
                assert!(is_other == (torn != bytes) || len > 23, "{len}");
            }
        }
    }
}
