//! The tag of a page. It stands in the OOB area behind the bad-block mark.
//!
//! ```text
//! 0 magic  1 flags  2..4 zero  4..8 erase count  8..12 logical page  12..20 sequence number
//! 20..24 CRC of the data  24..28 CRC of the tag
//! ```

use std::ops::Range;

/// OOB bytes before the tag, which hold the bad-block mark.
pub(super) const START: usize = 2;
pub(super) const SIZE: usize = 28;

const MAGIC: u8 = 0xF7;
const SEQUENCE_MAX: u64 = 1 << 63;
const DAMAGED: u8 = 1;
const MERGED: u8 = 2;

mod field {
    use super::Range;

    pub(super) const ERASE_COUNT: Range<usize> = 4..8;
    pub(super) const LOGICAL: Range<usize> = 8..12;
    pub(super) const SEQUENCE: Range<usize> = 12..20;
    pub(super) const DATA_CRC: Range<usize> = 20..24;
    pub(super) const CRC: Range<usize> = 24..28;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// Whether the content was lost before it was copied here.
    pub(super) is_damaged: bool,
    /// Whether the page was copied by a merge.
    pub(super) is_merged: bool,
    /// Number of erases of the block when the page was programmed.
    pub(super) erase_count: u32,
    pub(super) logical: u32,
    /// Number of programs of the device before this one.
    pub(super) sequence: u64,
    pub(super) data_crc: u32,
}

impl Tag {
    /// Parse a tag. `None` if its checksum is wrong.
    pub(super) fn parse(bytes: &[u8; SIZE]) -> Option<Self> {
        let crc = crc32fast::hash(&bytes[..field::CRC.start]);
        if bytes[0] != MAGIC || crc != u32_at(bytes, field::CRC) {
            return None;
        }
        let sequence = u64::from_le_bytes(bytes[field::SEQUENCE].try_into().expect("eight bytes"));
        // No device lives long enough to reach such a number, and few larger ones are left.
        if sequence >= SEQUENCE_MAX {
            return None;
        }
        Some(Self {
            is_damaged: bytes[1] & DAMAGED != 0,
            is_merged: bytes[1] & MERGED != 0,
            erase_count: u32_at(bytes, field::ERASE_COUNT),
            logical: u32_at(bytes, field::LOGICAL),
            sequence,
            data_crc: u32_at(bytes, field::DATA_CRC),
        })
    }

    pub(super) fn emit(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[0] = MAGIC;
        bytes[1] = (DAMAGED * u8::from(self.is_damaged)) | (MERGED * u8::from(self.is_merged));
        bytes[field::ERASE_COUNT].copy_from_slice(&self.erase_count.to_le_bytes());
        bytes[field::LOGICAL].copy_from_slice(&self.logical.to_le_bytes());
        bytes[field::SEQUENCE].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[field::DATA_CRC].copy_from_slice(&self.data_crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..field::CRC.start]);
        bytes[field::CRC].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// Whether the OOB bytes of a page hold a valid tag.
pub fn has_tag(oob: &[u8]) -> bool {
    let tag = oob.get(START..).and_then(|bytes| bytes.first_chunk());
    tag.is_some_and(|tag| Tag::parse(tag).is_some())
}

fn u32_at(bytes: &[u8], range: Range<usize>) -> u32 {
    u32::from_le_bytes(bytes[range].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_back_and_no_bit_of_it_may_change() {
        let tag = Tag {
            is_damaged: false,
            is_merged: true,
            erase_count: 7,
            logical: 0x0102_0304,
            sequence: 1 << 40,
            data_crc: 9,
        };
        let bytes = tag.emit();
        assert_eq!(Tag::parse(&bytes), Some(tag));
        for bit in 0..SIZE * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Tag::parse(&bytes), None, "bit {bit}");
        }
        assert_eq!(Tag::parse(&Tag { sequence: u64::MAX, ..tag }.emit()), None);
    }
}
