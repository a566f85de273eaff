//! Erase-block summaries: the last node of a block lists the others, so that a mount need not read
//! them.
//!
//! ```text
//! node    12 entries u32 | 16 cleanmarker size u32 | 20 padding u32 | 24 entries CRC | 28 node CRC
//!         32 entries, then padding, then the marker: 0 node's offset u32 | 4 magic 0x02851885 u32
//! inode   0 type u16 | 2 ino | 6 version | 10 offset | 14 total length              (18 bytes)
//! dirent  0 type u16 | 2 total length | 6 offset | 10 parent | 14 version | 18 ino
//!         22 name length u8 | 23 type u8 | 24 name                                  (24 + name)
//! ```

use super::{
    Dirent, DirentType, Header, InodeNode, NodeType, crc32, parse_header, put_u32, u16_at, u32_at,
};

/// Magic number in the last word of a block that has a summary.
const MARKER_MAGIC: u32 = 0x0285_1885;
pub(in super::super) const SUMMARY_MARKER_SIZE: u32 = 8;
const INODE_TYPE: u16 = 0xE002;
const DIRENT_TYPE: u16 = 0xE001;
const FIXED_SIZE: usize = SUMMARY_FIXED_SIZE as usize;
const INODE_ENTRY_SIZE: usize = SUMMARY_INODE_SIZE as usize;
const DIRENT_ENTRY_SIZE: usize = SUMMARY_DIRENT_SIZE as usize;
/// Bytes that the node's own checksum covers. The entries have a checksum of their own.
const CHECKED: usize = 24;

/// Bytes of the node before its entries.
const SUMMARY_FIXED_SIZE: u32 = 32;
/// Bytes of the entry of a dirent before its name.
const SUMMARY_DIRENT_SIZE: u32 = 24;

/// Bytes of a summary apart from its entries: the node's fixed part and the marker.
pub(in super::super) const SUMMARY_FRAME_SIZE: u32 = SUMMARY_FIXED_SIZE + SUMMARY_MARKER_SIZE;

pub(in super::super) const SUMMARY_INODE_SIZE: u32 = 18;

/// Bytes of the entry of a dirent whose name has `name_len` bytes.
pub(in super::super) const fn summary_dirent_size(name_len: u32) -> u32 {
    SUMMARY_DIRENT_SIZE + name_len
}

/// The entry of a summary for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum SummaryEntry {
    /// An inode node, at byte `offset` of the block and `total_len` bytes long before padding.
    Inode { ino: u32, version: u32, offset: u32, total_len: u32 },
    /// A dirent, with all that a mount scan needs to know of it.
    Dirent {
        parent: u32,
        version: u32,
        ino: u32,
        kind: DirentType,
        name: Vec<u8>,
        offset: u32,
        total_len: u32,
    },
}

impl SummaryEntry {
    /// The entry for a node at `offset` in its block. `None` for nodes that summaries do not list.
    pub(in super::super) fn of(node: &[u8], offset: u32) -> Option<Self> {
        let total_len = parse_header(node)?.total_len;
        match u16_at(node, 2) {
            INODE_TYPE => {
                let InodeNode { ino, version, .. } = InodeNode::parse(node, total_len)?;
                Some(Self::Inode { ino, version, offset, total_len })
            }
            DIRENT_TYPE => {
                let Dirent { parent, version, ino, kind, name, .. } =
                    Dirent::parse(node, total_len)?;
                Some(Self::Dirent { parent, version, ino, kind, name, offset, total_len })
            }
            _ => None,
        }
    }

    pub(in super::super) fn emit(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Inode { ino, version, offset, total_len } => {
                bytes.extend(INODE_TYPE.to_le_bytes());
                bytes.extend(
                    [ino, version, offset, total_len].into_iter().flat_map(|n| n.to_le_bytes()),
                );
            }
            Self::Dirent { parent, version, ino, kind, name, offset, total_len } => {
                bytes.extend(DIRENT_TYPE.to_le_bytes());
                let fields = [total_len, offset, parent, version, ino];
                bytes.extend(fields.into_iter().flat_map(|n| n.to_le_bytes()));
                bytes.push(u8::try_from(name.len()).expect("a name is at most 254 bytes"));
                bytes.push(kind.0);
                bytes.extend(name);
            }
        }
    }
}

