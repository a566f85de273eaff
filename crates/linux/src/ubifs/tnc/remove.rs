//! Removing leaves. A znode that loses its last branch is removed, too.

use super::cursor::Position;
use super::znode::ZnodeId;
use crate::ubifs::Ubifs;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::aligned;
use crate::ubifs::key::Key;

impl Ubifs {
    pub(in super::super) fn remove_name(&mut self, key: Key, name: &[u8]) -> Result<(), Fault> {
        match self.find_name(key, name)? {
            Some(at) => self.remove_at(at),
            None => Ok(()),
        }
    }

    pub(in super::super) fn remove_range(&mut self, first: Key, last: Key) -> Result<(), Fault> {
        while let Some((at, key, _)) = self.seek_from(first)? {
            if key > last {
                break;
            }
            self.remove_at(at)?;
        }
        Ok(())
    }

    /// Remove an inode, its data and its entries.
    pub(in super::super) fn remove_inode(&mut self, ino: u32) -> Result<(), Fault> {
        self.look_for_attributes(ino)?;
        self.remove_range(Key::inode(ino), Key::last(ino))
    }

    fn remove_at(&mut self, at: Position) -> Result<(), Fault> {
        self.make_dirty(at.znode)?;
        let branch = self.tnc.znode_mut(at.znode).branches.remove(at.slot);
        let place = branch.place.expect("a leaf is on flash");
        self.add_dirt(place.lnum, aligned(place.len))?;
        let mut id = at.znode;
        while self.tnc.znode(id).branches.is_empty() {
            let Some((parent, slot)) = self.tnc.slot_of(id) else { return Ok(()) };
            self.tnc.znode_mut(parent).branches.remove(slot);
            self.tnc.discard(id);
            id = parent;
        }
        self.lower_root()
    }

    /// Replace a root that has only one child by this child.
    fn lower_root(&mut self) -> Result<(), Fault> {
        let mut root: ZnodeId = self.root_znode()?;
        while self.tnc.znode(root).level > 0 && self.tnc.znode(root).branches.len() == 1 {
            let child = self.child(root, 0)?;
            self.make_dirty(child)?;
            self.tnc.discard(root);
            self.tnc.znode_mut(child).parent = None;
            self.tnc.root = Some(child);
            root = child;
        }
        Ok(())
    }
}
