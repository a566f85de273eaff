//! Index nodes: the nodes of the B+tree, with the places of their children.
//!
//! ```text
//! 24 children u16 | 26 level u16 | 28 branches: LEB | offset | length | key[8]
//! ```

use super::{Group, NodeType, check_node, put_u16, put_u32, seal, u16_at, u32_at};
use crate::ubifs::key::Key;
use crate::ubifs::tnc::Place;

const BRANCHES_AT: usize = 28;
const BRANCH_SIZE: usize = 20;

/// Length of an index node with this many children, bytes.
pub(in super::super) fn index_size(children: usize) -> u32 {
    u32::try_from(BRANCHES_AT + children * BRANCH_SIZE).expect("few children")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct IndexNode {
    /// Distance from the leaves. The children of a node of level 0 are leaves.
    pub level: u16,
    pub branches: Vec<(Key, Place)>,
}

impl IndexNode {
    pub(in super::super) fn emit(&self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; index_size(self.branches.len()) as usize];
        put_u16(&mut node, 24, u16::try_from(self.branches.len()).expect("few children"));
        put_u16(&mut node, 26, self.level);
        for (bytes, (key, place)) in node[BRANCHES_AT..].chunks_mut(BRANCH_SIZE).zip(&self.branches)
        {
            put_u32(bytes, 0, place.lnum);
            put_u32(bytes, 4, place.offset);
            put_u32(bytes, 8, place.len);
            key.emit(&mut bytes[12..]);
        }
        seal(&mut node, NodeType::Index, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Index)?;
        let children = usize::from(u16_at(node.get(..BRANCHES_AT)?, 24));
        let branches = node[BRANCHES_AT..].get(..children * BRANCH_SIZE)?;
        let branch = |bytes: &[u8]| {
            let (lnum, offset, len) = (u32_at(bytes, 0), u32_at(bytes, 4), u32_at(bytes, 8));
            (Key::parse(&bytes[12..]), Place { lnum, offset, len })
        };
        Some(Self {
            level: u16_at(node, 26),
            branches: branches.chunks_exact(BRANCH_SIZE).map(branch).collect(),
        })
    }
}
