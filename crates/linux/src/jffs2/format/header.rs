//! The header that every node begins with.

use super::{crc32, put_u16, put_u32, u16_at, u32_at};

/// First two bytes of every node.
const MAGIC: u16 = 0x1985;
pub(in super::super) const HEADER_SIZE: u32 = 12;

/// The kinds of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum NodeType {
    Dirent,
    /// Metadata of an inode, with up to a page of file data.
    Inode,
    /// The cleanmarker of an erased block, where it stands in the data area.
    Cleanmarker,
    /// Filler up to a page boundary.
    Padding,
    /// The summary, which lists a block's nodes.
    Summary,
    /// Any other kind, such as extended attributes. The model does not know them and skips them.
    Other {
        /// Whether a file system that does not know the kind may mount the image and drop the node.
        compatible: bool,
    },
}

impl NodeType {
    const fn number(self) -> u16 {
        match self {
            Self::Dirent => 0xE001,
            Self::Inode => 0xE002,
            Self::Cleanmarker => 0x2003,
            Self::Padding => 0x2004,
            Self::Summary => 0x2006,
            Self::Other { compatible: true } => 0xE008,
            Self::Other { compatible: false } => 0xC000,
        }
    }

    const fn of(number: u16) -> Self {
        match number {
            0xE001 => Self::Dirent,
            0xE002 => Self::Inode,
            0x2003 => Self::Cleanmarker,
            0x2004 => Self::Padding,
            0x2006 => Self::Summary,
            // The two high bits say what to do with an unknown kind: 00 drop it, 01 copy it, 10
            // mount read-only, 11 refuse to mount. Extended attributes (xattr, xref) are dropped.
            other => {
                let compatible = other >> 15 == 0 || matches!(other, 0xE008 | 0xE009);
                Self::Other { compatible }
            }
        }
    }
}

/// A header whose checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Header {
    pub node_type: NodeType,
    /// Length of the whole node before padding, bytes.
    pub total_len: u32,
}

impl Header {
    /// Write the header to the start of `node`.
    pub(in super::super) fn emit(self, node: &mut [u8]) {
        put_u16(node, 0, MAGIC);
        put_u16(node, 2, self.node_type.number());
        put_u32(node, 4, self.total_len);
        let crc = crc32(&node[..8]);
        put_u32(node, 8, crc);
    }
}

/// Parse a header. `None` if `bytes` does not begin with a valid one.
pub(in super::super) fn parse_header(bytes: &[u8]) -> Option<Header> {
    let valid = bytes.len() >= HEADER_SIZE as usize
        && u16_at(bytes, 0) == MAGIC
        && u32_at(bytes, 8) == crc32(&bytes[..8]);
    if !valid {
        return None;
    }
    let total_len = u32_at(bytes, 4);
    (total_len >= HEADER_SIZE)
        .then(|| Header { node_type: NodeType::of(u16_at(bytes, 2)), total_len })
}

/// The `len` bytes that fill up a page: a padding node, or zeros where its header does not fit.
pub(in super::super) fn padding_node(len: u32) -> Vec<u8> {
    let mut node = vec![0; len as usize];
    if len > HEADER_SIZE {
        Header { node_type: NodeType::Padding, total_len: len }.emit(&mut node);
    }
    node
}
