//! Writing the LPT: the dirty nodes are packed and appended behind those written before.

use super::shape::FANOUT;
use super::tree::Lpt;
use crate::ubi::Ubi;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::MasterNode;

/// Bytes that are written to one LEB in one go.
struct Run {
    lnum: u32,
    from: u32,
    bytes: Vec<u8>,
}

impl Lpt {
    /// Write all dirty nodes and the table. LEBs that hold only older nodes may be unmapped once
    /// the master node is written: see [`Lpt::finish_commit`].
    pub(in super::super) fn commit(&mut self, page_size: u32, ubi: &mut Ubi) -> Result<(), Fault> {
        if self.is_clean() {
            return Ok(());
        }
        if self.room(page_size) < 2 * (self.shape.size() + page_size) {
            self.dirty_all(ubi)?;
        }
        let dirty = self.take_dirty();
        self.bury_table();
        self.list_dead();
        let mut run = Run { lnum: self.head.0, from: self.head.1, bytes: Vec::new() };
        if self.shape.big {
            self.save_at = self.reserve(self.shape.save_size, &mut run, page_size, ubi)?;
            run.bytes.extend(self.shape.emit_save(self.main_first));
        }
        self.table_at = self.reserve(self.shape.table_size, &mut run, page_size, ubi)?;
        let table_run = (run.lnum, run.bytes.len());
        run.bytes.resize(run.bytes.len() + self.shape.table_size as usize, 0);
        let mut runs = Vec::new();
        self.place_nodes(&dirty, &mut run, &mut runs, page_size)?;
        self.close(&run, page_size);
        self.head = (run.lnum, run.from + Self::end_of(&run, page_size));
        runs.push(run);
        let table = self.shape.emit_table(&self.table);
        let holder = runs.iter_mut().find(|run| run.lnum == table_run.0).expect("just written");
        holder.bytes[table_run.1..table_run.1 + table.len()].copy_from_slice(&table);
        for run in runs {
            let mut bytes = run.bytes;
            bytes.resize(bytes.len().next_multiple_of(page_size as usize), 0xFF);
            if run.from == 0 {
                ubi.unmap(run.lnum);
            }
            ubi.write(run.lnum, run.from, &bytes)?;
        }
        Ok(())
    }

    /// Unmap the LEBs in which the last commit left no valid node.
    pub(in super::super) fn finish_commit(&mut self, ubi: &mut Ubi) {
        for lnum in std::mem::take(&mut self.done_with) {
            ubi.unmap(lnum);
        }
    }

    /// Enter into the master node where the LPT is.
    pub(in super::super) fn describe(&self, master: &mut MasterNode) {
        master.lpt_root = self.root.expect("written at each commit");
        master.lpt_head = self.head;
        master.lpt_table = self.table_at;
        master.lpt_save = self.save_at;
    }

    fn is_clean(&self) -> bool {
        let root = self.nnodes.last().and_then(|level| level[0].as_ref());
        root.is_none_or(|root| !root.dirty)
    }

    /// Free bytes behind the head and in empty LEBs, without a page for padding.
    fn room(&self, page_size: u32) -> u32 {
        let behind = self.shape.leb_size - self.head.1;
        let empty = self
            .table
            .iter()
            .zip(self.first..)
            .filter(|((free, _), lnum)| *free == self.shape.leb_size && *lnum != self.head.0);
        let whole = u32::try_from(empty.count()).expect("few") * self.shape.leb_size;
        (behind + whole).saturating_sub(page_size)
    }

    /// Make the whole tree dirty, so that writing it empties all older LEBs.
    fn dirty_all(&mut self, ubi: &mut Ubi) -> Result<(), Fault> {
        for place in 0..self.shape.main_lebs {
            self.lprops(self.main_first + place, ubi)?;
        }
        self.pnodes.iter_mut().flatten().for_each(|pnode| pnode.dirty = true);
        self.nnodes.iter_mut().flatten().flatten().for_each(|nnode| nnode.dirty = true);
        Ok(())
    }

    /// List the dirty nodes as (level, place), pnodes first, and mark them clean. Their old places
    /// become dirty space.
    fn take_dirty(&mut self) -> Vec<(usize, u32)> {
        let mut dirty = Vec::new();
        for (place, pnode) in (0..).zip(&mut self.pnodes) {
            if pnode.as_mut().is_some_and(|pnode| std::mem::take(&mut pnode.dirty)) {
                dirty.push((0, place));
            }
        }
        for (level, nnodes) in (1..).zip(&mut self.nnodes) {
            for (place, nnode) in (0..).zip(nnodes) {
                if nnode.as_mut().is_some_and(|nnode| std::mem::take(&mut nnode.dirty)) {
                    dirty.push((level, place));
                }
            }
        }
        for &(level, place) in &dirty {
            let size = if level == 0 { self.shape.pnode_size } else { self.shape.nnode_size };
            if let Some((lnum, _)) = self.spot(level, place).take() {
                self.add_dirt(lnum, size);
            }
        }
        dirty
    }

