//! The page header: what kind of page it is, its logical place, and when it was programmed.
//!
//! ```text
//! 0      1       2        4         6        8                  14                 18
//! | kind | owner | used 2 | block 2 | page 2 | write number 6   | commit number 4  | rows 2 |
//! ```
//!
//! `block` is the entry of the block table, of space and number. `owner` is the place of a page in
//! a record of several pages, or has a bit for each table whose rows begin on the page, folded to
//! eight bits. On a page of a level it is the index; on a page that a sort keeps, [`OF_SORT`].

use super::layout::HEADER_SIZE;
use crate::bytes::array;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The checkpoint of a root.
    Root,
    /// The confirm page: it shows that the root's checkpoint is whole.
    Confirm,
    /// A name page: it names the next list of log blocks.
    Name,
    /// A log record, or a part of one.
    Record,
    /// Rows that begin on this page.
    Rows,
    /// The continuation of a row that is longer than a page.
    More,
    /// The summary of a block of rows.
    Summary,
    /// Units of a run.
    Run,
    /// A part of the block table, ahead of the record that begins a log block.
    Table,
    /// The names of the root blocks.
    Anchor,
}

const KINDS: [Kind; 10] = [
    Kind::Root,
    Kind::Confirm,
    Kind::Name,
    Kind::Record,
    Kind::Rows,
    Kind::More,
    Kind::Summary,
    Kind::Run,
    Kind::Table,
    Kind::Anchor,
];

/// The owner of pages that a sort keeps while it lasts. They are pages of a run that no record
/// names, with the sort's ticket for a commit number, and for rows the page's place in its run.
pub(crate) const OF_SORT: u8 = 0xFF;

/// The newest version of the format. The upper half of a page's kind byte says which version a
/// reader must know.
pub const VERSION: u8 = 6;

impl Kind {
    /// The version that introduced the present form of this kind of page.
    const fn version(self) -> u8 {
        match self {
            Self::Record | Self::Root => 6,
            Self::Anchor => 3,
            Self::Table => 2,
            Self::Confirm | Self::Name | Self::Rows | Self::More | Self::Summary | Self::Run => 1,
        }
    }
}

/// The header of a page, in its first cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the page holds.
    pub kind: Kind,
    /// The place in a record, or a bit for each table; see the module.
    pub owner: u8,
    /// Bytes of payload that are used.
    pub used: u16,
    /// The block's entry in the block table.
    pub block: u16,
    /// The page within the block.
    pub page: u16,
    /// The write number: how many pages were programmed in the device's life before this one.
    pub write: u64,
    /// The number of the next commit when the page was programmed.
    pub commit: u32,
    /// Rows that begin on the page.
    pub rows: u16,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// A newer version of the format wrote the page.
    Version(u8),
    /// This version has no such kind of page.
    Kind(u8),
}

impl Header {
    /// Read the header of a page whose first cell bears its seal.
    pub fn parse(page: &[u8]) -> Result<Self, HeaderError> {
        debug_assert!(page.len() >= HEADER_SIZE, "the first cell has a header");
        let version = page[0] >> 4;
        let kind = KINDS.get(usize::from(page[0] & 15));
        if !(1..=kind.map_or(VERSION, |kind| kind.version())).contains(&version) {
            return Err(HeaderError::Version(version));
        }
        let kind = kind.ok_or(HeaderError::Kind(page[0]))?;
        let mut write = [0; 8];
        write[..6].copy_from_slice(&page[8..14]);
        Ok(Self {
            kind: *kind,
            owner: page[1],
            used: u16::from_le_bytes(array(&page[2..4])),
            block: u16::from_le_bytes(array(&page[4..6])),
            page: u16::from_le_bytes(array(&page[6..8])),
            write: u64::from_le_bytes(write),
            commit: u32::from_le_bytes(array(&page[14..18])),
            rows: u16::from_le_bytes(array(&page[18..20])),
        })
    }

    /// Write the header to the start of a page.
    pub fn emit(&self, page: &mut [u8]) {
        debug_assert!(page.len() >= HEADER_SIZE, "the first cell has room for a header");
        debug_assert!(usize::from(self.page) < 256, "a block has no more pages");
        debug_assert!(self.write >> 48 == 0, "a write number has 48 bits");
        page[0] = self.kind.version() << 4 | self.kind as u8;
        page[1] = self.owner;
        page[2..4].copy_from_slice(&self.used.to_le_bytes());
        page[4..6].copy_from_slice(&self.block.to_le_bytes());
        page[6..8].copy_from_slice(&self.page.to_le_bytes());
        page[8..14].copy_from_slice(&self.write.to_le_bytes()[..6]);
        page[14..18].copy_from_slice(&self.commit.to_le_bytes());
        page[18..HEADER_SIZE].copy_from_slice(&self.rows.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_a_newer_version_is_refused_by_name() {
        for kind in KINDS {
            let header = Header {
                kind,
                owner: 3,
                used: 1999,
                block: 0x4123,
                page: 63,
                write: (1 << 48) - 2,
                commit: 0xFEDC_BA98,
                rows: 41,
            };
            let mut page = [0; HEADER_SIZE];
            header.emit(&mut page);
            assert_eq!(Header::parse(&page), Ok(header));
            page[0] += 16;
            assert_eq!(Header::parse(&page), Err(HeaderError::Version(kind.version() + 1)));
        }
        assert_eq!(Header::parse(&[0x1F; 20]), Err(HeaderError::Kind(0x1F)));
    }
}
