//! Erase-block summaries (`mkfs.jffs2` + `sumtool`): a list of a block's nodes at its end.
//!
//! ```text
//! node    12 entries u32 | 16 cleanmarker size u32 | 20 padding u32 | 24 entries CRC | 28 node CRC
//!         32 entries, then padding, then the marker: 0 node's offset u32 | 4 magic 0x02851885 u32
//! inode   0 type u16 | 2 ino | 6 version | 10 offset | 14 total length              (18 bytes)
//! dirent  0 type u16 | 2 total length | 6 offset | 10 parent | 14 version | 18 ino
//!         22 name length u8 | 23 type u8 | 24 name                                  (24 + name)
//! ```

use super::{DirentType, NodeType, crc32, parse_header, u16_at, u32_at};

/// Last word of a block that has a summary.
const MARKER_MAGIC: u32 = 0x0285_1885;
/// Bytes of the marker.
pub(in super::super) const SUMMARY_MARKER_SIZE: u32 = 8;
const FIXED_SIZE: usize = 32;
const INODE_ENTRY_SIZE: usize = 18;
const DIRENT_ENTRY_SIZE: usize = 24;

/// What a summary says of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum SummaryEntry {
    /// An inode node.
    Inode { ino: u32, version: u32, offset: u32, total_len: u32 },
    /// A directory entry.
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

/// Where the summary of a block begins, if its last bytes are a marker.
pub(in super::super) fn summary_marker(tail: &[u8]) -> Option<u32> {
    let at = tail.len().checked_sub(SUMMARY_MARKER_SIZE as usize)?;
    (u32_at(tail, at + 4) == MARKER_MAGIC).then(|| u32_at(tail, at))
}

/// Parse the summary node that `bytes` begins with; `None` if any part of it is invalid.
pub(in super::super) fn parse_summary(bytes: &[u8]) -> Option<Vec<SummaryEntry>> {
    let header = parse_header(bytes)?;
    let node = bytes.get(..header.total_len as usize)?;
    let valid = header.node_type == NodeType::Summary
        && node.len() >= FIXED_SIZE
        && u32_at(node, 28) == crc32(&node[..24])
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
            0xE002 if bytes.len() >= INODE_ENTRY_SIZE => {
                Some((inode_entry(bytes), INODE_ENTRY_SIZE))
            }
            0xE001 if bytes.len() >= DIRENT_ENTRY_SIZE => dirent_entry(bytes),
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
