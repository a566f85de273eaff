//! The VFS: system calls on one mounted file system, with the page cache between.
//!
//! Each call lets the background tasks that are due run, opens a scope named after itself and
//! charges its CPU work: the call, the pages looked up, the bytes copied to or from the caller.
//! What the file system does inside, it charges itself.
//!
//! Invariants:
//! 1. The size of a file is known to the file system alone.
//! 2. An inode is in memory from its first lookup until caches are dropped, or until it has
//!    neither name nor user: then it is evicted, and its pages go with it.
//! 3. A read is short only at the end of the file. (A kernel would also give what it read before
//!    an error; here the error is told.)
//!
//! What the world does is an `FsError`; using a closed [`Fd`] is a bug of the caller and panics.

use flysch_chip::{Recorder, Scope};

use crate::cache::{PageCache, ReadAhead, ReadAheadProfile};
use crate::cpu::{Cpu, Work};
use crate::filesystem::{
    CACHE_PAGE_SIZE, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino,
};

mod inodes;
mod names;
mod read;
mod tasks;

use inodes::Inodes;
pub use read::Advice;

/// Largest file, bytes: cache pages are counted in 32 bits.
pub const FILE_SIZE_MAX: u64 = u32::MAX as u64 * CACHE_PAGE_SIZE as u64;

/// An open file, as the caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fd(pub usize);

/// A mounted file system with its page cache and open files.
pub struct Vfs {
    fs: Box<dyn FileSystem>,
    cache: PageCache,
    cpu: Cpu,
    recorder: Recorder,
    profile: ReadAheadProfile,
    /// Read-ahead of the device, for files opened from now on.
    ra_pages: u32,
    /// Whether programs advise random reads on every file that they open.
    advises_random: bool,
    files: Vec<Option<OpenFile>>,
    inodes: Inodes,
}

struct OpenFile {
    ino: Ino,
    read_ahead: ReadAhead,
}

impl Vfs {
    /// Mount `fs`. The clocks of `cpu` and `recorder` are the same.
    pub fn mount(
        fs: Box<dyn FileSystem>,
        profile: ReadAheadProfile,
        cpu: Cpu,
        recorder: Recorder,
    ) -> Self {
        let ra_pages = match fs.cache_policy() {
            CachePolicy::Direct => 0,
            CachePolicy::Cached { ra_pages } => ra_pages,
        };
        Self {
            fs,
            cache: PageCache::default(),
            cpu,
            recorder,
            profile,
            ra_pages,
            advises_random: false,
            files: Vec::new(),
            inodes: Inodes::default(),
        }
    }

    /// The file system mounted.
    pub fn filesystem(&self) -> &dyn FileSystem {
        &*self.fs
    }

    /// The file system mounted, to arrange its next fault.
    pub fn filesystem_mut(&mut self) -> &mut dyn FileSystem {
        &mut *self.fs
    }

    /// The page cache.
    pub const fn cache(&self) -> &PageCache {
        &self.cache
    }

    /// Keep at most `pages` pages in the cache.
    pub fn limit_cache(&mut self, pages: usize) {
        self.cache.limit(pages);
    }

    /// Set the read-ahead of files opened from now on, pages (`read_ahead_kb` of the device).
    ///
    /// # Panics
    ///
    /// If that is more than 4 GiB.
    pub const fn set_read_ahead(&mut self, pages: u32) {
        assert!(pages <= 1 << 20, "a window is far smaller than a file");
        self.ra_pages = pages;
    }

    /// Say whether programs call `posix_fadvise` with `POSIX_FADV_RANDOM` on every file that they
    /// open from now on.
    pub const fn set_random_advice(&mut self, advises: bool) {
        self.advises_random = advises;
    }

    /// Open a file, made first if it is missing and `create`.
    pub fn open(&mut self, path: &str, create: bool) -> Result<Fd, FsError> {
        let fd = self.open_plain(path, create)?;
        if self.advises_random {
            self.advise(fd, Advice::Random)?;
        }
        Ok(fd)
    }

