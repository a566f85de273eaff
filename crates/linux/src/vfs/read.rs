//! Reads: page by page through the cache. The caller waits for read-ahead, too.

use super::{FILE_SIZE_MAX, Fd, Vfs, byte_in_page, page_index};
use crate::cache::read_ahead::Demand;
use crate::cache::{Fetch, ReadAheadProfile, page_to_fill};
use crate::cpu::Unit;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError, Ino};

/// What a program says about the reads it will make (`posix_fadvise`). A `len` of 0 reaches to the
/// end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// No advice: the device's read-ahead applies.
    Normal,
    /// The file will be scanned: windows may be twice as large as the device's.
    Sequential,
    /// The reads have no order: read-ahead is off.
    Random,
    /// These bytes will be needed: they are read at once.
    WillNeed {
        /// First byte of the range.
        offset: u64,
        /// Bytes in the range.
        len: u64,
    },
    /// These bytes will not be needed: the whole pages among them leave the cache.
    DontNeed {
        /// First byte of the range.
        offset: u64,
        /// Bytes in the range.
        len: u64,
    },
}

/// The pages of one read call. Missing pages below `end` were asked for; a page behind them is read
/// ahead.
#[derive(Clone, Copy)]
struct Request {
    ino: Ino,
    end: u32,
    file_pages: u32,
}

impl Vfs {
    /// Read at `offset`. Returns how many bytes there were before the end of the file.
    pub fn read(&mut self, fd: Fd, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let _scope = self.enter("read");
        let ino = self.file(fd).ino;
        self.cpu.charge(Unit::Read, 1);
        if !self.is_cached() {
            let len = self.fs.read_direct(ino, offset, bytes)?;
            self.cpu.copy(len);
            return Ok(len);
        }
        let size = self.load(ino)?;
        if offset >= size || bytes.is_empty() {
            return Ok(0);
        }
        let wanted_end = (offset + bytes.len() as u64).min(FILE_SIZE_MAX);
        let end = wanted_end.min(size);
        let request = Request { ino, end: pages_below(wanted_end), file_pages: pages_below(size) };
        let mut at = offset;
        let mut done = 0;
        while at < end {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            let len = (CACHE_PAGE_SIZE - byte_in_page(at)).min(left);
            self.read_piece(fd, request, at, &mut bytes[done..done + len])?;
            at += len as u64;
            done += len;
            self.file(fd).read_ahead.note_read(at, end);
        }
        Ok(done)
    }

    /// Take a program's advice about the reads it will make.
    pub fn advise(&mut self, fd: Fd, advice: Advice) -> Result<(), FsError> {
        let _scope = self.enter("fadvise");
        if !self.is_cached() {
            return Ok(());
        }
        let (ra_pages, profile) = (self.ra_pages, self.profile);
        let file = self.file(fd);
        let ino = file.ino;
        match advice {
            Advice::Normal => {
                file.read_ahead.ra_pages = ra_pages;
                file.read_ahead.is_random = false;
            }
            Advice::Sequential => {
                file.read_ahead.ra_pages = ra_pages.saturating_mul(2);
                file.read_ahead.is_random = false;
            }
            // Until 2.6.33 the advice sets the window to zero; later kernels set a flag of the open
            // file.
            Advice::Random if profile == ReadAheadProfile::A => file.read_ahead.ra_pages = 0,
            Advice::Random => file.read_ahead.is_random = true,
            Advice::WillNeed { offset, len } => return self.read_before_need(ino, offset, len),
            Advice::DontNeed { offset, len } => return self.drop_pages(ino, offset, len),
        }
        Ok(())
    }

    /// Copy the bytes at `at` to `bytes`. All of them lie in one page.
    fn read_piece(
        &mut self,
        fd: Fd,
        request: Request,
        at: u64,
        bytes: &mut [u8],
    ) -> Result<(), FsError> {
        let (ino, index) = (request.ino, page_index(at));
        let requested = request.end - index;
        self.cpu.charge(Unit::Page, 1);
        if !self.cache.contains(ino, index) {
            let demand = Demand { cache: &self.cache, ino, index, requested };
            let file = self.files[fd.0].as_mut().expect("the file is open");
            let fetch = file.read_ahead.on_miss(demand);
            self.fetch(request, fetch);
        }
        // Errors of read-ahead are dropped, as in the kernels: the page itself is read once more,
        // alone.
        if !self.cache.contains(ino, index) {
            self.page_in(ino, index, "page_in")?;
        }
        let page = self.cache.get(ino, index).expect("just read");
        let from = byte_in_page(at);
        bytes.copy_from_slice(&page[from..from + bytes.len()]);
        self.cpu.copy(bytes.len());
        self.cache.touch(ino, index);
        if self.file(fd).read_ahead.heeds_marks() && self.cache.take_mark(ino, index) {
            let demand = Demand { cache: &self.cache, ino, index, requested };
            let file = self.files[fd.0].as_mut().expect("the file is open");
            if let Some(fetch) = file.read_ahead.on_mark(demand) {
                self.fetch(request, fetch);
            }
        }
        Ok(())
    }

    /// Read the pages of `fetch` that are not cached, one by one. Pages that fail are left out.
    fn fetch(&mut self, request: Request, fetch: Fetch) {
        for index in fetch.pages(request.file_pages) {
            if self.cache.contains(request.ino, index) {
                continue;
            }
            let label = if index < request.end { "page_in" } else { "read_ahead" };
            let outcome = self.page_in(request.ino, index, label);
            if outcome.is_ok() && fetch.mark == Some(index) {
                self.cache.set_mark(request.ino, index);
            }
        }
    }

    /// Read a page into the cache, together with the pages that the file system reads along with
    /// it.
    fn page_in(&mut self, ino: Ino, index: u32, label: &'static str) -> Result<(), FsError> {
        let _scope = self.recorder.scope(label);
        self.cpu.charge(Unit::PageFill, 1);
        if self.fs.read_run(&mut self.cache, ino, index)? {
            return Ok(());
        }
        let mut page = page_to_fill();
        self.fs.read_page(ino, index, &mut page)?;
        self.cache.insert(ino, index, page);
        Ok(())
    }

    fn read_before_need(&mut self, ino: Ino, offset: u64, len: u64) -> Result<(), FsError> {
        let size = self.load(ino)?;
        let end = end_of(offset, len).min(size);
        if offset < end {
            let start = page_index(offset);
            let fetch = Fetch { start, len: pages_below(end) - start, mark: None };
            self.fetch(Request { ino, end: start, file_pages: pages_below(size) }, fetch);
        }
        Ok(())
    }

    /// Drop pages that are not needed any more. The kernel first writes the dirty ones
    /// (`generic_fadvise`, which writes those of the range; here they are all of the file).
    fn drop_pages(&mut self, ino: Ino, offset: u64, len: u64) -> Result<(), FsError> {
        let first = pages_below(offset.min(FILE_SIZE_MAX));
        let end = end_of(offset, len);
        self.fs.write_back(&mut self.cache, ino)?;
        let last = if end >= FILE_SIZE_MAX { u32::MAX } else { page_index(end) };
        if last > first {
            self.cache.remove_clean(ino, first..last);
        }
        Ok(())
    }
}

fn end_of(offset: u64, len: u64) -> u64 {
    if len == 0 { FILE_SIZE_MAX } else { offset.saturating_add(len).min(FILE_SIZE_MAX) }
}

/// Number of pages that begin below byte `end`. The offset is at most [`FILE_SIZE_MAX`].
fn pages_below(end: u64) -> u32 {
    page_index(end.next_multiple_of(CACHE_PAGE_SIZE as u64))
}
