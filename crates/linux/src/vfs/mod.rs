//! The VFS: the system calls on one mounted file system, with the page cache in between.
//!
//! Each call first lets the background tasks run that are due. It then opens a scope of its own
//! name and charges its CPU work: the call itself, the pages looked up, the bytes copied to or from
//! the caller. The file system charges its own work.
//!
//! Invariants:
//! 1. Only the file system knows the size of a file.
//! 2. An inode is in memory from its first lookup until the caches are dropped, or until it has
//!    neither a name nor a user. Then it is evicted together with its pages.
//! 3. A read is short only at the end of the file. (If a later page of the same read fails, a
//!    kernel returns the bytes before it; here the whole read returns the error.)
//!
//! A failure of the device or of a path is an `FsError`. To use a closed [`Fd`] is a bug of the
//! caller and panics.

use flysch_chip::{Origin, Recorder, Scope};

use crate::cache::{PageCache, ReadAhead, ReadAheadProfile};
use crate::cpu::{Cpu, Unit};
use crate::filesystem::{
    CACHE_PAGE_SIZE, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino, byte_in_page,
};

mod inodes;
mod names;
mod read;
mod tasks;

use inodes::Inodes;
pub use read::Advice;

/// Size of the largest file, bytes. It follows from page numbers of 32 bits.
pub const FILE_SIZE_MAX: u64 = u32::MAX as u64 * CACHE_PAGE_SIZE as u64;

/// A descriptor: the caller's handle of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fd(pub usize);

/// A mounted file system with its page cache and open files.
pub struct Vfs {
    fs: Box<dyn FileSystem>,
    cache: PageCache,
    cpu: Cpu,
    recorder: Recorder,
    profile: ReadAheadProfile,
    /// Largest read-ahead window of the files opened from here on, cache pages.
    ra_pages: u32,
    /// Whether programs ask for random reads (`POSIX_FADV_RANDOM`) on every file they open.
    advises_random: bool,
    files: Vec<Option<OpenFile>>,
    inodes: Inodes,
}

#[derive(Clone)]
struct OpenFile {
    ino: Ino,
    read_ahead: ReadAhead,
}

impl Vfs {
    /// Mount `fs`. `cpu` and `recorder` must have the same clock.
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

    /// The mounted file system in the state it has now, on the same device. `None` if the file
    /// system cannot be copied.
    pub fn copy(&self) -> Option<Self> {
        Some(Self {
            fs: self.fs.copy()?,
            cache: self.cache.clone(),
            cpu: self.cpu.clone(),
            recorder: self.recorder.clone(),
            profile: self.profile,
            ra_pages: self.ra_pages,
            advises_random: self.advises_random,
            files: self.files.clone(),
            inodes: self.inodes.clone(),
        })
    }

    pub fn filesystem(&self) -> &dyn FileSystem {
        &*self.fs
    }

    /// The file system, to arrange for its next operation to fail in a test.
    pub fn filesystem_mut(&mut self) -> &mut dyn FileSystem {
        &mut *self.fs
    }

    pub const fn cache(&self) -> &PageCache {
        &self.cache
    }

    pub fn limit_cache(&mut self, pages: usize) {
        self.cache.limit(pages);
    }

    /// Set the largest read-ahead window of the files opened from here on, pages. On Linux this is
    /// `read_ahead_kb` of the device.
    ///
    /// # Panics
    /// If the window is larger than 4 GiB.
    pub const fn set_read_ahead(&mut self, pages: u32) {
        assert!(pages <= 1 << 20, "a window is far smaller than a file");
        self.ra_pages = pages;
    }

    /// Set whether programs call `posix_fadvise` with `POSIX_FADV_RANDOM` on every file that they
    /// open from now on.
    pub const fn set_random_advice(&mut self, advises: bool) {
        self.advises_random = advises;
    }

    /// Open a file. If it does not exist, it is created where `create` is set.
    pub fn open(&mut self, path: &str, create: bool) -> Result<Fd, FsError> {
        let fd = self.open_plain(path, create)?;
        if self.advises_random {
            self.advise(fd, Advice::Random)?;
        }
        Ok(fd)
    }

