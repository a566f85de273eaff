//! The fragments of a file: which node holds which of its bytes.
//!
//! Invariants:
//! 1. Fragments do not overlap, and there is no gap before the end of the last one.
//! 2. No fragment crosses the boundary of a page of the page cache, except holes.
//! 3. A data node counts its fragments. When it has none left, the node is dead.

use std::collections::BTreeMap;

use super::nodes::NodeId;
use crate::filesystem::PAGE_SIZE;

/// A run of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// Length of the run, bytes.
    pub len: u32,
    /// The node that holds the bytes. `None` for a gap that no node describes.
    pub node: Option<NodeId>,
}

/// A data node that holds at least one fragment of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataNode {
    /// Where in the file the node's data begins, bytes.
    pub offset: u32,
    /// Length of the node's data in the file, bytes.
    pub len: u32,
    /// Number of fragments that the node holds.
    pub fragments: u32,
}

/// The fragments of one file by offset, and the nodes that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fragments {
    by_offset: BTreeMap<u32, Fragment>,
    nodes: BTreeMap<NodeId, DataNode>,
}

impl Fragments {
    /// Put a node's data over the older data of the file. Returns the nodes that no longer hold a
    /// fragment.
    pub(super) fn insert(&mut self, id: NodeId, offset: u32, len: u32) -> Vec<NodeId> {
        if len == 0 {
            return vec![id];
        }
        let end = self.end();
        if offset > end {
            self.by_offset.insert(end, Fragment { len: offset - end, node: None });
        }
        let dead = self.cut(offset, offset + len);
        self.by_offset.insert(offset, Fragment { len, node: Some(id) });
        self.nodes.insert(id, DataNode { offset, len, fragments: 1 });
        dead
    }

    /// Cut the file off at `size`. Returns the nodes that no longer hold a fragment.
    pub(super) fn truncate(&mut self, size: u32) -> Vec<NodeId> {
        self.cut(size, u32::MAX)
    }

    pub(super) fn end(&self) -> u32 {
        self.by_offset.last_key_value().map_or(0, |(offset, fragment)| offset + fragment.len)
    }

