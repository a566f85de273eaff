//! The interface between the VFS and a file system, and the error that both use.

use std::fmt;

use crate::cache::PageCache;
use crate::mtd::MtdError;

pub use crate::cache::{CACHE_PAGE_SIZE, Ino, PageBytes};
pub(crate) use crate::cache::{PAGE_SIZE, byte_in_page, page_parts};

/// The kind of file that a directory entry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Regular,
    Directory,
    /// Links, devices and anything else that an image may hold. They are listed but not followed.
    Special,
}

/// The metadata of an inode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Type and permissions (`st_mode`).
    pub mode: u32,
    /// Number of the user who owns the file.
    pub uid: u32,
    /// Number of the group that owns it.
    pub gid: u32,
    /// The path that a symbolic link holds. `None` for all other files.
    pub target: Option<Vec<u8>>,
}

/// Type bits of a mode (`S_IFMT`).
pub const MODE_TYPE: u32 = 0o170_000;
/// The permissions in a mode, with the set-user-ID, set-group-ID and sticky bits.
pub const MODE_PERMISSIONS: u32 = 0o7777;
/// Type of a symbolic link (`S_IFLNK`).
pub const MODE_LINK: u32 = 0o120_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    pub name: Vec<u8>,
    pub ino: Ino,
    pub kind: FileKind,
}

/// Whether reads and writes go through the page cache, and how far a read may fetch ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// There is no page cache: data moves straight between the caller and the file system.
    Direct,
    /// Data goes through the page cache.
    Cached {
        /// Largest read-ahead window, pages (`ra_pages`). 0 switches read-ahead off.
        ra_pages: u32,
    },
}

/// Why a file-system call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsError {
    /// No file has this name (`ENOENT`).
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
    /// The medium lost data of this file (`EIO`).
    Damaged {
        ino: Ino,
        /// Offset in the file, bytes; 0 where it is not known.
        offset: u64,
    },
    /// The device failed and no retry helped (`EIO`).
    Io,
    PowerLost,
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

/// The error of a call for which a retry does not help.
impl From<MtdError> for FsError {
    fn from(error: MtdError) -> Self {
        match error {
            MtdError::PowerLost => Self::PowerLost,
            MtdError::ProgramFailed(_) | MtdError::EraseFailed(_) => Self::Io,
        }
    }
}

/// A mounted file system. It stands below the VFS and above its device.
///
/// The VFS owns the page cache and lends it to calls that may fill, change or read it.
pub trait FileSystem {
    /// Name of the file-system type, as in `/proc/mounts`.
    fn name(&self) -> &'static str;

    fn cache_policy(&self) -> CachePolicy;

    /// Whether a file can be mapped shared and writable. A database's write-ahead log needs that.
    fn maps_shared(&self) -> bool;

    fn root(&self) -> Ino;

    /// Length of the longest name, bytes (`f_namelen` of `statfs`).
    fn name_size_max(&self) -> usize {
        255
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError>;

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError>;

    /// Create an empty file or directory. The caller has looked the name up and found that it is
    /// free, and that it is not too long.
    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError>;

    /// Remove a name. If it was the file's last name, the content lives until
    /// [`FileSystem::evict`].
    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError>;

    /// Rename the entry `name` of directory `from` to `new_name` in directory `to`, and replace
    /// what had that name. The caller has found that the new name is not too long, and that it is
    /// not a name of the same file.
    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError>;

    /// Bring an inode into memory if it is not there (`iget`). Returns the file's size.
    fn load(&mut self, ino: Ino) -> Result<u64, FsError>;

    /// The offset at which the data of a file ends on the medium. From there to the file's size is
    /// a hole. `None` if this is not known without reading.
    fn data_end(&mut self, _ino: Ino) -> Result<Option<u64>, FsError> {
        Ok(None)
    }

    /// The metadata of an inode. `None` if the file system does not store any.
    fn attributes(&mut self, _ino: Ino) -> Result<Option<Attributes>, FsError> {
        Ok(None)
    }

    /// Let an inode leave memory, because its last user closed it or the caches are dropped. The
    /// content of a file without a name is freed here.
    fn evict(&mut self, ino: Ino) -> Result<(), FsError>;

    /// Read one page of a file from the medium. Bytes past the end of the file must be zero.
    fn read_page(&mut self, ino: Ino, index: u32, page: &mut PageBytes) -> Result<(), FsError> {
        let len = self.read_direct(ino, u64::from(index) * CACHE_PAGE_SIZE as u64, page)?;
        page[len..].fill(0);
        Ok(())
    }

    /// Put a missing page into the cache together with pages behind it, if one flash read brings
    /// them all (bulk-read of UBIFS). Returns whether it did so; if not, the VFS reads the page
    /// alone.
    fn read_run(&mut self, _: &mut PageCache, _: Ino, _index: u32) -> Result<bool, FsError> {
        Ok(false)
    }

    /// Read without a page cache. Returns how many bytes there were. Only a file system whose
    /// policy is [`CachePolicy::Direct`] is asked.
    fn read_direct(&mut self, _: Ino, _: u64, _: &mut [u8]) -> Result<usize, FsError> {
        unreachable!("{} reads through the page cache", self.name())
    }

    /// Write `bytes` at `offset`, extending the file where needed.
    fn write(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError>;

    fn truncate(&mut self, cache: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError>;

    /// Write the owner of a file to its inode (`setattr`). The model has no owners, only the cost.
    fn set_owner(&mut self, _cache: &mut PageCache, _ino: Ino) -> Result<(), FsError> {
        Ok(())
    }

    /// Set the permissions of a file or a directory (`chmod`), which is in memory. A file system
    /// that stores none leaves them out.
    fn set_permissions(
        &mut self,
        _cache: &mut PageCache,
        _ino: Ino,
        _permissions: u32,
    ) -> Result<(), FsError> {
        Ok(())
    }

    /// Make a file or directory durable. `data_only` stands for `fdatasync`.
    fn fsync(&mut self, cache: &mut PageCache, ino: Ino, data_only: bool) -> Result<(), FsError>;

    /// Write the dirty pages of a file, as far as the medium takes whole pages, and without making
    /// them durable (`writepages`). File systems without dirty pages have nothing to do.
    fn write_back(&mut self, _cache: &mut PageCache, _ino: Ino) -> Result<(), FsError> {
        Ok(())
    }

    /// Note that a descriptor of the file was closed (`flush`).
    fn close(&mut self, _ino: Ino) -> Result<(), FsError> {
        Ok(())
    }

    fn sync(&mut self, cache: &mut PageCache) -> Result<(), FsError>;

    /// Drop what is in memory and can be read again, such as the slab caches that `drop_caches`
    /// empties.
    fn shrink(&mut self) {}

    /// Free bytes, including those of obsolete data, which must be collected before they can be
    /// written again. `None` if the file system does not count them.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// When the next background task is due, on the virtual clock, nanoseconds.
    fn next_wakeup_ns(&self) -> Option<u64> {
        None
    }

    /// Let each background task that is due run once.
    fn run_background(&mut self, _cache: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }

    /// The file system in the state it has now, on the same device. `None` if it cannot be copied.
    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        None
    }

    /// Make everything durable and unmount. No call may follow.
    fn unmount(&mut self, cache: &mut PageCache) -> Result<(), FsError>;
}