    fn open_plain(&mut self, path: &str, create: bool) -> Result<Fd, FsError> {
        let _scope = self.enter("open");
        let place = self.place(path)?;
        let ino = match self.find(place)? {
            Some(DirEntry { kind: FileKind::Regular, ino, .. }) => ino,
            Some(_) => return Err(FsError::WrongKind),
            None if create => {
                let ino = self.fs.create(place.dir, place.name, FileKind::Regular)?;
                self.load(ino)?;
                ino
            }
            None => return Err(FsError::NotFound),
        };
        self.inodes.open(ino);
        let read_ahead = ReadAhead::new(self.profile, self.ra_pages);
        let free = self.files.iter().position(Option::is_none);
        let fd = free.unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() - 1
        });
        self.files[fd] = Some(OpenFile { ino, read_ahead });
        Ok(Fd(fd))
    }

    /// Close a file. If it has no name left, it ends here.
    ///
    /// # Panics
    ///
    /// If the file was closed before, as every call on an [`Fd`] does.
    pub fn close(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("close");
        let file = self.files[fd.0].take().expect("the file is open");
        let flushed = self.fs.close(file.ino);
        let ended = if self.inodes.close(file.ino) { self.evict(file.ino) } else { Ok(()) };
        flushed.and(ended)
    }

    /// Write all of `bytes` at `offset`.
    pub fn write(&mut self, fd: Fd, offset: u64, bytes: &[u8]) -> Result<(), FsError> {
        let _scope = self.enter("write");
        let ino = self.file(fd).ino;
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= FILE_SIZE_MAX);
        let end = end.ok_or(FsError::TooLong)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_cached() {
            let page_size = CACHE_PAGE_SIZE as u64;
            for _page in offset / page_size..end.div_ceil(page_size) {
                self.cpu.charge(Work::PageLookup);
            }
        }
        self.cpu.charge(Work::Copy(bytes.len()));
        self.fs.write(&mut self.cache, ino, offset, bytes)
    }

    /// Set the size of a file.
    pub fn truncate(&mut self, fd: Fd, size: u64) -> Result<(), FsError> {
        let _scope = self.enter("truncate");
        let ino = self.file(fd).ino;
        if size > FILE_SIZE_MAX {
            return Err(FsError::TooLong);
        }
        self.fs.truncate(&mut self.cache, ino, size)?;
        self.cache.remove_from(ino, page_index(size.next_multiple_of(CACHE_PAGE_SIZE as u64)));
        let (last, kept) = (page_index(size), byte_in_page(size));
        if kept > 0
            && let Some(page) = self.cache.get_mut(ino, last)
        {
            page[kept..].fill(0);
        }
        Ok(())
    }

    /// Give a file its owner anew (`fchown`).
    pub fn set_owner(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("fchown");
        let ino = self.file(fd).ino;
        self.fs.set_owner(&mut self.cache, ino)
    }

    /// Tell the size of a file.
    pub fn size(&mut self, fd: Fd) -> Result<u64, FsError> {
        let _scope = self.enter("stat");
        let ino = self.file(fd).ino;
        self.fs.load(ino)
    }

    /// Make a file durable.
    pub fn fsync(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("fsync");
        let ino = self.file(fd).ino;
        self.fs.fsync(&mut self.cache, ino, false)
    }

    /// Make the data of a file durable, and of its metadata what is needed to read it.
    pub fn fdatasync(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("fdatasync");
        let ino = self.file(fd).ino;
        self.fs.fsync(&mut self.cache, ino, true)
    }

    /// Make everything durable.
    pub fn sync(&mut self) -> Result<(), FsError> {
        let _scope = self.enter("sync");
        self.fs.sync(&mut self.cache)
    }

    /// Drop the clean pages, and the inodes of the files that nobody has open.
    pub fn drop_caches(&mut self) -> Result<(), FsError> {
        let _scope = self.enter("drop_caches");
        self.cache.drop_clean();
        for ino in self.inodes.forget_idle() {
            self.fs.evict(ino)?;
        }
        self.fs.shrink();
        Ok(())
    }

    /// Close what is open, make everything durable and end. No call may follow.
    pub fn unmount(&mut self) -> Result<(), FsError> {
        for place in 0..self.files.len() {
            if self.files[place].is_some() {
                self.close(Fd(place))?;
            }
        }
        let _scope = self.enter("unmount");
        self.fs.unmount(&mut self.cache)
    }

    /// Begin a system call.
    fn enter(&mut self, label: &'static str) -> Scope {
        self.run_due_tasks();
        let scope = self.recorder.scope(label);
        self.cpu.charge(Work::Syscall);
        scope
    }

    fn file(&mut self, fd: Fd) -> &mut OpenFile {
        self.files[fd.0].as_mut().expect("the file is open")
    }

    fn is_cached(&self) -> bool {
        self.fs.cache_policy() != CachePolicy::Direct
    }

    /// Bring a regular file's inode into memory; tell its size.
    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        let size = self.fs.load(ino)?;
        self.inodes.keep(ino);
        if size > FILE_SIZE_MAX { Err(FsError::TooLong) } else { Ok(size) }
    }

    /// Let an inode and its pages go.
    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        self.cache.remove_inode(ino);
        self.fs.evict(ino)
    }
}

/// The page that holds byte `offset`, which is at most [`FILE_SIZE_MAX`].
fn page_index(offset: u64) -> u32 {
    u32::try_from(offset / CACHE_PAGE_SIZE as u64).expect("offsets are checked at the door")
}

/// The place of byte `offset` in its page.
fn byte_in_page(offset: u64) -> usize {
    usize::try_from(offset % CACHE_PAGE_SIZE as u64).expect("below the page size")
}
