//! Finding leaves of the tree, and walking from one to the next.

use super::znode::{Branch, Place, Znode, ZnodeId};
use crate::cpu::Unit;
use crate::ubifs::Ubifs;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::IndexNode;
use crate::ubifs::key::Key;

/// The place of a leaf in the tree. It is valid until the tree changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Position {
    pub(super) znode: ZnodeId,
    pub(super) slot: usize,
}

impl Ubifs {
    /// Find the last leaf whose key is at most `key`. If there is none, find the first leaf.
    pub(in super::super) fn seek(&mut self, key: Key) -> Result<Position, Fault> {
        let mut id = self.root_znode()?;
        loop {
            self.cpu.charge(Unit::UbifsLevel, 1);
            let znode = self.tnc.znode(id);
            let slot = znode.branches.partition_point(|branch| branch.key <= key).saturating_sub(1);
            if znode.level == 0 {
                return Ok(Position { znode: id, slot });
            }
            id = self.child(id, slot)?;
        }
    }

    /// The key of a leaf, and where its node is. `None` if the tree is empty.
    pub(in super::super) fn leaf(&self, at: Position) -> Option<(Key, Place)> {
        let branch = self.tnc.znode(at.znode).branches.get(at.slot)?;
        Some((branch.key, branch.place.expect("a leaf is on flash")))
    }

    pub(in super::super) fn after(&mut self, at: Position) -> Result<Option<Position>, Fault> {
        if at.slot + 1 < self.tnc.znode(at.znode).branches.len() {
            return Ok(Some(Position { slot: at.slot + 1, ..at }));
        }
        let mut id = at.znode;
        while let Some((parent, slot)) = self.tnc.slot_of(id) {
            if slot + 1 < self.tnc.znode(parent).branches.len() {
                return self.descend(parent, slot + 1, true).map(Some);
            }
            id = parent;
        }
        Ok(None)
    }

    pub(in super::super) fn before(&mut self, at: Position) -> Result<Option<Position>, Fault> {
        if at.slot > 0 {
            return Ok(Some(Position { slot: at.slot - 1, ..at }));
        }
        let mut id = at.znode;
        while let Some((parent, slot)) = self.tnc.slot_of(id) {
            if slot > 0 {
                return self.descend(parent, slot - 1, false).map(Some);
            }
            id = parent;
        }
        Ok(None)
    }

    pub(in super::super) fn seek_from(
        &mut self,
        key: Key,
    ) -> Result<Option<(Position, Key, Place)>, Fault> {
        let mut at = self.seek(key)?;
        // Leaves with the same key may begin further to the left.
        while self.leaf(at).is_some_and(|(found, _)| found == key) {
            match self.before(at)? {
                Some(before) => at = before,
                None => break,
            }
        }
        let mut next = Some(at);
        while let Some(at) = next {
            match self.leaf(at) {
                Some((found, place)) if found >= key => return Ok(Some((at, found, place))),
                Some(_) => next = self.after(at)?,
                None => break,
            }
        }
        Ok(None)
    }

    fn descend(&mut self, id: ZnodeId, slot: usize, first: bool) -> Result<Position, Fault> {
        let mut id = self.child(id, slot)?;
        loop {
            let znode = self.tnc.znode(id);
            let slot = if first { 0 } else { znode.branches.len() - 1 };
            if znode.level == 0 {
                return Ok(Position { znode: id, slot });
            }
            id = self.child(id, slot)?;
        }
    }

    pub(super) fn root_znode(&mut self) -> Result<ZnodeId, Fault> {
        if let Some(root) = self.tnc.root {
            return Ok(root);
        }
        let place = self.tnc.root_place.expect("a root in memory or on flash");
        let znode = self.read_znode(place, None, None)?;
        let id = self.tnc.add(znode);
        self.tnc.root = Some(id);
        Ok(id)
    }

    /// The child of a znode at `slot`, which is read if it is not in memory.
    pub(super) fn child(&mut self, id: ZnodeId, slot: usize) -> Result<ZnodeId, Fault> {
        let znode = self.tnc.znode(id);
        let branch = &znode.branches[slot];
        if let Some(child) = branch.child {
            return Ok(child);
        }
        let place = branch.place.expect("a child in memory or on flash");
        let child = self.read_znode(place, Some(id), Some(znode.level - 1))?;
        let child = self.tnc.add(child);
        self.tnc.znode_mut(id).branches[slot].child = Some(child);
        Ok(child)
    }

    fn read_znode(
        &mut self,
        place: Place,
        parent: Option<ZnodeId>,
        level: Option<u16>,
    ) -> Result<Znode, Fault> {
        let _scope = self.recorder.scope("ubifs_read_index");
        let damaged = Fault::Damaged { lnum: place.lnum, offset: place.offset };
        let bytes = self.read_node(place)?;
        let node = IndexNode::parse(&bytes).ok_or(damaged)?;
        let ordered = node.branches.windows(2).all(|pair| pair[0].0 <= pair[1].0);
        let sane = level.is_none_or(|level| level == node.level)
            && node.level < 32
            && ordered
            && node.branches.iter().all(|(_, place)| self.is_sane(*place))
            && (1..=self.tnc.fanout).contains(&node.branches.len());
        if !sane {
            return Err(damaged);
        }
        let branch = |(key, place)| Branch { key, place: Some(place), child: None, leaf: None };
        let branches = node.branches.into_iter().map(branch).collect();
        Ok(Znode { level: node.level, parent, branches, dirty: false })
    }
}
