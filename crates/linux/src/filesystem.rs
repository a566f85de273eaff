//! What the VFS asks of a file system, and what a file system may ask of the page cache.

use std::fmt;

use crate::cache::PageCache;
use crate::mtd::MtdError;

pub(crate) use crate::cache::PAGE_SIZE;
pub use crate::cache::{CACHE_PAGE_SIZE, Ino};

/// What a directory entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// Anything else an image may hold (links, devices): listed, not followed.
    Special,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Name, as stored.
    pub name: Vec<u8>,
    /// What it names.
    pub ino: Ino,
    /// Its kind.
    pub kind: FileKind,
}

/// Whether reads and writes go through the page cache, and how it reads ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// No page cache: data moves between the caller and the file system.
    Direct,
    /// Through the page cache, reading ahead at most this many pages (`ra_pages`; 0 = never).
    Cached {
        /// Largest read-ahead window, cache pages.
        ra_pages: u32,
    },
}

/// Why a file-system call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsError {
    /// No such name (`ENOENT`).
    NotFound,
    /// The name is taken (`EEXIST`).
    Exists,
    /// The name or file is longer than the format allows (`ENAMETOOLONG`, `EFBIG`).
    TooLong,
    /// A directory where a file is needed, or the other way round (`EISDIR`, `ENOTDIR`).
    WrongKind,
    /// The directory holds entries (`ENOTEMPTY`).
    NotEmpty,
    /// No space left (`ENOSPC`).
    NoSpace,
    /// Data lost to the medium: the inode, and the file offset where it is known (`EIO`).
    Damaged {
        /// The file.
        ino: Ino,
        /// Where in it.
        offset: u64,
    },
    /// The device failed and no retry helped (`EIO`).
    Io,
    /// The supply failed.
    PowerLost,
}

/// Refuse a name longer than a format has room for.
pub(crate) const fn check_name(name: &[u8], size_max: usize) -> Result<(), FsError> {
    if name.len() > size_max { Err(FsError::TooLong) } else { Ok(()) }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("no such file or directory"),
            Self::Exists => f.write_str("file exists"),
            Self::TooLong => f.write_str("name or file too long"),
            Self::WrongKind => f.write_str("is a directory, or is not one"),
            Self::NotEmpty => f.write_str("directory not empty"),
            Self::NoSpace => f.write_str("no space left on device"),
            Self::Damaged { ino, offset } => {
                write!(f, "data of inode {} at offset {offset} is damaged", ino.0)
            }
            Self::Io => f.write_str("input/output error"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for FsError {}

/// What is left of an error of MTD where no retry helps.
impl From<MtdError> for FsError {
    fn from(error: MtdError) -> Self {
        match error {
            MtdError::PowerLost => Self::PowerLost,
            MtdError::ProgramFailed(_) | MtdError::EraseFailed(_) => Self::Io,
        }
    }
}

/// A mounted file system, below the VFS and above its device.
///
/// The VFS owns the page cache and lends it to calls that may fill, change or read it.
pub trait FileSystem {
    /// Name of the type, as in `/proc/mounts`.
    fn name(&self) -> &'static str;

    /// How the VFS must read and write.
    fn cache_policy(&self) -> CachePolicy;

    /// Whether files can be mapped shared and writable: write-ahead logs of databases need it.
    fn maps_shared(&self) -> bool;

    /// The root directory.
    fn root(&self) -> Ino;

    /// Find `name` in `parent`.
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError>;

    /// List a directory.
    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError>;

    /// Make a file or directory.
    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError>;

    /// Remove a name. The file lives on until [`FileSystem::evict`] if its last name went.
    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError>;

    /// Give the entry `name` of `from` the name `new_name` in `to`, replacing what was there.
    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError>;

    /// Bring an inode into memory if it is not (`iget`); tell the file's size.
    fn load(&mut self, ino: Ino) -> Result<u64, FsError>;

    /// Let an inode leave memory: its last user closed it, or caches are dropped. A file without
    /// a name ends here.
    fn evict(&mut self, ino: Ino) -> Result<(), FsError>;

    /// Fill one page of the cache from the medium; bytes past the end of the file are zero.
    fn read_page(
        &mut self,
        ino: Ino,
        index: u32,
        page: &mut [u8; CACHE_PAGE_SIZE],
    ) -> Result<(), FsError>;

    /// Put a missing page into the cache with others behind it, where one read brings them all;
    /// tell whether that was done. Where not, the page is read alone.
    fn read_run(&mut self, _: &mut PageCache, _: Ino, _index: u32) -> Result<bool, FsError> {
        Ok(false)
    }

    /// Read without a page cache ([`CachePolicy::Direct`]): tell how many bytes there were.
    fn read_direct(&mut self, ino: Ino, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError>;

    /// Write `bytes` at `offset`, extending the file where needed.
    fn write(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError>;

    /// Set the file's size.
    fn truncate(&mut self, cache: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError>;

    /// Write down who owns a file (`setattr`): what that costs, whoever it is.
    fn set_owner(&mut self, _cache: &mut PageCache, _ino: Ino) -> Result<(), FsError> {
        Ok(())
    }

    /// Make a file (or directory) durable; `data_only` is `fdatasync`.
    fn fsync(&mut self, cache: &mut PageCache, ino: Ino, data_only: bool) -> Result<(), FsError>;

    /// Note that a descriptor of a file was closed (`flush`).
    fn close(&mut self, _ino: Ino) -> Result<(), FsError> {
        Ok(())
    }

    /// Make everything durable.
    fn sync(&mut self, cache: &mut PageCache) -> Result<(), FsError>;

    /// Drop what is in memory and can be read again (the slab caches of `drop_caches`).
    fn shrink(&mut self) {}

    /// When the next background task is due, nanoseconds on the virtual clock.
    fn next_wakeup_ns(&self) -> Option<u64>;

    /// Let the background tasks that are due run, each once.
    fn run_background(&mut self, cache: &mut PageCache) -> Result<(), FsError>;

    /// Make everything durable and end.
    fn unmount(&mut self, cache: &mut PageCache) -> Result<(), FsError>;
}
