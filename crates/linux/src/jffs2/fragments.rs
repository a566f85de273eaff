//! The fragments of a file: which node holds which bytes.
//!
//! Invariants:
//! 1. Fragments do not overlap and leave no gap below the highest end.
//! 2. No fragment crosses a page of the page cache, except holes.
//! 3. A data node's count is the number of its fragments; at zero the node is dead.

use std::collections::BTreeMap;

use super::nodes::NodeId;
use crate::filesystem::PAGE_SIZE;

/// A run of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// Bytes.
    pub len: u32,
    /// The node that holds them; `None` for a gap that no node describes.
    pub node: Option<NodeId>,
}

/// A data node that holds fragments of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataNode {
    /// First byte of the file that the node has.
    pub offset: u32,
    /// How many bytes of the file it has.
    pub len: u32,
    /// How many fragments it still holds.
    pub fragments: u32,
}

/// The fragments of one file, by offset, and the nodes that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fragments {
    by_offset: BTreeMap<u32, Fragment>,
    nodes: BTreeMap<NodeId, DataNode>,
}

impl Fragments {
    /// Lay a node over the file; tell which nodes died of it.
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

    /// Cut the file at `size`; tell which nodes died of it.
    pub(super) fn truncate(&mut self, size: u32) -> Vec<NodeId> {
        self.cut(size, u32::MAX)
    }

    /// End of the last fragment.
    pub(super) fn end(&self) -> u32 {
        self.by_offset.last_key_value().map_or(0, |(offset, fragment)| offset + fragment.len)
    }

    /// The gaps that no node describes, from first to behind the last byte of each.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let gaps = self.by_offset.iter().filter(|(_, fragment)| fragment.node.is_none());
        gaps.map(|(&offset, fragment)| (offset, offset + fragment.len))
    }

    /// The fragments that overlap `start..end`, with their offsets.
    pub(super) fn overlapping(
        &self,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = (u32, Fragment)> + '_ {
        let first = self.at_or_before(start).map_or(start, |(offset, _)| offset);
        let found = self.by_offset.range(first..end).map(|(&offset, &fragment)| (offset, fragment));
        found.filter(move |(offset, fragment)| offset + fragment.len > start)
    }

    /// The fragment before the one at `offset`.
    pub(super) fn before(&self, offset: u32) -> Option<(u32, Fragment)> {
        self.by_offset.range(..offset).next_back().map(|(&at, &fragment)| (at, fragment))
    }

    /// The fragment that begins at `offset`.
    pub(super) fn starting_at(&self, offset: u32) -> Option<Fragment> {
        self.by_offset.get(&offset).copied()
    }

    /// What is known of a node that holds fragments.
    pub(super) fn node(&self, id: NodeId) -> Option<DataNode> {
        self.nodes.get(&id).copied()
    }

    /// From the first to behind the last byte that a node still holds.
    pub(super) fn extent(&self, id: NodeId) -> Option<(u32, u32)> {
        let node = self.node(id)?;
        let own = |(_, fragment): &(u32, Fragment)| fragment.node == Some(id);
        let mut held = self.overlapping(node.offset, node.offset + node.len).filter(own);
        let (start, first) = held.next()?;
        let (last, fragment) = held.last().unwrap_or((start, first));
        Some((start, last + fragment.len))
    }

    /// Let `new` stand for `old`, which it is a copy of.
    pub(super) fn replace(&mut self, old: NodeId, new: NodeId) {
        let Some(node) = self.nodes.remove(&old) else { return };
        self.nodes.insert(new, node);
        for (_, fragment) in self.by_offset.range_mut(node.offset..node.offset + node.len) {
            if fragment.node == Some(old) {
                fragment.node = Some(new);
            }
        }
    }

    /// The nodes on either side of `start..end` that share its first or last page: from now on all
    /// of these are worth merging. `None` where the range ends on a page's edge.
    pub(super) fn page_mates(&self, start: u32, end: u32) -> (Option<Fragment>, Option<Fragment>) {
        let before = (!start.is_multiple_of(PAGE_SIZE)).then(|| self.before(start)).flatten();
        let after = (!end.is_multiple_of(PAGE_SIZE)).then(|| self.starting_at(end)).flatten();
        (before.map(|(_, fragment)| fragment), after)
    }

    fn at_or_before(&self, offset: u32) -> Option<(u32, Fragment)> {
        self.by_offset.range(..=offset).next_back().map(|(&at, &fragment)| (at, fragment))
    }

    /// Remove what `start..end` covers; tell which nodes died of it.
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

    /// Make `at` a boundary between fragments.
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

    /// Take one fragment from a node; tell whether that was its last.
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
