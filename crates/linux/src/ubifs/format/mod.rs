//! The on-flash format of UBIFS: nodes with a common header; little-endian.
//!
//! ```text
//! header  0 magic 0x06101831 | 4 CRC (of bytes 8..length) | 8 sequence number u64 | 16 length
//!         20 type u8 | 21 group u8
//! ```
//!
//! Numbers have 32 bits unless stated otherwise. Nodes start at multiples of 8. The CRC is
//! CRC-32 without the final inversion.

mod dent;
mod header;
mod index;
mod inode;
mod log;
mod master;
mod superblock;

pub(super) use dent::{DENT_SIZE, DentNode};
pub(super) use header::{
    Group, HEADER_SIZE, Header, NodeType, PAD_NODE_SIZE, check_node, pad_bytes, padded_len,
    padding_len, parse_header, seal,
};
pub(super) use index::{IndexNode, index_size};
pub(super) use inode::{
    DATA_NODE_SIZE_MAX, DataNode, INODE_SIZE, InodeNode, TRUN_NODE_SIZE, TrunNode,
};
pub(super) use log::{CsNode, OrphanNode, REF_NODE_SIZE, RefNode};
pub(super) use master::{FLAG_DIRTY, FLAG_NO_ORPHANS, MASTER_SIZE, MasterNode};
pub use superblock::page_size_of;
pub(super) use superblock::{FLAG_BIG_LPT, FLAGS_KNOWN, SUPERBLOCK_SIZE, Superblock};

/// Offset of the key in the nodes that have one, bytes.
const KEY_AT: usize = 24;

pub(super) const fn aligned(len: u32) -> u32 {
    len.next_multiple_of(8)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}
