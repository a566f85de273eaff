//! The inode of a file or directory, as it is stored.
//!
//! ```text
//! 0 kind  1 named  8..16 size  16..20 mtime  20..80 pointers: 12 direct, indirect, double
//! ```

pub(super) const INODE_SIZE: u32 = 128;
/// Number of direct pointers.
pub(super) const DIRECT: u32 = 12;
/// Index of the pointer to a block of pointers.
pub(super) const INDIRECT: usize = DIRECT as usize;
/// Index of the pointer to a block whose pointers lead to blocks of pointers.
pub(super) const DOUBLE: usize = INDIRECT + 1;
/// Number of pointers in an inode.
const COUNT: usize = 15;
const POINTERS: usize = 20;

/// The kinds of inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Free,
    File,
    Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) kind: Kind,
    pub(super) is_named: bool,
    pub(super) size: u64,
    pub(super) mtime_s: u32,
    /// Block numbers; 0 stands for a hole.
    pub(super) pointers: [u32; COUNT],
}

impl Inode {
    pub(super) const FREE: Self =
        Self { kind: Kind::Free, is_named: false, size: 0, mtime_s: 0, pointers: [0; COUNT] };

    /// Parse an inode. `None` if its kind is unknown.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a word"));
        let kind = match bytes[0] {
            0 => Kind::Free,
            1 => Kind::File,
            2 => Kind::Directory,
            3.. => return None,
        };
        let mut pointers = [0; COUNT];
        for (at, pointer) in pointers.iter_mut().enumerate() {
            *pointer = word(POINTERS + 4 * at);
        }
        let size = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        Some(Self { kind, is_named: bytes[1] != 0, size, mtime_s: word(16), pointers })
    }

    pub(super) fn emit(&self) -> [u8; INODE_SIZE as usize] {
        let mut bytes = [0; INODE_SIZE as usize];
        bytes[0] = match self.kind {
            Kind::Free => 0,
            Kind::File => 1,
            Kind::Directory => 2,
        };
        bytes[1] = u8::from(self.is_named);
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.mtime_s.to_le_bytes());
        for (place, pointer) in bytes[POINTERS..].chunks_mut(4).zip(self.pointers) {
            place.copy_from_slice(&pointer.to_le_bytes());
        }
        bytes
    }
}
