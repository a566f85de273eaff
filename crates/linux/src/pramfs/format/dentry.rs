//! The directory entry (dentry) in an inode: its parent and its name. An inode has only one name.
//!
//! ```text
//! 0..2 CRC  2 length of the name  4..8 parent  8..64 name
//! ```

use crate::crc16::crc16;

pub(crate) const SIZE: usize = 64;
pub(crate) const NAME_SIZE_MAX: usize = SIZE - 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dentry {
    /// Number of the directory's inode.
    pub(crate) parent: u32,
    pub(crate) name: Vec<u8>,
}

impl Dentry {
    /// Parse an entry. `None` if its checksum is wrong.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let crc = u16::from_le_bytes([bytes[0], bytes[1]]);
        let len = usize::from(bytes[2]);
        if crc != crc16(!0, &bytes[2..SIZE]) || len > NAME_SIZE_MAX {
            return None;
        }
        let parent = u32::from_le_bytes(bytes[4..8].try_into().expect("four bytes"));
        Some(Self { parent, name: bytes[8..8 + len].to_vec() })
    }

    pub(crate) fn emit(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[2] = u8::try_from(self.name.len()).expect("names are checked at the door");
        bytes[4..8].copy_from_slice(&self.parent.to_le_bytes());
        bytes[8..8 + self.name.len()].copy_from_slice(&self.name);
        let crc = crc16(!0, &bytes[2..]);
        bytes[..2].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}
