//! The on-flash format of JFFS2: nodes, each with a header and checksums; little-endian.
//!
//! ```text
//! header   0 magic 0x1985 u16 | 2 type u16 | 4 total length u32 | 8 header CRC u32
//! inode   12 ino | 16 version | 20 mode | 24 uid u16 | 26 gid u16 | 28 size | 32 atime | 36 mtime
//!         40 ctime | 44 offset | 48 csize | 52 dsize | 56 compr u8 | 57 usercompr u8
//!         58 flags u16 | 60 data CRC | 64 node CRC (of bytes 0..60) | 68 data
//! dirent  12 parent ino | 16 version | 20 ino (0 = deletion) | 24 mctime | 28 name length u8
//!         29 type u8 | 32 node CRC (of bytes 0..32) | 36 name CRC | 40 name
//! ```
//!
//! Nodes start at multiples of 4. The CRC is CRC-32 without initial or final inversion.

mod crc;
mod dirent;
mod header;
mod inode;
mod summary;

pub(super) use crc::crc32;
pub(super) use dirent::{DIRENT_SIZE, Dirent, DirentType};
pub(super) use header::{Header, NodeType, padding_node, parse_header};
pub(super) use inode::{Compression, INODE_SIZE, InodeNode, Owner};
pub(super) use summary::{
    SUMMARY_FRAME_SIZE, SUMMARY_INODE_SIZE, SUMMARY_MARKER_SIZE, SummaryEntry, parse_summary,
    summary_dirent_size, summary_marker, summary_node,
};

/// Highest inode number and version that is accepted. No file system reaches it by use, and enough
/// numbers are left above it to count on.
const NUMBER_MAX: u32 = u32::MAX - (1 << 24);

/// Whether a file system can reach this inode number or version by use.
pub(super) const fn is_believed(number: u32) -> bool {
    number <= NUMBER_MAX
}

/// Round a length up to the alignment of nodes.
pub(super) const fn padded(len: u32) -> u32 {
    len.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}
