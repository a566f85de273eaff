//! The rename record. It is written before a rename, so that a mount can complete the rename.
//!
//! ```text
//! 0..2 CRC  2 in use  4..8 inode  8..12 inode it replaces, or 0  16..80 its new dentry
//! ```

use super::RECORD_SIZE;
use super::dentry::{self, Dentry};
use crate::crc16::crc16;

const DENTRY: usize = 16;
const END: usize = DENTRY + dentry::SIZE;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rename {
    /// The inode that gets a new name.
    pub(crate) ino: u32,
    /// The inode that had this name before.
    pub(crate) replaced: Option<u32>,
    pub(crate) dentry: Dentry,
}

impl Rename {
    /// Parse the record. `None` if it is not in use, or was not written completely.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a word"));
        let crc = u16::from_le_bytes([bytes[0], bytes[1]]);
        if bytes[2] != 1 || crc != crc16(!0, &bytes[2..END]) {
            return None;
        }
        let replaced = Some(word(8)).filter(|&ino| ino != 0);
        let dentry = Dentry::parse(&bytes[DENTRY..END])?;
        Some(Self { ino: word(4), replaced, dentry })
    }

    pub(crate) fn emit(&self) -> [u8; RECORD_SIZE as usize] {
        let mut bytes = [0; RECORD_SIZE as usize];
        bytes[2] = 1;
        bytes[4..8].copy_from_slice(&self.ino.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.replaced.unwrap_or(0).to_le_bytes());
        bytes[DENTRY..END].copy_from_slice(&self.dentry.emit());
        let crc = crc16(!0, &bytes[2..END]);
        bytes[..2].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}
