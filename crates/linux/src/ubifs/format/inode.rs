//! Inode nodes, data nodes and truncation nodes.
//!
//! ```text
//! inode       24 key[16] | 40 creation sequence u64 | 48 size u64 | 56 atime u64 | 64 ctime u64
//!             72 mtime u64 | 80 atime ns | 84 ctime ns | 88 mtime ns | 92 links | 96 uid | 100 gid
//!             104 mode | 108 flags | 112 inline data length | 116 xattr count | 120 xattr size
//!             128 xattr names | 132 compressor u16 | 160 inline data
//! data        24 key[16] | 40 size | 44 compressor u16 | 48 data
//! truncation  24 inode | 40 old size u64 | 48 new size u64 | 56 end
//! ```

use super::{
    Group, KEY_AT, NodeType, check_node, parse_header, put_u16, put_u32, put_u64, seal, u16_at,
    u32_at, u64_at,
};
use crate::ubifs::key::Key;

/// Length of an inode node without inline data, bytes.
pub(in super::super) const INODE_SIZE: u32 = 160;
/// Length of a data node without its data, bytes.
pub(in super::super) const DATA_NODE_SIZE: u32 = 48;
/// Length of the longest data node, bytes: one block that is not compressed.
pub(in super::super) const DATA_NODE_SIZE_MAX: u32 = DATA_NODE_SIZE + 4096;
/// Length of a truncation node, bytes.
pub(in super::super) const TRUN_NODE_SIZE: u32 = 56;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct InodeNode {
    pub key: Key,
    pub creation: u64,
    pub size: u64,
    pub mtime_ns: u64,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
    pub flags: u32,
    pub compression: u16,
    /// The target of a symbolic link, or the number of a device.
    pub inline: Vec<u8>,
}

/// A data node: one block of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct DataNode<'a> {
    pub key: Key,
    /// Length of the block's data before compression, bytes.
    pub size: u32,
    pub compression: u16,
    pub stored: &'a [u8],
}

/// A truncation node: a file's size was reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct TrunNode {
    pub ino: u32,
    pub old_size: u64,
    pub new_size: u64,
}

impl InodeNode {
    pub(in super::super) fn emit(&self, sequence: u64, group: Group) -> Vec<u8> {
        let mut node = vec![0; INODE_SIZE as usize];
        self.key.emit(&mut node[KEY_AT..]);
        put_u64(&mut node, 40, self.creation);
        put_u64(&mut node, 48, self.size);
        for (seconds_at, ns_at) in [(56, 80), (64, 84), (72, 88)] {
            put_u64(&mut node, seconds_at, self.mtime_ns / 1_000_000_000);
            let ns = u32::try_from(self.mtime_ns % 1_000_000_000).expect("below a second");
            put_u32(&mut node, ns_at, ns);
        }
        put_u32(&mut node, 92, self.links);
        put_u32(&mut node, 96, self.uid);
        put_u32(&mut node, 100, self.gid);
        put_u32(&mut node, 104, self.mode);
        put_u32(&mut node, 108, self.flags);
        put_u32(&mut node, 112, u32::try_from(self.inline.len()).expect("short"));
        put_u16(&mut node, 132, self.compression);
        node.extend(&self.inline);
        seal(&mut node, NodeType::Inode, sequence, group);
        node
    }

    /// Change the size in the bytes of a node, and nothing else. `None` if they are no inode.
    pub(in super::super) fn resize(bytes: &mut [u8], size: u64) -> Option<()> {
        check_node(bytes, NodeType::Inode).filter(|node| node.len() >= INODE_SIZE as usize)?;
        let header = parse_header(bytes)?;
        put_u64(bytes, 48, size);
        seal(bytes, NodeType::Inode, header.sequence, header.group);
        Some(())
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Inode)?;
        if node.len() < INODE_SIZE as usize {
            return None;
        }
        let inline = node[INODE_SIZE as usize..].get(..u32_at(node, 112) as usize)?;
        let seconds = u64_at(node, 72).checked_mul(1_000_000_000).unwrap_or(0);
        Some(Self {
            key: Key::parse(&node[KEY_AT..]),
            creation: u64_at(node, 40),
            size: u64_at(node, 48),
            mtime_ns: seconds.saturating_add(u64::from(u32_at(node, 88))),
            links: u32_at(node, 92),
            uid: u32_at(node, 96),
            gid: u32_at(node, 100),
            mode: u32_at(node, 104),
            flags: u32_at(node, 108),
            compression: u16_at(node, 132),
            inline: inline.to_vec(),
        })
    }
}

impl<'a> DataNode<'a> {
    pub(in super::super) fn emit(&self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; DATA_NODE_SIZE as usize];
        self.key.emit(&mut node[KEY_AT..]);
        put_u32(&mut node, 40, self.size);
        put_u16(&mut node, 44, self.compression);
        node.extend(self.stored);
        seal(&mut node, NodeType::Data, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Data)?;
        (node.len() >= DATA_NODE_SIZE as usize).then(|| Self {
            key: Key::parse(&node[KEY_AT..]),
            size: u32_at(node, 40),
            compression: u16_at(node, 44),
            stored: &node[DATA_NODE_SIZE as usize..],
        })
    }
}

impl TrunNode {
    pub(in super::super) fn emit(self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; TRUN_NODE_SIZE as usize];
        put_u32(&mut node, 24, self.ino);
        put_u64(&mut node, 40, self.old_size);
        put_u64(&mut node, 48, self.new_size);
        seal(&mut node, NodeType::Truncation, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Truncation)?;
        (node.len() >= TRUN_NODE_SIZE as usize).then(|| Self {
            ino: u32_at(node, 24),
            old_size: u64_at(node, 40),
            new_size: u64_at(node, 48),
        })
    }
}
