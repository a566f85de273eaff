//! Znodes and the table that holds them.

use std::collections::BTreeSet;

use crate::ubifs::key::Key;

/// Where a node is on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Place {
    pub lnum: u32,
    pub offset: u32,
    pub len: u32,
}

/// The number of a znode, which is its index in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct ZnodeId(usize);

/// A branch of a znode, which leads to another znode or to a leaf.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub key: Key,
    /// Where the node of the branch is on flash. `None` if it leads to a dirty znode.
    pub place: Option<Place>,
    /// The znode that the branch leads to, if it is in memory.
    pub child: Option<ZnodeId>,
    /// The leaf, if it is in memory. Directory entries stay, because their names are compared
    /// often.
    pub leaf: Option<Box<[u8]>>,
}

#[derive(Clone, Debug)]
pub(super) struct Znode {
    /// Distance from the leaves. The branches of a znode of level 0 lead to leaves.
    pub level: u16,
    pub parent: Option<ZnodeId>,
    pub branches: Vec<Branch>,
    pub dirty: bool,
}

#[derive(Clone, Debug)]
pub(in super::super) struct Tnc {
    znodes: Vec<Option<Znode>>,
    vacant: Vec<usize>,
    pub(super) root: Option<ZnodeId>,
    /// Where the root is on flash. `None` if the root is dirty.
    pub(super) root_place: Option<Place>,
    pub(super) fanout: usize,
    /// Bytes of the index: as the last commit left it, and without the znodes that are dirty.
    pub(in super::super) size_committed: u64,
    pub(in super::super) size: u64,
    pub(in super::super) dirty_count: u64,
    /// LEBs and offsets of nodes that were replaced since the last commit, whose index refers to
    /// them.
    pub(in super::super) old: BTreeSet<(u32, u32)>,
}

impl Tnc {
    /// A tree of which nothing is in memory yet. Its root is at `root`.
    pub(in super::super) const fn new(root: Place, fanout: usize, size: u64) -> Self {
        Self {
            znodes: Vec::new(),
            vacant: Vec::new(),
            root: None,
            root_place: Some(root),
            fanout,
            size_committed: size,
            size,
            dirty_count: 0,
            old: BTreeSet::new(),
        }
    }

    pub(super) fn znode(&self, id: ZnodeId) -> &Znode {
        self.znodes[id.0].as_ref().expect("an id in use")
    }

    pub(super) fn znode_mut(&mut self, id: ZnodeId) -> &mut Znode {
        self.znodes[id.0].as_mut().expect("an id in use")
    }

    pub(super) fn add(&mut self, znode: Znode) -> ZnodeId {
        self.dirty_count += u64::from(znode.dirty);
        let place = self.vacant.pop().unwrap_or(self.znodes.len());
        if place == self.znodes.len() {
            self.znodes.push(None);
        }
        self.znodes[place] = Some(znode);
        ZnodeId(place)
    }

    pub(super) fn discard(&mut self, id: ZnodeId) -> Znode {
        let znode = self.znodes[id.0].take().expect("an id in use");
        self.dirty_count -= u64::from(znode.dirty);
        self.vacant.push(id.0);
        znode
    }

    /// The parent of a znode, and which of its branches leads to the znode.
    pub(super) fn slot_of(&self, id: ZnodeId) -> Option<(ZnodeId, usize)> {
        let parent = self.znode(id).parent?;
        let slot = self.znode(parent).branches.iter().position(|branch| branch.child == Some(id));
        Some((parent, slot.expect("a parent knows its child")))
    }

    pub(in super::super) const fn root_place(&self) -> Option<Place> {
        self.root_place
    }

    pub(in super::super) const fn is_dirty(&self) -> bool {
        self.dirty_count > 0
    }

    /// Drop the clean znodes, which can be read again.
    pub(in super::super) fn drop_clean(&mut self) {
        let Some(root) = self.root else { return };
        if self.znode(root).dirty {
            self.drop_clean_below(root);
        } else {
            self.root = None;
            self.discard_tree(root);
        }
    }

    fn drop_clean_below(&mut self, id: ZnodeId) {
        for slot in 0..self.znode(id).branches.len() {
            let Some(child) = self.znode(id).branches[slot].child else { continue };
            if self.znode(child).dirty {
                self.drop_clean_below(child);
            } else {
                self.znode_mut(id).branches[slot].child = None;
                self.discard_tree(child);
            }
        }
    }

    fn discard_tree(&mut self, id: ZnodeId) {
        let znode = self.discard(id);
        for child in znode.branches.iter().filter_map(|branch| branch.child) {
            self.discard_tree(child);
        }
    }
}
