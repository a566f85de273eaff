//! Scanning a LEB: its nodes are parsed one after the other, up to its free space or to what a
//! power cut left.

use flysch_nand::is_erased;

use super::fault::Fault;
use super::format::{
    Header, NodeType, PAD_NODE_SIZE, aligned, padded_len, padding_len, parse_header, u32_at,
};
use super::key::Key;
use super::tnc::Place;
use crate::ubi::{LebRead, Ubi};

#[derive(Debug)]
pub(super) struct Scan {
    pub lnum: u32,
    /// Where in the LEB the scan began. Offsets are counted from the start of the LEB.
    pub start: u32,
    bytes: Vec<u8>,
    pub nodes: Vec<(u32, Header)>,
    /// Where the last node or padding ends.
    pub end: u32,
    /// Whether all bytes behind `end` are 0xFF.
    pub is_clean: bool,
    /// Whether ECC could not correct some page.
    pub is_weak: bool,
}

impl Scan {
    /// Read and parse a LEB from `start` to its end.
    pub(super) fn read(ubi: &mut Ubi, lnum: u32, start: u32) -> Result<Self, Fault> {
        let mut bytes = vec![0xFF; ubi.leb_size().saturating_sub(start) as usize];
        let quality =
            if bytes.is_empty() { LebRead::Good } else { ubi.read(lnum, start, &mut bytes)? };
        let is_weak = quality == LebRead::Damaged;
        let mut scan =
            Self { lnum, start, bytes, nodes: Vec::new(), end: start, is_clean: false, is_weak };
        scan.parse();
        let rest = &scan.bytes[(scan.end - start) as usize..];
        scan.is_clean = is_erased(rest);
        Ok(scan)
    }

    fn parse(&mut self) {
        let mut at = 0;
        while let Some(rest) = self.bytes.get(at as usize..).filter(|rest| rest.len() >= 8) {
            let len = match parse_header(rest) {
                Some(header) if header.node_type == NodeType::Padding => {
                    let is_whole = header.len == PAD_NODE_SIZE;
                    is_whole.then(|| padded_len(rest)).flatten()
                }
                Some(header) => {
                    self.nodes.push((self.start + at, header));
                    Some(aligned(header.len))
                }
                None => padding_len(rest),
            };
            let Some(end) = len.and_then(|len| at.checked_add(len)) else { break };
            if end as usize > self.bytes.len() {
                break;
            }
            at = end;
        }
        self.end = self.start + at;
    }

    pub(super) fn node(&self, node: (u32, Header)) -> &[u8] {
        self.bytes_at(self.place(node))
    }

    /// The bytes of a node of this LEB.
    pub(super) fn bytes_at(&self, place: Place) -> &[u8] {
        &self.bytes[(place.offset - self.start) as usize..][..place.len as usize]
    }

    pub(super) fn place(&self, (offset, header): (u32, Header)) -> Place {
        Place { lnum: self.lnum, offset, len: header.len }
    }

    /// The key of a node. `None` if the node is too short to have one.
    pub(super) fn key(&self, node: (u32, Header)) -> Option<Key> {
        self.node(node).get(24..32).map(Key::parse)
    }

    /// The nodes that the index may refer to by key, each with its key and place: inodes, data,
    /// directory entries and extended attributes, but neither index nodes nor those of the log.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (Key, Place)> + '_ {
        const EXTENDED_ATTRIBUTE: NodeType = NodeType::Other(3);
        self.nodes.iter().filter_map(|&node| match node.1.node_type {
            NodeType::Inode | NodeType::Data | NodeType::Dent | EXTENDED_ATTRIBUTE => {
                Some((self.key(node)?, self.place(node)))
            }
            _ => None,
        })
    }

    /// Whether the bytes behind the last node may be a write that a power cut has torn. They may if
    /// nothing stands behind the page in which that write would end.
    pub(super) fn is_torn_end(&self, page_size: u32) -> bool {
        let at = (self.end - self.start) as usize;
        let rest = &self.bytes[at..];
        // If the start of the torn node is intact, its header tells how far the write went.
        let known = rest.len() >= 24 && u32_at(rest, 0) == 0x0610_1831;
        let len = if known { u32_at(rest, 16).min(8192) } else { 1 };
        let end = (self.end + len.max(1)).next_multiple_of(page_size) - self.start;
        let behind = self.bytes.get(end as usize..).unwrap_or(&[]);
        self.is_weak || is_erased(behind)
    }

    /// The bytes up to `end`, which a scan from `start` has found valid.
    pub(super) fn good_bytes(&self) -> &[u8] {
        &self.bytes[..(self.end - self.start) as usize]
    }
}
