//! A plain file system on a block device. It stands for what Linux would use on an SD card.
//!
//! ```text
//! mod.rs                  what the VFS asks for
//! names.rs file.rs        directories; the content of files and how it is written
//! pointers.rs space.rs    which block holds which page of a file; which blocks are free
//! journal.rs buffers.rs   metadata blocks in memory, and how they reach the device
//! mount.rs                format and mount
//! layout.rs inode.rs      the bytes on the device
//! ```
//!
//! It resembles ext3 in its default mode, data=ordered, but it is not ext3. Like ext3 it has blocks
//! of 4 KiB, ext2's twelve direct, one indirect and one double-indirect pointer, and a block
//! bitmap. Whole metadata blocks are written to a journal. A commit comes every five seconds and
//! with each fsync, and writes the data of files first.
//!
//! Not modelled are block groups, delayed allocation, access times, and the I/O scheduler. A
//! checkpoint comes when the journal is half full, and not when metadata has become old.
//!
//! Invariants:
//! 1. Metadata is written to its place only after its transaction is in the journal. For a mount,
//!    all changes of a transaction happen at once.
//! 2. Data is on the device before the transaction that first points to it.
//! 3. A freed block is not used again before the transaction that frees it is committed. If it held
//!    metadata, it is not used again as long as the journal holds an image of it.

mod buffers;
mod file;
mod inode;
mod journal;
mod layout;
mod mount;
mod names;
mod pointers;
mod space;

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::Recorder;

use crate::block_device::BlockError;
use crate::cache::PageCache;
use crate::cpu::Cpu;
use crate::filesystem::{
    CACHE_PAGE_SIZE, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino, PageBytes,
};

use buffers::Buffers;
use journal::Journal;
use layout::Layout;
pub use mount::PlainfsError;

const ROOT: u32 = 1;
/// Largest read-ahead window of a block device, cache pages (128 KiB).
const RA_PAGES: u32 = 32;
/// Time from the first change until it is committed, nanoseconds (jbd's commit interval).
const COMMIT_INTERVAL_NS: u64 = 5_000_000_000;
/// Number of dirty data pages at which everything is written (4 MiB; it stands for the dirty
/// ratio).
const DIRTY_PAGES_MAX: usize = 1024;

const PAGE_SIZE: u32 = 4096;
const _: () = assert!(PAGE_SIZE as usize == CACHE_PAGE_SIZE);

type Page = PageBytes;

pub struct Plainfs {
    layout: Layout,
    buffers: Buffers,
    journal: Journal,
    /// Number of free blocks that may be used at once.
    free_count: u32,
    /// Block at which the search for a free block begins.
    hint: u32,
    /// Blocks freed by the running transaction.
    freed: BTreeSet<u32>,
    /// Blocks that held metadata and were freed since the journal was last emptied.
    revoked: BTreeSet<u32>,
    /// Pages of files that are not on the device yet.
    dirty: BTreeMap<(u32, u32), Box<Page>>,
    resized: BTreeSet<u32>,
    commit_due_ns: Option<u64>,
    cpu: Cpu,
    recorder: Recorder,
}

impl From<BlockError> for FsError {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::Damaged { .. } | BlockError::WornOut => Self::Io,
            BlockError::PowerLost => Self::PowerLost,
        }
    }
}

impl Plainfs {
    fn now_s(&self) -> u32 {
        u32::try_from(self.cpu.clock().now_ns() / 1_000_000_000).unwrap_or(u32::MAX)
    }

    /// Begin a change that takes at most `blocks` new blocks. If there are too few, a commit frees
    /// those that may be freed.
    fn begin(&mut self, blocks: u32) -> Result<(), FsError> {
        let is_long = self.buffers.dirty.len() >= self.journal.transaction_max();
        if is_long || self.dirty.len() >= DIRTY_PAGES_MAX {
            self.commit()?;
        }
        let reclaimable = !self.freed.is_empty() || !self.revoked.is_empty();
        if self.free_count < blocks && reclaimable {
            self.commit()?;
            self.checkpoint()?;
        }
        if self.free_count < blocks {
            return Err(FsError::NoSpace);
        }
        let due_ns = self.cpu.clock().now_ns() + COMMIT_INTERVAL_NS;
        self.commit_due_ns.get_or_insert(due_ns);
        Ok(())
    }
}

impl FileSystem for Plainfs {
    fn name(&self) -> &'static str {
        "plainfs"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Cached { ra_pages: RA_PAGES }
    }

    fn maps_shared(&self) -> bool {
        true
    }

    fn root(&self) -> Ino {
        Ino(ROOT)
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let _scope = self.recorder.scope("plainfs_lookup");
        let found = self.find_name(parent.0, name)?;
        Ok(found.map(|(_, entry)| entry))
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        let _scope = self.recorder.scope("plainfs_entries");
        let entries = self.list_names(dir.0)?;
        Ok(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError> {
        let _scope = self.recorder.scope("plainfs_create");
        self.create_inode(parent.0, name, kind).map(Ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("plainfs_unlink");
        self.remove_name(parent.0, name)
    }

    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("plainfs_rename");
        self.move_name((from.0, name), (to.0, new_name))
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        let _scope = self.recorder.scope("plainfs_load");
        Ok(self.inode(ino.0)?.size)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("plainfs_evict");
        if !self.inode(ino.0)?.is_named {
            return self.free_inode(ino.0);
        }
        self.buffers.drop_clean();
        Ok(())
    }

    fn read_page(&mut self, ino: Ino, index: u32, page: &mut Page) -> Result<(), FsError> {
        let _scope = self.recorder.scope("plainfs_read_page");
        self.read_file_page(ino.0, index, page)
    }

    fn write(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("plainfs_write");
        self.write_file(cache, ino.0, offset, bytes)
    }

    fn truncate(&mut self, _: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        let _scope = self.recorder.scope("plainfs_truncate");
        self.resize_file(ino.0, size)
    }

    fn fsync(&mut self, _: &mut PageCache, ino: Ino, data_only: bool) -> Result<(), FsError> {
        let skips = data_only && !self.resized.contains(&ino.0);
        if skips || self.buffers.dirty.is_empty() {
            self.write_back_files(Some(ino.0))?;
            return Ok(self.buffers.flush()?);
        }
        self.commit()
    }

    fn write_back(&mut self, _: &mut PageCache, ino: Ino) -> Result<(), FsError> {
        self.write_back_files(Some(ino.0))
    }

    fn sync(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        self.commit()
    }

    fn free_bytes(&self) -> Option<u64> {
        let waiting = self.freed.len() + self.revoked.len();
        Some((u64::from(self.free_count) + waiting as u64) * CACHE_PAGE_SIZE as u64)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        self.commit_due_ns
    }

    fn run_background(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        let _task = self.recorder.task("kjournald");
        self.commit_due_ns = None;
        self.commit()
    }

    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        Some(Box::new(Self {
            layout: self.layout,
            buffers: self.buffers.copy()?,
            journal: self.journal.clone(),
            free_count: self.free_count,
            hint: self.hint,
            freed: self.freed.clone(),
            revoked: self.revoked.clone(),
            dirty: self.dirty.clone(),
            resized: self.resized.clone(),
            commit_due_ns: self.commit_due_ns,
            cpu: self.cpu.clone(),
            recorder: self.recorder.clone(),
        }))
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        self.commit()?;
        self.checkpoint()
    }
}
