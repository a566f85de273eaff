//! The log: it lists the LEBs of the journal. Each reference takes a page.

use super::Ubifs;
use super::fault::Fault;
use super::format::{CsNode, REF_NODE_SIZE, RefNode};
use super::geometry::LOG_LNUM;
use super::wbuf::Head;

/// Which LEBs the log takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The LEB in which the last commit began.
    pub tail: u32,
    pub head: u32,
    pub offset: u32,
}

impl Ubifs {
    /// The LEB of the log that follows another. After the last one comes the first.
    pub(super) const fn next_log(&self, lnum: u32) -> u32 {
        if lnum + 1 < LOG_LNUM + self.geometry.log_lebs { lnum + 1 } else { LOG_LNUM }
    }

    /// Bytes of the log that are free for references, without the LEB that the next commit needs.
    fn log_room(&self) -> u32 {
        let leb_size = self.geometry.leb_size;
        let used_lebs =
            (self.log.head + self.geometry.log_lebs - self.log.tail) % self.geometry.log_lebs;
        let free_lebs = self.geometry.log_lebs - used_lebs - 1;
        (free_lebs * leb_size + leb_size - self.log.offset).saturating_sub(leb_size)
    }

    /// Whether the journal can take another LEB in which `bytes` are free.
    pub(super) fn fits_journal(&self, bytes: u32) -> bool {
        self.log_room() > self.geometry.pages(REF_NODE_SIZE)
            && self.bud_bytes + u64::from(bytes) <= self.geometry.bud_bytes_max
    }

    /// Write that LEB `lnum` belongs to the journal from `offset` on. This costs one program, and
    /// one more to map the LEB if it is empty.
    pub(super) fn add_reference(
        &mut self,
        head: Head,
        lnum: u32,
        offset: u32,
    ) -> Result<(), Fault> {
        let _scope = self.recorder.scope("ubifs_log");
        if self.log.offset + self.geometry.page_size > self.geometry.leb_size {
            self.log.head = self.next_log(self.log.head);
            self.log.offset = 0;
        }
        if self.log.offset == 0 {
            self.ubi.unmap(self.log.head);
        }
        if offset == 0 {
            self.ubi.map(lnum)?;
        }
        let sequence = self.next_sequence();
        let mut page = RefNode { lnum, offset, head: head as u32 }.emit(sequence);
        page.resize(self.geometry.page_size as usize, 0);
        self.pad(&mut page, REF_NODE_SIZE);
        self.ubi.write(self.log.head, self.log.offset, &page)?;
        self.log.offset += self.geometry.page_size;
        Ok(())
    }

    /// Begin a commit in the next LEB of the log, and return that LEB. The commit brings into the
    /// index everything that the log referred to before.
    pub(super) fn start_log(&mut self) -> Result<u32, Fault> {
        let _scope = self.recorder.scope("ubifs_log");
        let sequence = self.next_sequence();
        let mut page = CsNode { commit: self.commit_number + 1 }.emit(sequence);
        for head in Head::ALL {
            let wbuf = self.head(head);
            let (lnum, offset) = (wbuf.lnum, wbuf.offset);
            if let Some(lnum) = lnum.filter(|_| offset < self.geometry.leb_size) {
                let sequence = self.next_sequence();
                page.extend(RefNode { lnum, offset, head: head as u32 }.emit(sequence));
            }
        }
        let used = u32::try_from(page.len()).expect("few heads");
        page.resize(self.geometry.pages(used) as usize, 0);
        self.pad(&mut page, used);
        if self.log.offset > 0 {
            self.log.head = self.next_log(self.log.head);
        }
        self.ubi.unmap(self.log.head);
        self.ubi.write(self.log.head, 0, &page)?;
        self.log.offset = self.geometry.pages(used);
        Ok(self.log.head)
    }

    /// Drop the log before `tail`, because its commit is complete.
    pub(super) fn end_log(&mut self, tail: u32) {
        let mut lnum = self.log.tail;
        while lnum != tail {
            self.ubi.unmap(lnum);
            lnum = self.next_log(lnum);
        }
        self.log.tail = tail;
    }

    /// Fill a page with padding from byte `used` on.
    pub(super) fn pad(&mut self, page: &mut [u8], used: u32) {
        let gap = u32::try_from(page.len()).expect("a page") - used;
        let sequence = self.next_sequence();
        let padding = super::format::pad_bytes(gap, sequence);
        page[used as usize..].copy_from_slice(&padding);
    }
}
