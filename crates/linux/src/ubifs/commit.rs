//! The commit: it brings the index and the LEB properties on flash up to date, so that the journal
//! can begin anew.

use super::Ubifs;
use super::category::Category;
use super::collect::NO_LEB;
use super::fault::Fault;
use super::format::{FLAG_DIRTY, FLAG_NO_ORPHANS, MASTER_SIZE, OrphanNode};
use super::geometry::MASTER_LNUM;
use super::lpt::Lprops;

impl Ubifs {
    pub(super) fn has_uncommitted(&self) -> bool {
        self.tnc.is_dirty()
            || self.bud_bytes > self.head_bytes()
            || !self.collected_index.is_empty()
    }

    /// Bytes of the journal that its heads have reserved but not written to since the last commit.
    fn head_bytes(&self) -> u64 {
        let ready = self.heads.iter().filter(|wbuf| {
            wbuf.lnum
                .is_some_and(|lnum| self.buds.get(&lnum).is_some_and(|bud| bud.start == wbuf.end()))
        });
        ready.map(|wbuf| u64::from(self.geometry.leb_size - wbuf.end())).sum()
    }

    /// Commit, unless nothing has changed since the last commit.
    pub(super) fn commit(&mut self) -> Result<(), Fault> {
        self.tasks.commit_wanted = false;
        if self.has_uncommitted() { self.commit_now() } else { Ok(()) }
    }

    /// Commit even if nothing has changed. The log begins anew.
    pub(super) fn commit_now(&mut self) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_commit");
        self.sync_heads()?;
        self.free_dead_lebs()?;
        let index_lebs = self.retire_index_lebs()?;
        let tail = self.start_log()?;
        self.commit_index()?;
        self.commit_orphans()?;
        self.commit_lpt()?;
        self.commit_number += 1;
        self.describe(tail);
        self.write_master(FLAG_DIRTY)?;
        self.tnc.old.clear();
        self.end_log(tail);
        self.release_buds()?;
        for lnum in index_lebs {
            self.ubi.unmap(lnum);
            let is_kept = self.gc_lnum == NO_LEB;
            if is_kept {
                self.gc_lnum = lnum;
            }
            let lprops = self.lprops(lnum)?;
            self.set_lprops(lnum, Lprops { taken: is_kept, ..lprops })?;
        }
        self.lpt.finish_commit(&mut self.ubi);
        Ok(())
    }

    fn commit_lpt(&mut self) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_commit_lpt");
        self.lpt.commit(self.geometry.page_size, &mut self.ubi)
    }

    /// Unmap the LEBs that hold only obsolete nodes.
    fn free_dead_lebs(&mut self) -> Result<(), Fault> {
        let leb_size = self.geometry.leb_size;
        for lnum in self.list(Category::Freeable) {
            self.ubi.unmap(lnum);
            self.set_lprops(lnum, Lprops { free: leb_size, ..Lprops::default() })?;
        }
        Ok(())
    }

    /// List the LEBs that hold only obsolete index nodes, and those that were collected. They
    /// become free when this commit is on flash, those that were listed last first.
    fn retire_index_lebs(&mut self) -> Result<Vec<u32>, Fault> {
        let mut lebs = std::mem::take(&mut self.collected_index);
        for lnum in self.list(Category::FreeableIndex) {
            self.empty(lnum)?;
            lebs.push(lnum);
        }
        lebs.reverse();
        Ok(lebs)
    }

    fn list(&self, wanted: Category) -> Vec<u32> {
        self.known(wanted).map(|(lnum, _)| lnum).collect()
    }

    /// Take the LEBs out of the journal that the heads have left, those with the highest numbers
    /// first. The LEB of a head stays in it until the next commit, even if it is full.
    fn release_buds(&mut self) -> Result<(), Fault> {
        let buds = std::mem::take(&mut self.buds);
        self.bud_bytes = 0;
        for lnum in buds.into_keys().rev() {
            let head = self.heads.iter().find(|wbuf| wbuf.lnum == Some(lnum));
            if let Some(start) = head.map(super::wbuf::WriteBuffer::end) {
                self.buds.insert(lnum, super::reserve::Bud { start });
                self.bud_bytes += u64::from(self.geometry.leb_size - start);
            } else {
                self.give_back(lnum)?;
            }
        }
        Ok(())
    }

    /// Write the list of inodes without a name that are still open.
    fn commit_orphans(&mut self) -> Result<(), Fault> {
        if self.orphans.is_empty() {
            return Ok(());
        }
        let _scope = self.recorder.scope("ubifs_commit_orphans");
        let most = (self.geometry.leb_size as usize - 32) / 8;
        let inodes = self.orphans.iter().copied().take(most).collect();
        let node = OrphanNode { commit: self.commit_number + 1, inodes };
        let sequence = self.next_sequence();
        Ok(self.ubi.change(self.geometry.orphan_first, &node.emit(sequence))?)
    }

    /// Write the master node of the last commit with other flags. It says nothing of what has
    /// changed since: the LEB properties on flash are still those of that commit.
    pub(super) fn write_master(&mut self, flags: u32) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_write_master");
        self.master.flags = self.master.flags & FLAG_NO_ORPHANS | flags;
        self.master.gc_lnum = self.gc_lnum;
        let sequence = self.next_sequence();
        let mut page = self.master.emit(sequence);
        page.resize(self.geometry.pages(MASTER_SIZE) as usize, 0);
        self.pad(&mut page, MASTER_SIZE);
        let size = self.geometry.pages(MASTER_SIZE);
        let mut offset = self.master_offset + size;
        if offset + size > self.geometry.leb_size {
            offset = 0;
        }
        for lnum in [MASTER_LNUM, MASTER_LNUM + 1] {
            if offset == 0 {
                self.ubi.unmap(lnum);
            }
            self.ubi.write(lnum, offset, &page)?;
        }
        self.master_offset = offset;
        Ok(())
    }

    /// Enter into the master node what a commit has written.
    fn describe(&mut self, log_lnum: u32) {
        let master = &mut self.master;
        master.flags = if self.orphans.is_empty() { FLAG_NO_ORPHANS } else { 0 };
        master.ino_max = u64::from(self.ino_max);
        master.commit = self.commit_number;
        master.log_lnum = log_lnum;
        if let Some(root) = self.tnc.root_place() {
            master.root = root;
        }
        master.index_head = self.index_head;
        master.index_size = self.tnc.size_committed;
        master.lpt_scan = self.scan_lnum;
        master.leb_count = self.geometry.leb_count;
        self.sums.describe(master);
        self.lpt.describe(master);
    }
}
