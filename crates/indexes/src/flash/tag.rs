//! The tag: the OOB bytes of a page, which say what the page is.
//!
//! ```text
//! 0      1      2      3      4         8      16          20      22
//! | 0xFF | area | copy | 0xFF | logical | note | data CRC32 | CRC16 |
//! ```
//!
//! 1. Byte 0 stays erased: in a block's first page it is the maker's bad-block mark.
//! 2. The CRC-16 covers bytes 1 to 19, so a tag is believed without reading the data.
//! 3. The CRC-32 covers the data of the program that carried the tag: a page, or its first sector.

use flysch::bytes::{array, crc32};

use super::crc::crc16;

/// The content of a page's OOB area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The number of the area that the page belongs to.
    pub area: u8,
    /// How often the page's block was moved to another, modulo 256.
    pub copy: u8,
    /// The page's logical number, counted from the beginning of its area.
    pub logical: u32,
    /// Information for the structure that the page belongs to.
    pub note: u64,
    /// Checksum of the data that was programmed together with the tag.
    pub data_crc: u32,
}

/// Bytes of a tag.
pub const TAG_SIZE: usize = 22;

mod field {
    use core::ops::Range;

    pub(super) const AREA: usize = 1;
    pub(super) const COPY: usize = 2;
    pub(super) const LOGICAL: Range<usize> = 4..8;
    pub(super) const NOTE: Range<usize> = 8..16;
    pub(super) const DATA_CRC: Range<usize> = 16..20;
    pub(super) const CRC: Range<usize> = 20..22;
    pub(super) const COVERED: Range<usize> = 1..20;
}

impl Tag {
    /// Parse a tag. None if the bytes are not a tag.
    pub fn parse(bytes: &[u8; TAG_SIZE]) -> Option<Self> {
        let crc = u16::from_le_bytes(array(&bytes[field::CRC]));
        if crc != crc16(&bytes[field::COVERED]) {
            return None;
        }
        Some(Self {
            area: bytes[field::AREA],
            copy: bytes[field::COPY],
            logical: u32::from_le_bytes(array(&bytes[field::LOGICAL])),
            note: u64::from_le_bytes(array(&bytes[field::NOTE])),
            data_crc: u32::from_le_bytes(array(&bytes[field::DATA_CRC])),
        })
    }

    pub fn emit(&self) -> [u8; TAG_SIZE] {
        let mut bytes = [0xFF; TAG_SIZE];
        bytes[field::AREA] = self.area;
        bytes[field::COPY] = self.copy;
        bytes[field::LOGICAL].copy_from_slice(&self.logical.to_le_bytes());
        bytes[field::NOTE].copy_from_slice(&self.note.to_le_bytes());
        bytes[field::DATA_CRC].copy_from_slice(&self.data_crc.to_le_bytes());
        let crc = crc16(&bytes[field::COVERED]);
        bytes[field::CRC].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Whether `data` is the data that was programmed together with the tag.
    pub fn covers(&self, data: &[u8]) -> bool {
        crc32(0, data) == self.data_crc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_and_no_bit_of_it_may_change() {
        let tag = Tag { area: 3, copy: 1, logical: 70_000, note: 1 << 40, data_crc: 9 };
        let bytes = tag.emit();
        assert_eq!(Tag::parse(&bytes), Some(tag));
        for bit in (8..24).chain(32..TAG_SIZE * 8) {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Tag::parse(&flipped), None, "bit {bit}");
        }
        assert_eq!(Tag::parse(&[0xFF; TAG_SIZE]), None);
        assert_eq!(Tag::parse(&[0; TAG_SIZE]), None);
    }
}
