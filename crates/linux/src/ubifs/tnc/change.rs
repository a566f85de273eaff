//! Changing the tree: leaves are put in, and znodes become dirty and split.

use super::cursor::Position;
use super::znode::{Branch, Place, Znode, ZnodeId};
use crate::ubifs::Ubifs;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::{aligned, index_size};
use crate::ubifs::key::{Key, KeyType};

impl Ubifs {
    /// Put in the node of a key that only one node can have. The node it had before becomes
    /// obsolete.
    pub(in super::super) fn insert(&mut self, key: Key, place: Place) -> Result<(), Fault> {
        let at = self.seek(key)?;
        match self.leaf(at) {
            Some((found, old)) if found == key => self.replace(at, old, place),
            _ => self.insert_after(at, key, place),
        }
    }

    /// Put in the directory entry of a name. The entry it had before becomes obsolete. The new one
    /// is not kept in memory: it is read when a name is next compared with it.
    pub(in super::super) fn insert_name(
        &mut self,
        key: Key,
        name: &[u8],
        place: Place,
    ) -> Result<(), Fault> {
        if let Some(at) = self.find_name(key, name)? {
            let (_, old) = self.leaf(at).expect("just found");
            return self.replace(at, old, place);
        }
        let at = self.seek(key)?;
        self.insert_after(at, key, place)
    }

    /// Note that the leaf of `key` at `old` has moved to `new`. Returns whether there was one at
    /// `old`.
    pub(in super::super) fn move_leaf(
        &mut self,
        key: Key,
        old: Place,
        new: Place,
    ) -> Result<bool, Fault> {
        let Some(at) = self.find_place(key, old)? else { return Ok(false) };
        self.make_dirty(at.znode)?;
        self.tnc.znode_mut(at.znode).branches[at.slot].place = Some(new);
        self.add_dirt(old.lnum, aligned(old.len))?;
        Ok(true)
    }

    /// Find the leaf of `key` whose node is at `place`.
    pub(in super::super) fn find_place(
        &mut self,
        key: Key,
        place: Place,
    ) -> Result<Option<Position>, Fault> {
        let mut at = Some(self.seek(key)?);
        while let Some(position) = at {
            match self.leaf(position) {
                Some((found, _)) if found != key => break,
                Some((_, found)) if (found.lnum, found.offset) == (place.lnum, place.offset) => {
                    return Ok(Some(position));
                }
                Some(_) => at = self.before(position)?,
                None => break,
            }
        }
        Ok(None)
    }

    fn replace(&mut self, at: Position, old: Place, new: Place) -> Result<(), Fault> {
        self.make_dirty(at.znode)?;
        let branch = &mut self.tnc.znode_mut(at.znode).branches[at.slot];
        branch.place = Some(new);
        branch.leaf = None;
        self.add_dirt(old.lnum, aligned(old.len))
    }

    fn insert_after(&mut self, at: Position, key: Key, place: Place) -> Result<(), Fault> {
        self.make_dirty(at.znode)?;
        let goes_first = self.leaf(at).is_none_or(|(found, _)| found > key);
        let slot = if goes_first { 0 } else { at.slot + 1 };
        let branch = Branch { key, place: Some(place), child: None, leaf: None };
        self.put_branch(at.znode, slot, branch, false);
        Ok(())
    }

    /// Make a znode and all above it dirty. Their nodes on flash become obsolete.
    pub(super) fn make_dirty(&mut self, id: ZnodeId) -> Result<(), Fault> {
        let mut at = Some(id);
        while let Some(id) = at {
            if self.tnc.znode(id).dirty {
                break;
            }
            let place = match self.tnc.slot_of(id) {
                Some((parent, slot)) => self.tnc.znode_mut(parent).branches[slot].place.take(),
                None => self.tnc.root_place.take(),
            };
            let place = place.expect("a clean znode is on flash");
            self.tnc.znode_mut(id).dirty = true;
            self.tnc.dirty_count += 1;
            self.tnc.old.insert((place.lnum, place.offset));
            self.tnc.size = self.tnc.size.saturating_sub(u64::from(aligned(place.len)));
            self.add_dirt(place.lnum, aligned(place.len))?;
            at = self.tnc.znode(id).parent;
        }
        Ok(())
    }

