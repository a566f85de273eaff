//! Znodes and the table that holds them.

use crate::ubifs::key::Key;

/// A node on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Place {
    pub lnum: u32,
    pub offset: u32,
    pub len: u32,
}

/// A znode's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct ZnodeId(usize);

/// A child of a znode: another one, or a leaf.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub key: Key,
    /// Where it is on flash; `None` for a dirty znode.
    pub place: Option<Place>,
    /// The child in memory.
    pub child: Option<ZnodeId>,
    /// The leaf in memory: directory entries stay, for names are compared often.
    pub leaf: Option<Box<[u8]>>,
}

/// A node of the tree in memory.
#[derive(Clone, Debug)]
pub(super) struct Znode {
    /// 0 above the leaves.
    pub level: u16,
    pub parent: Option<ZnodeId>,
    pub branches: Vec<Branch>,
    pub dirty: bool,
}

/// The tree.
#[derive(Debug)]
pub(in super::super) struct Tnc {
    znodes: Vec<Option<Znode>>,
    vacant: Vec<usize>,
    pub(super) root: Option<ZnodeId>,
    /// Where the root is on flash, unless it is dirty.
    pub(super) root_place: Option<Place>,
    pub(super) fanout: usize,
    /// Bytes of the index on flash as the last commit left it, and as the next would.
    pub(in super::super) size_committed: u64,
    pub(in super::super) size: u64,
    pub(in super::super) dirty_count: u64,
}

impl Tnc {
    /// The tree whose root is at `root`.
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

    /// Which branch of its parent a znode is.
    pub(super) fn slot_of(&self, id: ZnodeId) -> Option<(ZnodeId, usize)> {
        let parent = self.znode(id).parent?;
        let slot = self.znode(parent).branches.iter().position(|branch| branch.child == Some(id));
        Some((parent, slot.expect("a parent knows its child")))
    }

    /// Where the root is on flash, if it is clean.
    pub(in super::super) const fn root_place(&self) -> Option<Place> {
        self.root_place
    }

    /// Whether anything is to be committed.
    pub(in super::super) const fn is_dirty(&self) -> bool {
        self.dirty_count > 0
    }

    /// Drop the clean znodes: they can be read again.
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
