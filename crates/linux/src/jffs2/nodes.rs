//! References to nodes on flash: where each node is, its length, and whether it is obsolete.

/// The number of a node, which is its index in the [`NodeTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(u32);

/// Whether a node is valid, and how the collector may move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    /// Found by the mount scan. Its data checksum is not verified yet.
    Unchecked,
    /// Superseded. Only memory knows it, because NAND flash cannot be marked.
    Obsolete,
    /// Valid, and to be copied as it is when moved.
    Pristine,
    /// Valid, and worth merging with its neighbours when moved.
    Normal,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NodeRef {
    pub offset: u32,
    /// Length with padding, bytes.
    pub len: u32,
    pub state: NodeState,
    /// The inode it belongs to. `None` for padding and summaries.
    pub ino: Option<u32>,
}

/// All node references. The slot of a removed node is used again.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTable {
    slots: Vec<NodeRef>,
    free: Vec<NodeId>,
}

impl NodeTable {
    pub(super) fn insert(&mut self, node: NodeRef) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.slots[id.0 as usize] = node;
            return id;
        }
        let id = NodeId(u32::try_from(self.slots.len()).expect("fewer than 2^32 nodes"));
        self.slots.push(node);
        id
    }

    pub(super) fn remove(&mut self, id: NodeId) {
        self.free.push(id);
    }

    pub(super) fn node(&self, id: NodeId) -> &NodeRef {
        &self.slots[id.0 as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut NodeRef {
        &mut self.slots[id.0 as usize]
    }

    /// Note that a pristine node now shares its page with another.
    pub(super) fn mark_normal(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        if node.state == NodeState::Pristine {
            node.state = NodeState::Normal;
        }
    }
}