/// A summary node with `count` entries. It begins at byte `offset` of its block and fills the last
/// `len` bytes.
pub(in super::super) fn summary_node(entries: &[u8], count: u32, len: u32, offset: u32) -> Vec<u8> {
    let mut node = vec![0xFF; len as usize];
    node[..FIXED_SIZE].fill(0);
    Header { node_type: NodeType::Summary, total_len: len }.emit(&mut node);
    put_u32(&mut node, 12, count);
    node[FIXED_SIZE..FIXED_SIZE + entries.len()].copy_from_slice(entries);
    let marker = node.len() - SUMMARY_MARKER_SIZE as usize;
    put_u32(&mut node, marker, offset);
    put_u32(&mut node, marker + 4, MARKER_MAGIC);
    let entries_crc = crc32(&node[FIXED_SIZE..]);
    put_u32(&mut node, 24, entries_crc);
    let node_crc = crc32(&node[..CHECKED]);
    put_u32(&mut node, 28, node_crc);
    node
}

/// Where in the block its summary begins. `None` if the block does not end in a summary's marker.
pub(in super::super) fn summary_marker(tail: &[u8]) -> Option<u32> {
    let at = tail.len().checked_sub(SUMMARY_MARKER_SIZE as usize)?;
    (u32_at(tail, at + 4) == MARKER_MAGIC).then(|| u32_at(tail, at))
}

/// Parse the summary node at the start of `bytes`. `None` if any part of it is invalid.
pub(in super::super) fn parse_summary(bytes: &[u8]) -> Option<Vec<SummaryEntry>> {
    let header = parse_header(bytes)?;
    let node = bytes.get(..header.total_len as usize)?;
    let valid = header.node_type == NodeType::Summary
        && node.len() >= FIXED_SIZE
        && u32_at(node, 28) == crc32(&node[..CHECKED])
        && u32_at(node, 24) == crc32(&node[FIXED_SIZE..]);
    if !valid {
        return None;
    }
    let mut entries = Vec::new();
    let mut rest = &node[FIXED_SIZE..];
    for _ in 0..u32_at(node, 12) {
        let (entry, len) = parse_entry(rest)?;
        entries.push(entry);
        rest = &rest[len..];
    }
    Some(entries)
}

fn parse_entry(bytes: &[u8]) -> Option<(SummaryEntry, usize)> {
    match bytes.len() {
        0..2 => None,
        _ => match u16_at(bytes, 0) {
            INODE_TYPE if bytes.len() >= INODE_ENTRY_SIZE => {
                Some((inode_entry(bytes), INODE_ENTRY_SIZE))
            }
            DIRENT_TYPE if bytes.len() >= DIRENT_ENTRY_SIZE => dirent_entry(bytes),
            _ => None,
        },
    }
}

fn inode_entry(bytes: &[u8]) -> SummaryEntry {
    SummaryEntry::Inode {
        ino: u32_at(bytes, 2),
        version: u32_at(bytes, 6),
        offset: u32_at(bytes, 10),
        total_len: u32_at(bytes, 14),
    }
}

fn dirent_entry(bytes: &[u8]) -> Option<(SummaryEntry, usize)> {
    let end = DIRENT_ENTRY_SIZE + usize::from(bytes[22]);
    let entry = SummaryEntry::Dirent {
        total_len: u32_at(bytes, 2),
        offset: u32_at(bytes, 6),
        parent: u32_at(bytes, 10),
        version: u32_at(bytes, 14),
        ino: u32_at(bytes, 18),
        kind: DirentType(bytes[23]),
        name: bytes.get(DIRENT_ENTRY_SIZE..end)?.to_vec(),
    };
    Some((entry, end))
}
