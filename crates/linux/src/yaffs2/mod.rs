//! YAFFS2: a log of chunks, one to a page, each with tags in its OOB area.
//!
//! ```text
//! file.rs truncate.rs directory.rs headers.rs   what the VFS asks for
//! short_ops.rs                      the cache for writes of less than a chunk
//! collect.rs background.rs          garbage collection and who calls it
//! chunks.rs blocks.rs objects.rs    where chunks go, what every block and object is
//! prepare.rs                        format
//! checkpoint.rs snapshot.rs         one way to mount
//! scan.rs rebuild.rs                the other
//! format/                           bytes
//! ```
//!
//! Behaviour follows the code of 2009 or of today ([`Profile`]), as described in the project's notes
//! on the Linux stack. It is safer than they are in three places, none of which a run without a power
//! cut meets: a scan reads the last chunk of each block that did not end with a summary and does
//! not believe its tags if the data are damaged; a block with blank chunks below used ones is
//! taken as half erased; and a block that a scan finds blank is erased again before use, unless
//! all blocks are.
//!
//! Invariants:
//! 1. Of the chunks that claim the same place the newest is right: by its block's sequence number,
//!    then by its page.
//! 2. A chunk becomes obsolete only after the one that supersedes it is on flash.
//! 3. A block with a header that made older chunks obsolete is erased only after all of them.
//! 4. While a checkpoint is on flash, nothing else is programmed or erased.

mod background;
mod blocks;
mod checkpoint;
mod chunks;
mod collect;
mod directory;
mod file;
mod format;
mod headers;
mod objects;
mod options;
mod prepare;
mod rebuild;
mod scan;
mod short_ops;
mod snapshot;
mod truncate;

use flysch_chip::Recorder;

use crate::cache::PageCache;
use crate::cpu::Cpu;
use crate::filesystem::{
    CACHE_PAGE_SIZE, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino,
};
use crate::mtd::Partition;

use blocks::Blocks;
use format::Tags;
use objects::Objects;
use short_ops::ShortOps;

pub use options::{MountError, Options, Profile};

/// A mounted YAFFS2.
pub struct Yaffs2 {
    mtd: Partition,
    options: Options,
    cpu: Cpu,
    recorder: Recorder,
    blocks: Blocks,
    objects: Objects,
    short_ops: ShortOps,
    collector: collect::Collector,
    checkpoint: checkpoint::Checkpoint,
    /// The tags of the chunks of the block being filled.
    summary: Vec<Tags>,
    /// Whether the mount found every chunk blank.
    was_all_blank: bool,
    /// When the thread wakes, nanoseconds.
    thread_due_ns: u64,
}

impl Yaffs2 {
    /// The partition below, for those who mount it again.
    pub const fn partition(&self) -> &Partition {
        &self.mtd
    }

    fn now_s(&self) -> u32 {
        u32::try_from(self.recorder.clock().now_ns() / 1_000_000_000).unwrap_or(u32::MAX)
    }

    /// Write everything, then a checkpoint if `may_checkpoint`.
    fn flush_all(&mut self, may_checkpoint: bool) -> Result<(), FsError> {
        let dirty = self.objects.all.iter().filter(|(_, object)| object.is_dirty);
        let dirty: Vec<u32> = dirty.map(|(&id, _)| id).collect();
        dirty.into_iter().try_for_each(|id| self.flush_object(id, false))?;
        self.flush_cached(None)?;
        if may_checkpoint { self.write_checkpoint() } else { Ok(()) }
    }
}

impl FileSystem for Yaffs2 {
    fn name(&self) -> &'static str {
        "yaffs2"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Cached { ra_pages: self.options.ra_pages }
    }

    fn maps_shared(&self) -> bool {
        true
    }

    fn root(&self) -> Ino {
        Ino(objects::ROOT)
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let _scope = self.recorder.scope("yaffs_lookup");
        self.find_entry(parent.0, name)
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        let _scope = self.recorder.scope("yaffs_lookup");
        self.list_entries(dir.0)
    }

    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError> {
        let _scope = self.recorder.scope("yaffs_create");
        self.create_entry(parent.0, name, kind).map(Ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_unlink");
        self.remove_entry(parent.0, name)
    }

    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_rename");
        self.move_entry(from.0, name, to.0, new_name)
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        let object = self.objects.get(ino.0).ok_or(FsError::NotFound)?;
        Ok(object.size)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_evict");
        self.end_object(ino.0)
    }

    fn read_page(
        &mut self,
        ino: Ino,
        index: u32,
        page: &mut [u8; CACHE_PAGE_SIZE],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_read_page");
        self.read_file_page(ino.0, index, page)
    }

    fn read_direct(&mut self, _: Ino, _: u64, _: &mut [u8]) -> Result<usize, FsError> {
        unreachable!("YAFFS2 reads through the page cache")
    }

    fn write(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_write");
        self.write_file(cache, ino.0, offset, bytes)
    }

    fn truncate(&mut self, _: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_truncate");
        self.truncate_file(ino.0, size)
    }

    fn set_owner(&mut self, _: &mut PageCache, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_setattr");
        // A file made and given its owner costs two headers in the reference. Which two it does not
        // tell; here they are its own and its directory's, written as it was made.
        if self.objects.object(ino.0).stored_size == 0 {
            return Ok(());
        }
        self.write_header(ino.0, headers::Change::default())
    }

    fn fsync(&mut self, _: &mut PageCache, ino: Ino, data_only: bool) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_flush");
        // The code of 2009 knows no cheaper fdatasync.
        self.flush_object(ino.0, data_only && self.options.profile == Profile::Today)
    }

    fn close(&mut self, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_flush");
        self.flush_object(ino.0, false)
    }

    fn sync(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_sync");
        let is_calm = self.urgency() == 0;
        self.flush_all(is_calm)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        self.options.profile.has_thread().then_some(self.thread_due_ns)
    }

    fn run_background(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        self.run_thread()
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_sync");
        self.flush_all(true)
    }
}