    /// The gaps that no node describes: the first byte of each, and the byte behind its last.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let gaps = self.by_offset.iter().filter(|(_, fragment)| fragment.node.is_none());
        gaps.map(|(&offset, fragment)| (offset, offset + fragment.len))
    }

    /// The fragments that overlap `start..end`, each with its offset.
    pub(super) fn overlapping(
        &self,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = (u32, Fragment)> + '_ {
        let first = self.at_or_before(start).map_or(start, |(offset, _)| offset);
        let found = self.by_offset.range(first..end).map(|(&offset, &fragment)| (offset, fragment));
        found.filter(move |(offset, fragment)| offset + fragment.len > start)
    }

    pub(super) fn before(&self, offset: u32) -> Option<(u32, Fragment)> {
        self.by_offset.range(..offset).next_back().map(|(&at, &fragment)| (at, fragment))
    }

    pub(super) fn starting_at(&self, offset: u32) -> Option<Fragment> {
        self.by_offset.get(&offset).copied()
    }

    /// The data node with this number, if it holds fragments.
    pub(super) fn node(&self, id: NodeId) -> Option<DataNode> {
        self.nodes.get(&id).copied()
    }

    /// The first byte that a node still holds, and the byte behind the last one.
    pub(super) fn extent(&self, id: NodeId) -> Option<(u32, u32)> {
        let node = self.node(id)?;
        let own = |(_, fragment): &(u32, Fragment)| fragment.node == Some(id);
        let mut held = self.overlapping(node.offset, node.offset + node.len).filter(own);
        let (start, first) = held.next()?;
        let (last, fragment) = held.last().unwrap_or((start, first));
        Some((start, last + fragment.len))
    }

    /// Let `new` hold the fragments of `old`, of which it is a copy.
    pub(super) fn replace(&mut self, old: NodeId, new: NodeId) {
        let Some(node) = self.nodes.remove(&old) else { return };
        self.nodes.insert(new, node);
        for (_, fragment) in self.by_offset.range_mut(node.offset..node.offset + node.len) {
            if fragment.node == Some(old) {
                fragment.node = Some(new);
            }
        }
    }

    /// The fragments before and behind `start..end` that share its first or its last page. When the
    /// collector moves them, it should merge them. `None` where the range ends at a page boundary.
    pub(super) fn page_mates(&self, start: u32, end: u32) -> (Option<Fragment>, Option<Fragment>) {
        let before = (!start.is_multiple_of(PAGE_SIZE)).then(|| self.before(start)).flatten();
        let after = (!end.is_multiple_of(PAGE_SIZE)).then(|| self.starting_at(end)).flatten();
        (before.map(|(_, fragment)| fragment), after)
    }

    fn at_or_before(&self, offset: u32) -> Option<(u32, Fragment)> {
        self.by_offset.range(..=offset).next_back().map(|(&at, &fragment)| (at, fragment))
    }

    /// Remove the fragments in `start..end`. Returns the nodes that no longer hold one.
    fn cut(&mut self, start: u32, end: u32) -> Vec<NodeId> {
        self.split(start);
        self.split(end);
        let covered: Vec<u32> = self.by_offset.range(start..end).map(|(&at, _)| at).collect();
        let mut dead = Vec::new();
        for offset in covered {
            let fragment = self.by_offset.remove(&offset).expect("just found");
            if let Some(id) = fragment.node
                && self.release(id)
            {
                dead.push(id);
            }
        }
        dead
    }

    /// Split the fragment that crosses `at`, if there is one.
    fn split(&mut self, at: u32) {
        let Some((offset, fragment)) = self.at_or_before(at) else { return };
        if offset == at || offset + fragment.len <= at {
            return;
        }
        let head = Fragment { len: at - offset, ..fragment };
        let tail = Fragment { len: fragment.len - head.len, ..fragment };
        self.by_offset.insert(offset, head);
        self.by_offset.insert(at, tail);
        if let Some(node) = fragment.node.and_then(|id| self.nodes.get_mut(&id)) {
            node.fragments += 1;
        }
    }

    /// Take one fragment from a node. Returns whether it was the node's last.
    fn release(&mut self, id: NodeId) -> bool {
        let node = self.nodes.get_mut(&id).expect("a fragment's node is known");
        node.fragments -= 1;
        let dead = node.fragments == 0;
        if dead {
            self.nodes.remove(&id);
        }
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::super::nodes::{NodeRef, NodeState, NodeTable};
    use super::*;

    fn ids(count: u32) -> Vec<NodeId> {
        let mut table = NodeTable::default();
        let node = |offset| NodeRef { offset, len: 4, state: NodeState::Normal, ino: None };
        (0..count).map(|offset| table.insert(node(offset))).collect()
    }

    #[test]
    fn a_node_dies_when_its_last_fragment_is_covered() {
        let id = ids(4);
        let mut fragments = Fragments::default();
        assert!(fragments.insert(id[0], 0, 4096).is_empty());
        assert!(fragments.insert(id[1], 1024, 1024).is_empty());
        assert_eq!(fragments.node(id[0]).map(|node| node.fragments), Some(2));
        assert_eq!(fragments.extent(id[0]), Some((0, 4096)));
        assert_eq!(fragments.insert(id[2], 1024, 3072), [id[1]]);
        assert_eq!(fragments.insert(id[3], 0, 4096), [id[0], id[2]]);
        assert_eq!(fragments.end(), 4096);
    }

    #[test]
    fn a_write_past_the_end_leaves_a_gap_and_a_cut_closes_it() {
        let id = ids(2);
        let mut fragments = Fragments::default();
        fragments.insert(id[0], 8192, 100);
        let gap = Fragment { len: 8192, node: None };
        assert_eq!(fragments.overlapping(0, 4096).collect::<Vec<_>>(), [(0, gap)]);
        assert_eq!(fragments.truncate(8192), [id[0]]);
        assert_eq!(fragments.end(), 8192);
        assert!(fragments.insert(id[1], 4000, 0).contains(&id[1]));
    }

    #[test]
    fn page_mates_share_a_page() {
        let id = ids(2);
        let mut fragments = Fragments::default();
        fragments.insert(id[0], 0, 1024);
        fragments.insert(id[1], 1024, 3072);
        let (before, after) = fragments.page_mates(1024, 4096);
        assert_eq!(before.and_then(|fragment| fragment.node), Some(id[0]));
        assert_eq!(after, None);
    }
}