    fn bury_table(&mut self) {
        // A new tree has no table on flash.
        if self.table_at != (self.first, 0) || self.head != (self.first, 0) {
            self.add_dirt(self.table_at.0, self.shape.table_size);
            if self.shape.big && self.save_at.0 != 0 {
                self.add_dirt(self.save_at.0, self.shape.save_size);
            }
        }
    }

    /// List the LEBs without a valid node. They are free after this commit, but not before.
    fn list_dead(&mut self) {
        for (entry, lnum) in self.table.iter_mut().zip(self.first..) {
            let (free, dirty) = *entry;
            if dirty > 0 && free + dirty >= self.shape.leb_size && lnum != self.head.0 {
                *entry = (self.shape.leb_size, 0);
                self.done_with.push(lnum);
            }
        }
    }

    /// The field of the parent that holds a node's place. The place of the root is a field of the
    /// tree.
    fn spot(&mut self, level: usize, place: u32) -> &mut Option<(u32, u32)> {
        if level == self.nnodes.len() {
            return &mut self.root;
        }
        let parent = self.nnodes[level][(place / FANOUT) as usize].as_mut();
        &mut parent.expect("read with its child").node[(place % FANOUT) as usize]
    }

    fn place_nodes(
        &mut self,
        dirty: &[(usize, u32)],
        run: &mut Run,
        runs: &mut Vec<Run>,
        page_size: u32,
    ) -> Result<(), Fault> {
        for &(level, place) in dirty {
            let size = if level == 0 { self.shape.pnode_size } else { self.shape.nnode_size };
            if run.from + Self::len(run) + size > self.shape.leb_size {
                self.close(run, page_size);
                let lnum = self.next_leb()?;
                runs.push(std::mem::replace(run, Run { lnum, from: 0, bytes: Vec::new() }));
            }
            let at = (run.lnum, run.from + Self::len(run));
            let bytes = self.emit(level, place);
            run.bytes.extend(bytes);
            *self.spot(level, place) = Some(at);
        }
        Ok(())
    }

    fn emit(&self, level: usize, place: u32) -> Vec<u8> {
        if level == 0 {
            let pnode = self.pnodes[place as usize].as_ref().expect("dirty, hence in memory");
            return self.shape.emit_pnode(&pnode.node, place);
        }
        let nnode = self.nnodes[level - 1][place as usize].as_ref();
        let number = self.shape.number(level, place);
        self.shape.emit_nnode(&nnode.expect("dirty, hence in memory").node, self.first, number)
    }

    /// Make room for `size` bytes, in another LEB if this one is full.
    fn reserve(
        &mut self,
        size: u32,
        run: &mut Run,
        page_size: u32,
        ubi: &mut Ubi,
    ) -> Result<(u32, u32), Fault> {
        if run.from + Self::len(run) + size > self.shape.leb_size {
            if !run.bytes.is_empty() {
                let mut bytes = std::mem::take(&mut run.bytes);
                bytes.resize(bytes.len().next_multiple_of(page_size as usize), 0xFF);
                ubi.write(run.lnum, run.from, &bytes)?;
            }
            self.close(run, page_size);
            *run = Run { lnum: self.next_leb()?, from: 0, bytes: Vec::new() };
        }
        Ok((run.lnum, run.from + Self::len(run)))
    }

    /// Update the table with the free and dirty space of a LEB whose run is complete.
    fn close(&mut self, run: &Run, page_size: u32) {
        let end = run.from + Self::end_of(run, page_size);
        let pad = Self::end_of(run, page_size) - Self::len(run);
        let entry = &mut self.table[(run.lnum - self.first) as usize];
        entry.0 = self.shape.leb_size - end;
        entry.1 += pad;
    }

    /// Find an empty LEB and go on writing there.
    fn next_leb(&mut self) -> Result<u32, Fault> {
        let size = self.shape.leb_size;
        let head = self.head.0;
        let mut lebs = self.table.iter().zip(self.first..);
        let found = lebs.find(|&(&(free, _), lnum)| {
            free == size && lnum != head && !self.done_with.contains(&lnum)
        });
        let (_, lnum) = found.ok_or(Fault::NoSpace)?;
        self.head = (lnum, 0);
        Ok(lnum)
    }

    fn add_dirt(&mut self, lnum: u32, bytes: u32) {
        let entry = &mut self.table[(lnum - self.first) as usize];
        entry.1 = (entry.1 + bytes).min(self.shape.leb_size - entry.0);
    }

    fn len(run: &Run) -> u32 {
        u32::try_from(run.bytes.len()).expect("within a LEB")
    }

    fn end_of(run: &Run, page_size: u32) -> u32 {
        Self::len(run).next_multiple_of(page_size)
    }
}
