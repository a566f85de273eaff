//! Inode nodes: each holds a file's metadata and up to a page of its data.

use super::{Header, NodeType, crc32, is_believed, put_u16, put_u32, u16_at, u32_at};

/// Bytes of an inode node before its data.
pub(in super::super) const INODE_SIZE: u32 = 68;
/// Bytes that the node's own checksum covers. The data has a checksum of its own.
const CHECKED: usize = 60;

/// How the data of a node is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Compression {
    /// Stored as it is.
    None,
    /// All zeros, of which nothing is stored: a hole.
    Zero,
    /// Rtime, the run-length coder of JFFS2 itself.
    Rtime,
    /// Deflate with a zlib header.
    Zlib,
    /// LZO1X, as kernels with `CONFIG_JFFS2_LZO` write it.
    Lzo,
    /// A compressor that this model does not decode, such as rubin, by its number.
    Unknown(u8),
}

impl Compression {
    const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Zero => 1,
            Self::Rtime => 2,
            Self::Zlib => 6,
            Self::Lzo => 7,
            Self::Unknown(number) => number,
        }
    }

    const fn of(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Zero,
            2 => Self::Rtime,
            6 => Self::Zlib,
            7 => Self::Lzo,
            other => Self::Unknown(other),
        }
    }
}

/// The numbers of the user and the group that own a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Owner {
    pub uid: u16,
    pub gid: u16,
}

/// An inode node, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct InodeNode {
    pub ino: u32,
    /// Version among the inode's nodes. The highest one holds the latest data.
    pub version: u32,
    pub mode: u32,
    pub owner: Owner,
    /// Size of the file when the node was written.
    pub size: u32,
    pub mtime: u32,
    /// Where in the file the data begins, bytes.
    pub offset: u32,
    /// Length of the data as stored in the node, bytes.
    pub csize: u32,
    /// Length of the data in the file, bytes.
    pub dsize: u32,
    pub compression: Compression,
    /// Checksum of the data as stored.
    pub data_crc: u32,
}

impl InodeNode {
    /// The bytes of the node with its data and checksums.
    pub(in super::super) fn emit(&self, data: &[u8]) -> Vec<u8> {
        let total_len = INODE_SIZE + self.csize;
        let mut node = Vec::with_capacity(total_len as usize);
        node.resize(INODE_SIZE as usize, 0);
        Header { node_type: NodeType::Inode, total_len }.emit(&mut node);
        let fields = [
            (12, self.ino),
            (16, self.version),
            (20, self.mode),
            (28, self.size),
            (32, self.mtime),
            (36, self.mtime),
            (40, self.mtime),
            (44, self.offset),
            (48, self.csize),
            (52, self.dsize),
            (60, self.data_crc),
        ];
        for (at, value) in fields {
            put_u32(&mut node, at, value);
        }
        put_u16(&mut node, 24, self.owner.uid);
        put_u16(&mut node, 26, self.owner.gid);
        put_u16(&mut node, 56, u16::from(self.compression.number()));
        let crc = crc32(&node[..CHECKED]);
        put_u32(&mut node, 64, crc);
        node.extend_from_slice(data);
        node
    }

    /// Parse a node of `total_len` bytes. `None` if its checksum is wrong or its lengths make no
    /// sense.
    pub(in super::super) fn parse(bytes: &[u8], total_len: u32) -> Option<Self> {
        let whole = bytes.len() >= INODE_SIZE as usize && total_len >= INODE_SIZE;
        if !whole || u32_at(bytes, 64) != crc32(&bytes[..CHECKED]) {
            return None;
        }
        let node = Self {
            ino: u32_at(bytes, 12),
            version: u32_at(bytes, 16),
            mode: u32_at(bytes, 20),
            owner: Owner { uid: u16_at(bytes, 24), gid: u16_at(bytes, 26) },
            size: u32_at(bytes, 28),
            mtime: u32_at(bytes, 36),
            offset: u32_at(bytes, 44),
            csize: u32_at(bytes, 48),
            dsize: u32_at(bytes, 52),
            compression: Compression::of(u16_at(bytes, 56).to_le_bytes()[0]),
            data_crc: u32_at(bytes, 60),
        };
        let lengths_agree = INODE_SIZE.checked_add(node.csize) == Some(total_len);
        let end_is_sane = node.offset.checked_add(node.dsize).is_some();
        // The node's checksum does not cover the data's checksum.
        let no_data_is_sound = node.csize > 0 || node.data_crc == 0;
        let numbered = node.ino > 0 && [node.ino, node.version].into_iter().all(is_believed);
        (lengths_agree && end_is_sane && numbered && no_data_is_sound).then_some(node)
    }
}
