//! Dirents, the directory entries: a name, the inode it names, and the directory it is in.

use super::{Header, NodeType, crc32, is_believed, put_u32, u32_at};

/// Bytes of a dirent before its name.
pub(in super::super) const DIRENT_SIZE: u32 = 40;
/// Bytes that the node's own checksum covers. The name has a checksum of its own.
const CHECKED: usize = 32;

/// The kind of file that an entry names, as `d_type` of readdir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct DirentType(pub u8);

impl DirentType {
    pub(in super::super) const DIRECTORY: Self = Self(4);
    pub(in super::super) const REGULAR: Self = Self(8);
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Dirent {
    /// The inode number of the directory.
    pub parent: u32,
    /// Version among the directory's nodes.
    pub version: u32,
    /// The inode that has the name. 0 says that the name is deleted.
    pub ino: u32,
    pub mctime: u32,
    pub kind: DirentType,
    /// The name, at most 254 bytes.
    pub name: Vec<u8>,
}

impl Dirent {
    /// Length of the node before padding, bytes.
    pub(in super::super) fn total_len(&self) -> u32 {
        DIRENT_SIZE + u32::try_from(self.name.len()).expect("a name is at most 254 bytes")
    }

    /// The bytes of the node, with its checksums.
    pub(in super::super) fn emit(&self) -> Vec<u8> {
        let total_len = self.total_len();
        let mut node = vec![0; total_len as usize];
        Header { node_type: NodeType::Dirent, total_len }.emit(&mut node);
        let fields = [(12, self.parent), (16, self.version), (20, self.ino), (24, self.mctime)];
        for (at, value) in fields {
            put_u32(&mut node, at, value);
        }
        node[28] = u8::try_from(self.name.len()).expect("a name is at most 254 bytes");
        node[29] = self.kind.0;
        let crc = crc32(&node[..CHECKED]);
        put_u32(&mut node, 32, crc);
        put_u32(&mut node, 36, crc32(&self.name));
        node[DIRENT_SIZE as usize..].copy_from_slice(&self.name);
        node
    }

    /// Parse a node of `total_len` bytes. `None` if `bytes` does not hold all of it or a checksum
    /// is wrong.
    pub(in super::super) fn parse(bytes: &[u8], total_len: u32) -> Option<Self> {
        let whole = bytes.len() >= total_len as usize && total_len > DIRENT_SIZE;
        if !whole || u32_at(bytes, 32) != crc32(&bytes[..CHECKED]) {
            return None;
        }
        let name =
            bytes.get(DIRENT_SIZE as usize..DIRENT_SIZE as usize + usize::from(bytes[28]))?;
        let fits = u32::from(bytes[28]) + DIRENT_SIZE <= total_len;
        if !fits || u32_at(bytes, 36) != crc32(name) {
            return None;
        }
        let dirent = Self {
            parent: u32_at(bytes, 12),
            version: u32_at(bytes, 16),
            ino: u32_at(bytes, 20),
            mctime: u32_at(bytes, 24),
            kind: DirentType(bytes[29]),
            name: name.to_vec(),
        };
        let numbers = [dirent.parent, dirent.version, dirent.ino];
        (dirent.parent > 0 && numbers.into_iter().all(is_believed)).then_some(dirent)
    }
}
