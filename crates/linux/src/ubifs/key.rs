//! Keys of the index: an inode number, then a type, then a block number or the hash of a name.
//!
//! ```text
//! bits 63..32 inode | 31..29 type | 28..0 block number or hash
//! type 0 inode, 1 data, 2 directory entry, 3 extended attribute
//! ```

const TYPE_SHIFT: u32 = 29;
const REST_MASK: u64 = (1 << TYPE_SHIFT) - 1;

/// A key. Keys are ordered as in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

/// The kind of node that a key leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyType {
    Inode,
    Data,
    Dent,
    Other,
}

impl Key {
    fn new(ino: u32, kind: u64, rest: u32) -> Self {
        Self(u64::from(ino) << 32 | kind << TYPE_SHIFT | u64::from(rest) & REST_MASK)
    }

    pub(super) fn inode(ino: u32) -> Self {
        Self::new(ino, 0, 0)
    }

    pub(super) fn data(ino: u32, block: u32) -> Self {
        Self::new(ino, 1, block)
    }

    /// The key of a directory entry, by the hash of its name. Different names may have the same
    /// key.
    pub(super) fn dent(dir: u32, name: &[u8]) -> Self {
        Self::new(dir, 2, r5(name))
    }

    /// The lowest key that an entry of this directory can have.
    pub(super) fn first_dent(dir: u32) -> Self {
        Self::new(dir, 2, 0)
    }

    /// The lowest key that an extended attribute of this inode can have.
    pub(super) fn first_attribute(ino: u32) -> Self {
        Self::new(ino, 3, 0)
    }

    /// The key of an extended attribute, by the hash of its name.
    pub(super) fn attribute(ino: u32, name: &[u8]) -> Self {
        Self::new(ino, 3, r5(name))
    }

    /// The highest key that belongs to an inode.
    pub(super) fn last(ino: u32) -> Self {
        Self(u64::from(ino) << 32 | 0xFFFF_FFFF)
    }

    pub(super) fn ino(self) -> u32 {
        u32::try_from(self.0 >> 32).expect("32 bits")
    }

    pub(super) fn kind(self) -> KeyType {
        match self.0 >> TYPE_SHIFT & 7 {
            0 => KeyType::Inode,
            1 => KeyType::Data,
            2 => KeyType::Dent,
            _ => KeyType::Other,
        }
    }

    /// The block number, or the hash of the name.
    pub(super) fn rest(self) -> u32 {
        u32::try_from(self.0 & REST_MASK).expect("29 bits")
    }

    pub(super) fn emit(self, bytes: &mut [u8]) {
        bytes[..4].copy_from_slice(&self.ino().to_le_bytes());
        let low = u32::try_from(self.0 & 0xFFFF_FFFF).expect("32 bits");
        bytes[4..8].copy_from_slice(&low.to_le_bytes());
    }

    pub(super) fn parse(bytes: &[u8]) -> Self {
        let (ino, low) = (super::format::u32_at(bytes, 0), super::format::u32_at(bytes, 4));
        Self(u64::from(ino) << 32 | u64::from(low))
    }
}

/// The R5 hash of a name (from `ReiserFS`), limited to 29 bits. Values 0 to 2 stand for `.`, `..`
/// and the end of a directory.
fn r5(name: &[u8]) -> u32 {
    let add = |hash: u32, &byte: &u8| {
        // Characters are signed in the kernel's code.
        let value = i32::from(byte.cast_signed());
        let spread = value.wrapping_shl(4).wrapping_add(value >> 4);
        hash.wrapping_add(spread.cast_unsigned()).wrapping_mul(11)
    };
    let hash = name.iter().fold(0, add) & 0x1FFF_FFFF;
    if hash <= 2 { hash + 3 } else { hash }
}
