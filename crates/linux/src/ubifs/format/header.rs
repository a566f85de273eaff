//! The header that every node begins with, and the padding between nodes.

use super::{aligned, put_u32, put_u64, u32_at, u64_at};

const MAGIC: u32 = 0x0610_1831;
pub(in super::super) const HEADER_SIZE: u32 = 24;
/// Length of a padding node itself, bytes. The bytes that it skips follow.
pub(in super::super) const PAD_NODE_SIZE: u32 = 28;
/// Byte that fills a gap too small for a padding node.
const PAD_BYTE: u8 = 0xCE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum NodeType {
    Inode,
    Data,
    Dent,
    Truncation,
    Padding,
    Superblock,
    Master,
    Reference,
    Index,
    CommitStart,
    Orphan,
    /// Extended attributes and authentication. The model does not know them and skips them.
    Other(u8),
}

/// Whether a node stands alone or belongs to a group, whose nodes are valid only if all of them are
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Group {
    Alone,
    In,
    Last,
}

/// A header whose checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Header {
    pub sequence: u64,
    pub len: u32,
    pub node_type: NodeType,
    pub group: Group,
}

impl NodeType {
    /// Whether a LEB of the journal may hold nodes of this type. Padding is skipped.
    pub(in super::super) const fn may_be_in_journal(self) -> bool {
        matches!(self, Self::Inode | Self::Data | Self::Dent | Self::Truncation | Self::Other(_))
    }

    const fn number(self) -> u8 {
        match self {
            Self::Inode => 0,
            Self::Data => 1,
            Self::Dent => 2,
            Self::Truncation => 4,
            Self::Padding => 5,
            Self::Superblock => 6,
            Self::Master => 7,
            Self::Reference => 8,
            Self::Index => 9,
            Self::CommitStart => 10,
            Self::Orphan => 11,
            Self::Other(number) => number,
        }
    }

    const fn of(number: u8) -> Self {
        match number {
            0 => Self::Inode,
            1 => Self::Data,
            2 => Self::Dent,
            4 => Self::Truncation,
            5 => Self::Padding,
            6 => Self::Superblock,
            7 => Self::Master,
            8 => Self::Reference,
            9 => Self::Index,
            10 => Self::CommitStart,
            11 => Self::Orphan,
            other => Self::Other(other),
        }
    }
}

/// Write a node's header, with the checksum of the whole node.
pub(in super::super) fn seal(node: &mut [u8], node_type: NodeType, sequence: u64, group: Group) {
    put_u32(node, 0, MAGIC);
    put_u64(node, 8, sequence);
    put_u32(node, 16, u32::try_from(node.len()).expect("a node is shorter than a LEB"));
    node[20] = node_type.number();
    node[21] = match group {
        Group::Alone => 0,
        Group::In => 1,
        Group::Last => 2,
    };
    let crc = !crc32fast::hash(&node[8..]);
    put_u32(node, 4, crc);
}

/// Parse the header at the start of `bytes` and check the node's checksum. `bytes` must hold the
/// whole node.
pub(in super::super) fn parse_header(bytes: &[u8]) -> Option<Header> {
    if bytes.len() < HEADER_SIZE as usize || u32_at(bytes, 0) != MAGIC {
        return None;
    }
    let len = u32_at(bytes, 16);
    let node = bytes.get(..len as usize)?;
    if len < HEADER_SIZE || u32_at(bytes, 4) != !crc32fast::hash(&node[8..]) {
        return None;
    }
    let group = match bytes[21] {
        1 => Group::In,
        2 => Group::Last,
        _ => Group::Alone,
    };
    Some(Header { sequence: u64_at(bytes, 8), len, node_type: NodeType::of(bytes[20]), group })
}

/// The node at the start of `bytes`, if it is whole and of this type.
pub(in super::super) fn check_node(bytes: &[u8], node_type: NodeType) -> Option<&[u8]> {
    let header = parse_header(bytes)?;
    (header.node_type == node_type).then(|| &bytes[..header.len as usize])
}

/// The `len` bytes that fill a gap: a padding node where one fits, or else bytes of 0xCE.
pub(in super::super) fn pad_bytes(len: u32, sequence: u64) -> Vec<u8> {
    if len < PAD_NODE_SIZE {
        return vec![PAD_BYTE; len as usize];
    }
    let mut node = vec![0; PAD_NODE_SIZE as usize];
    put_u32(&mut node, 24, len - PAD_NODE_SIZE);
    seal(&mut node, NodeType::Padding, sequence, Group::Alone);
    node.resize(len as usize, 0);
    node
}

/// Bytes of padding at the start of `bytes` that a scan may skip in one go.
pub(in super::super) fn padding_len(bytes: &[u8]) -> Option<u32> {
    let run = bytes.iter().take_while(|&&byte| byte == PAD_BYTE).count();
    let run = u32::try_from(run).ok()?;
    (run > 0).then(|| run.min(PAD_NODE_SIZE))
}

/// Length of a padding node together with the bytes that it skips.
pub(in super::super) fn padded_len(node: &[u8]) -> Option<u32> {
    aligned(PAD_NODE_SIZE).checked_add(u32_at(node, 24)).map(|len| len - 4)
}
