//! The nodes of the log and of the orphan area.
//!
//! ```text
//! commit start  24 commit number u64 | 32 end
//! reference     24 LEB | 28 offset | 32 journal head | 64 end
//! orphans       24 commit number u64, its top bit set in the last node | 32 inodes u64…
//! ```

use super::{Group, NodeType, check_node, put_u32, put_u64, seal, u32_at, u64_at};

/// Length of a commit start node, bytes.
pub(in super::super) const CS_NODE_SIZE: u32 = 32;
/// Length of a reference node, bytes.
pub(in super::super) const REF_NODE_SIZE: u32 = 64;
const LAST_ORPHANS: u64 = 1 << 63;

/// A commit start node: all that the log refers to before it is in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct CsNode {
    pub commit: u64,
}

/// A reference node: LEB `lnum` belongs to the journal from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct RefNode {
    pub lnum: u32,
    pub offset: u32,
    pub head: u32,
}

/// An orphan node: it lists inodes that have no name but are still open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct OrphanNode {
    pub commit: u64,
    pub inodes: Vec<u32>,
}

impl CsNode {
    pub(in super::super) fn emit(self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; CS_NODE_SIZE as usize];
        put_u64(&mut node, 24, self.commit);
        seal(&mut node, NodeType::CommitStart, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::CommitStart)?;
        (node.len() >= CS_NODE_SIZE as usize).then(|| Self { commit: u64_at(node, 24) })
    }
}

impl RefNode {
    pub(in super::super) fn emit(self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; REF_NODE_SIZE as usize];
        for (at, value) in [(24, self.lnum), (28, self.offset), (32, self.head)] {
            put_u32(&mut node, at, value);
        }
        seal(&mut node, NodeType::Reference, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Reference)?;
        (node.len() >= REF_NODE_SIZE as usize).then(|| Self {
            lnum: u32_at(node, 24),
            offset: u32_at(node, 28),
            head: u32_at(node, 32),
        })
    }
}

impl OrphanNode {
    pub(in super::super) fn emit(&self, sequence: u64) -> Vec<u8> {
        let mut node = vec![0; 32 + 8 * self.inodes.len()];
        put_u64(&mut node, 24, self.commit | LAST_ORPHANS);
        for (place, &ino) in self.inodes.iter().enumerate() {
            put_u64(&mut node, 32 + 8 * place, u64::from(ino));
        }
        seal(&mut node, NodeType::Orphan, sequence, Group::Alone);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Orphan)?;
        if node.len() < 32 {
            return None;
        }
        let inodes = node[32..].chunks_exact(8).map(|bytes| u32::try_from(u64_at(bytes, 0)));
        let commit = u64_at(node, 24) & !LAST_ORPHANS;
        Some(Self { commit, inodes: inodes.collect::<Result<_, _>>().ok()? })
    }
}