    fn open_plain(&mut self, path: &str, create: bool) -> Result<Fd, FsError> {
        let _scope = self.enter("open");
        self.cpu.charge(Unit::Path, 1);
        self.cpu.charge(Unit::Open, 1);
        let place = self.place(path)?;
        let ino = match self.find(place)? {
            Some(DirEntry { kind: FileKind::Regular, ino, .. }) => ino,
            Some(_) => return Err(FsError::WrongKind),
            None if create => {
                let ino = self.create(place, FileKind::Regular)?;
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

    /// Close a file. If the file has no name left, its content is freed here.
    ///
    /// # Panics
    /// If the descriptor is closed already. Every call with an [`Fd`] panics in that case.
    pub fn close(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("close");
        let file = self.files[fd.0].take().expect("the file is open");
        let flushed = self.fs.close(file.ino);
        let ended = if self.inodes.close(file.ino) { self.evict(file.ino) } else { Ok(()) };
        flushed.and(ended)
    }

    pub fn write(&mut self, fd: Fd, offset: u64, bytes: &[u8]) -> Result<(), FsError> {
        let _scope = self.enter("write");
        self.cpu.charge(Unit::Write, 1);
        let ino = self.file(fd).ino;
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= FILE_SIZE_MAX);
        let end = end.ok_or(FsError::TooLong)?;
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_cached() {
            let page_size = CACHE_PAGE_SIZE as u64;
            self.cpu.charge(Unit::Page, end.div_ceil(page_size) - offset / page_size);
        }
        self.cpu.copy(bytes.len());
        self.fs.write(&mut self.cache, ino, offset, bytes)
    }

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

    /// Note the origin of a part of a file, so that its bytes can be followed to the flash. This
    /// must happen before they are written.
    pub fn note_origin(&mut self, fd: Fd, offset: u64, len: u64, origin: Origin) {
        let Ino(ino) = self.file(fd).ino;
        self.recorder.own(self.fs.name(), ino, (offset, len), origin);
    }

    /// Set the owner of a file, as `fchown` does. SQLite does so where it runs as root.
    pub fn set_owner(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("fchown");
        let ino = self.file(fd).ino;
        self.fs.set_owner(&mut self.cache, ino)
    }

    pub fn size(&mut self, fd: Fd) -> Result<u64, FsError> {
        let _scope = self.enter("stat");
        let ino = self.file(fd).ino;
        self.fs.load(ino)
    }

    /// The offset at which the data of a file ends and only a hole follows (`lseek` with
    /// `SEEK_HOLE`), at most its size.
    pub fn data_end(&mut self, fd: Fd) -> Result<u64, FsError> {
        let size = self.size(fd)?;
        let ino = self.file(fd).ino;
        Ok(self.fs.data_end(ino)?.map_or(size, |end| end.min(size)))
    }

    pub fn fsync(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("fsync");
        self.cpu.charge(Unit::Fsync, 1);
        let ino = self.file(fd).ino;
        self.fs.fsync(&mut self.cache, ino, false)
    }

    /// Make a file's data durable, and the metadata that is needed to read it.
    pub fn fdatasync(&mut self, fd: Fd) -> Result<(), FsError> {
        let _scope = self.enter("fdatasync");
        self.cpu.charge(Unit::Fsync, 1);
        let ino = self.file(fd).ino;
        self.fs.fsync(&mut self.cache, ino, true)
    }

    /// Make all changes of all files durable.
    pub fn sync(&mut self) -> Result<(), FsError> {
        let _scope = self.enter("sync");
        self.fs.sync(&mut self.cache)
    }

    /// Drop the clean pages, and the inodes of files that nobody has open.
    pub fn drop_caches(&mut self) -> Result<(), FsError> {
        let _scope = self.enter("drop_caches");
        self.cache.drop_clean();
        for ino in self.inodes.forget_idle() {
            self.fs.evict(ino)?;
        }
        self.fs.shrink();
        Ok(())
    }

    /// Charge for work that the program makes, or asks the kernel for beside the files.
    pub fn charge(&self, unit: Unit, number: u64) {
        self.cpu.charge(unit, number);
    }

    /// Close all open files, make everything durable and unmount. No call may follow.
    pub fn unmount(&mut self) -> Result<(), FsError> {
        for place in 0..self.files.len() {
            if self.files[place].is_some() {
                self.close(Fd(place))?;
            }
        }
        let _scope = self.enter("unmount");
        self.fs.unmount(&mut self.cache)
    }

    /// Do what every system call does first.
    fn enter(&mut self, label: &'static str) -> Scope {
        self.run_due_tasks();
        let scope = self.recorder.scope(label);
        self.cpu.charge(Unit::Syscall, 1);
        scope
    }

    fn file(&mut self, fd: Fd) -> &mut OpenFile {
        self.files[fd.0].as_mut().expect("the file is open")
    }

    fn is_cached(&self) -> bool {
        self.fs.cache_policy() != CachePolicy::Direct
    }

    /// Bring a regular file's inode into memory. Returns the file's size.
    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        let size = self.fs.load(ino)?;
        self.inodes.keep(ino);
        if size > FILE_SIZE_MAX { Err(FsError::TooLong) } else { Ok(size) }
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        self.cache.remove_inode(ino);
        self.fs.evict(ino)
    }
}

/// The page that holds byte `offset`. The offset is at most [`FILE_SIZE_MAX`].
fn page_index(offset: u64) -> u32 {
    u32::try_from(offset / CACHE_PAGE_SIZE as u64).expect("offsets are checked at the door")
}
