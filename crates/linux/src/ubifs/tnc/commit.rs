//! Writing the index: the dirty znodes are packed and written at the index head.

use super::znode::{Place, ZnodeId};
use crate::ubifs::Ubifs;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::{IndexNode, aligned, index_size};
use crate::ubifs::key::Key;
use crate::ubifs::lpt::Lprops;

struct Run {
    lnum: u32,
    from: u32,
    bytes: Vec<u8>,
}

impl Ubifs {
    pub(in super::super) fn commit_index(&mut self) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_commit_index");
        self.begin_index();
        let Some(root) = self.tnc.root.filter(|_| self.tnc.is_dirty()) else { return Ok(()) };
        let mut order = Vec::new();
        self.list_dirty(root, &mut order);
        self.write_in_gaps(&mut order)?;
        let (lnum, from) = self.index_head;
        let lprops = self.lprops(lnum)?;
        // The log is wrong: a journal head wrote to the LEB.
        if !lprops.index || lprops.free != self.geometry.leb_size - from {
            return Err(Fault::Damaged { lnum, offset: from });
        }
        let mut run = Run { lnum, from, bytes: Vec::new() };
        for id in order {
            self.commit_znode(id, &mut run)?;
        }
        self.flush_index(&run)?;
        self.tnc.size_committed = self.tnc.size;
        debug_assert_eq!(self.tnc.dirty_count, 0, "all dirty znodes hang on the root");
        Ok(())
    }

    /// Whether the next commit writes all index nodes to the LEB that it begins in.
    pub(in super::super) fn fits_index_head(&self) -> bool {
        let node = u64::from(aligned(index_size(self.geometry.fanout)));
        let rest = self.geometry.leb_size - self.index_head.1;
        self.tnc.dirty_count * node <= u64::from(rest)
    }

    fn list_dirty(&self, id: ZnodeId, order: &mut Vec<ZnodeId>) {
        let znode = self.tnc.znode(id);
        if !znode.dirty {
            return;
        }
        for child in znode.branches.iter().filter_map(|branch| branch.child) {
            self.list_dirty(child, order);
        }
        order.push(id);
    }

    fn commit_znode(&mut self, id: ZnodeId, run: &mut Run) -> Result<(), Fault> {
        let len = self.znode_size(id);
        let used = |run: &Run| run.from + u32::try_from(run.bytes.len()).expect("within a LEB");
        if used(run) + aligned(len) > self.geometry.leb_size {
            self.flush_index(run)?;
            self.give_back(run.lnum)?;
            let lnum = self.find_index_leb()?;
            *run = Run { lnum, from: 0, bytes: Vec::new() };
        }
        let place = Place { lnum: run.lnum, offset: used(run), len };
        let node = self.emit_znode(id);
        run.bytes.extend(node);
        run.bytes.resize(run.bytes.len().next_multiple_of(8), 0);
        self.settle_znode(id, place);
        Ok(())
    }

    /// The node of a znode.
    pub(super) fn emit_znode(&mut self, id: ZnodeId) -> Vec<u8> {
        let sequence = self.next_sequence();
        let znode = self.tnc.znode(id);
        let branches = znode.branches.iter().map(|branch| {
            (branch.key, branch.place.expect("children are written before their parents"))
        });
        let node = IndexNode { level: znode.level, branches: branches.collect() };
        debug_assert_eq!(index_size(node.branches.len()), self.znode_size(id));
        node.emit(sequence)
    }

    /// Note where a dirty znode was written. It is clean then.
    pub(super) fn settle_znode(&mut self, id: ZnodeId, place: Place) {
        match self.tnc.slot_of(id) {
            Some((parent, slot)) => {
                self.tnc.znode_mut(parent).branches[slot].place = Some(place);
            }
            None => self.tnc.root_place = Some(place),
        }
        self.tnc.znode_mut(id).dirty = false;
        self.tnc.dirty_count -= 1;
        self.tnc.size += u64::from(aligned(place.len));
    }

    /// Write the packed nodes. The index head moves behind them.
    fn flush_index(&mut self, run: &Run) -> Result<(), Fault> {
        let used = u32::try_from(run.bytes.len()).expect("within a LEB");
        let written = self.geometry.pages(used);
        let mut bytes = run.bytes.clone();
        bytes.resize(written as usize, 0xFF);
        if used > 0 {
            self.pad_index(&mut bytes[used as usize..]);
            self.ubi.write(run.lnum, run.from, &bytes)?;
        }
        let lprops = self.lprops(run.lnum)?;
        let free = self.geometry.leb_size - run.from - written;
        let dirty = lprops.dirty + written - used;
        self.set_lprops(run.lnum, Lprops { free, dirty, index: true, taken: true })?;
        self.index_head = (run.lnum, run.from + written);
        Ok(())
    }

    fn pad_index(&mut self, gap: &mut [u8]) {
        let len = u32::try_from(gap.len()).expect("within a page");
        let sequence = self.next_sequence();
        gap.copy_from_slice(&crate::ubifs::format::pad_bytes(len, sequence));
    }

    /// Make the index node at `place` dirty, if the tree has that node there.
    pub(in super::super) fn dirty_index_node(
        &mut self,
        node: (Key, u16),
        place: Place,
    ) -> Result<(), Fault> {
        match self.znode_at(node, place)? {
            Some(id) => self.make_dirty(id),
            None => Ok(()),
        }
    }

    /// The znode of a first key and a level, if its node is at `place`.
    pub(super) fn znode_at(
        &mut self,
        (first, level): (Key, u16),
        place: Place,
    ) -> Result<Option<ZnodeId>, Fault> {
        let mut id = self.root_znode()?;
        while self.tnc.znode(id).level > level {
            let branches = &self.tnc.znode(id).branches;
            let slot = branches.partition_point(|branch| branch.key <= first).saturating_sub(1);
            id = self.child(id, slot)?;
        }
        let at = match self.tnc.slot_of(id) {
            Some((parent, slot)) => self.tnc.znode(parent).branches[slot].place,
            None => self.tnc.root_place,
        };
        let is_here = at.is_some_and(|at| (at.lnum, at.offset) == (place.lnum, place.offset));
        Ok(is_here.then_some(id))
    }
}
