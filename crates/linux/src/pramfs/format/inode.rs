//! An inode: 128 bytes with its name and two states, of which the newer is valid.
//!
//! ```text
//! 0..64 dentry  64..96 a state  96..128 the other
//! state: 0..2 CRC  2..4 version  4 kind  5 names  8..16 size  16..20 mtime  20..24 root + 1
//! ```
//!
//! A change writes all 128 bytes, but alters only bytes of the older state. A power cut therefore
//! damages at most that state, and then the change has not happened.

use super::RECORD_SIZE;
use super::dentry::{self, Dentry};
use crate::crc16::crc16;

const STATE_SIZE: usize = 32;

/// The kinds of inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Free,
    File,
    Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) kind: Kind,
    pub(crate) is_named: bool,
    /// Size of the file, bytes.
    pub(crate) size: u64,
    /// Time of the last change, seconds of the virtual clock.
    pub(crate) mtime_s: u32,
    /// The block of pointers that lead to blocks of pointers.
    pub(crate) root: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    bytes: [u8; RECORD_SIZE as usize],
    version: u16,
    /// Whether the second state is the newer.
    is_second: bool,
    pub(crate) state: State,
}

impl State {
    pub(crate) const FREE: Self =
        Self { kind: Kind::Free, is_named: false, size: 0, mtime_s: 0, root: None };

    fn parse(ino: u32, bytes: &[u8]) -> Option<(u16, Self)> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a word"));
        let half = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().expect("a half"));
        let kind = match bytes[4] {
            0 => Kind::Free,
            1 => Kind::File,
            2 => Kind::Directory,
            3.. => return None,
        };
        let size = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        let (mtime_s, root) = (word(16), word(20).checked_sub(1));
        let state = Self { kind, is_named: bytes[5] != 0, size, mtime_s, root };
        (half(0) == checksum(ino, bytes)).then_some((half(2), state))
    }

    fn emit(&self, ino: u32, version: u16) -> [u8; STATE_SIZE] {
        let mut bytes = [0; STATE_SIZE];
        bytes[2..4].copy_from_slice(&version.to_le_bytes());
        bytes[4] = match self.kind {
            Kind::Free => 0,
            Kind::File => 1,
            Kind::Directory => 2,
        };
        bytes[5] = u8::from(self.is_named);
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.mtime_s.to_le_bytes());
        let root = self.root.map_or(0, |root| root + 1);
        bytes[20..24].copy_from_slice(&root.to_le_bytes());
        let crc = checksum(ino, &bytes);
        bytes[..2].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// The checksum of a state. It includes the inode number, so that a state is valid for one inode
/// only.
fn checksum(ino: u32, bytes: &[u8]) -> u16 {
    crc16(crc16(!0, &ino.to_le_bytes()), &bytes[2..STATE_SIZE])
}

impl Inode {
    /// Parse inode `ino`. If neither state is valid, the inode is free.
    pub(crate) fn parse(ino: u32, bytes: &[u8; RECORD_SIZE as usize]) -> Self {
        let (first, second) = bytes[dentry::SIZE..].split_at(STATE_SIZE);
        let (first, second) = (State::parse(ino, first), State::parse(ino, second));
        let is_second = match (first, second) {
            (Some((first, _)), Some((second, _))) => second.wrapping_sub(first) < 1 << 15,
            (_, second) => second.is_some(),
        };
        let newer = if is_second { second } else { first };
        let (version, state) = newer.unwrap_or((0, State::FREE));
        Self { bytes: *bytes, version, is_second, state }
    }

    /// The name, if its checksum is right.
    pub(crate) fn dentry(&self) -> Option<Dentry> {
        Dentry::parse(&self.bytes[..dentry::SIZE])
    }

    pub(crate) fn set_dentry(&mut self, dentry: &Dentry) {
        self.bytes[..dentry::SIZE].copy_from_slice(&dentry.emit());
    }

    /// Overwrite the older state, which then is the newer one.
    pub(crate) fn set_state(&mut self, ino: u32, state: State) {
        self.is_second = !self.is_second;
        self.version = self.version.wrapping_add(1);
        self.state = state;
        let at = dentry::SIZE + if self.is_second { STATE_SIZE } else { 0 };
        self.bytes[at..at + STATE_SIZE].copy_from_slice(&state.emit(ino, self.version));
    }

    pub(crate) const fn bytes(&self) -> &[u8; RECORD_SIZE as usize] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_cut_anywhere_is_made_or_not_made() {
        let mut inode = Inode::parse(7, &[0; RECORD_SIZE as usize]);
        assert_eq!(inode.state, State::FREE);
        for size in 1..200_u64 {
            let before = inode.clone();
            let state = State { kind: Kind::File, is_named: true, size, ..State::FREE };
            inode.set_state(7, state);
            for len in 0..=RECORD_SIZE as usize {
                let mut torn = *before.bytes();
                torn[..len].copy_from_slice(&inode.bytes()[..len]);
                let found = Inode::parse(7, &torn).state;
                assert!(found == before.state || found == state, "{found:?}");
            }
            assert_eq!(Inode::parse(7, inode.bytes()), inode);
            assert_eq!(Inode::parse(8, inode.bytes()).state, State::FREE);
        }
    }
}