    /// Put a branch into a dirty znode. If the znode is full, it splits.
    fn put_branch(&mut self, id: ZnodeId, slot: usize, branch: Branch, appends: bool) {
        let znode = self.tnc.znode(id);
        if znode.branches.len() < self.tnc.fanout {
            self.place_branch(id, slot, branch);
            return;
        }
        let split = Split::of(znode, slot, &branch, appends);
        let (level, parent) = (znode.level, znode.parent);
        let moved = self.tnc.znode_mut(id).branches.split_off(split.keep);
        let new = self.tnc.add(Znode { level, parent, branches: moved, dirty: true });
        for child in self.children_of(new) {
            self.tnc.znode_mut(child).parent = Some(new);
        }
        if split.goes_left {
            self.place_branch(id, slot, branch);
        } else {
            // The new znode has no parent yet, so no key above it need change.
            if let Some(child) = branch.child {
                self.tnc.znode_mut(child).parent = Some(new);
            }
            self.tnc.znode_mut(new).branches.insert(slot - split.keep, branch);
        }
        self.attach_right(id, new, split.appends);
    }

    /// Put `new` into the tree to the right of `id`. If `id` is the root, a new root is put above
    /// both.
    fn attach_right(&mut self, id: ZnodeId, new: ZnodeId, appends: bool) {
        let first_key = |fs: &Self, id| fs.tnc.znode(id).branches[0].key;
        let branch_of = |key, id| Branch { key, place: None, child: Some(id), leaf: None };
        let branch = branch_of(first_key(self, new), new);
        if let Some((parent, slot)) = self.tnc.slot_of(id) {
            self.put_branch(parent, slot + 1, branch, appends);
            return;
        }
        let branches = vec![branch_of(first_key(self, id), id), branch];
        let level = self.tnc.znode(id).level + 1;
        let root = self.tnc.add(Znode { level, parent: None, branches, dirty: true });
        self.tnc.znode_mut(id).parent = Some(root);
        self.tnc.znode_mut(new).parent = Some(root);
        self.tnc.root = Some(root);
    }

    fn place_branch(&mut self, id: ZnodeId, slot: usize, branch: Branch) {
        let key = branch.key;
        if let Some(child) = branch.child {
            self.tnc.znode_mut(child).parent = Some(id);
        }
        self.tnc.znode_mut(id).branches.insert(slot, branch);
        if slot == 0 {
            self.lower_keys(id, key);
        }
    }

    /// Lower the keys above a znode that got a smaller first key.
    fn lower_keys(&mut self, id: ZnodeId, key: Key) {
        let mut at = id;
        while let Some((parent, slot)) = self.tnc.slot_of(at) {
            let branch = &mut self.tnc.znode_mut(parent).branches[slot];
            branch.key = branch.key.min(key);
            if slot > 0 {
                break;
            }
            at = parent;
        }
    }

    fn children_of(&self, id: ZnodeId) -> Vec<ZnodeId> {
        self.tnc.znode(id).branches.iter().filter_map(|branch| branch.child).collect()
    }

    pub(super) fn znode_size(&self, id: ZnodeId) -> u32 {
        index_size(self.tnc.znode(id).branches.len())
    }
}

/// How a full znode is divided in two.
struct Split {
    /// Number of branches that stay in it.
    keep: usize,
    /// Whether the new branch goes to the branches that stay.
    goes_left: bool,
    /// Whether a file is being appended to. The old znode then stays full.
    appends: bool,
}

impl Split {
    fn of(znode: &Znode, slot: usize, new: &Branch, appends: bool) -> Self {
        let full = znode.branches.len();
        let half = full.div_ceil(2);
        let is_at_end = slot == full;
        let of_same_file = |other: &Branch| {
            let of_data = other.key.kind() == KeyType::Data && new.key.kind() == KeyType::Data;
            of_data && other.key.ino() == new.key.ino()
        };
        let is_leaf = znode.level == 0;
        // A file in the middle of the tree is appended to: the branches of what follows it move.
        if (is_leaf || appends)
            && (half..full).contains(&slot)
            && of_same_file(&znode.branches[0])
            && !of_same_file(&znode.branches[slot])
        {
            return Self { keep: slot, goes_left: true, appends: false };
        }
        let appends =
            is_at_end && if is_leaf { of_same_file(&znode.branches[full - 1]) } else { appends };
        let goes_left = slot < half;
        let keep = if appends { full } else { half - usize::from(goes_left) };
        Self { keep, goes_left, appends }
    }
}
