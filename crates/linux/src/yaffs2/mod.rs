//! YAFFS2: the file system is a log of chunks. A chunk takes one page and has tags in the OOB area.
//!
//! ```text
//! file.rs truncate.rs directory.rs headers.rs   what the VFS asks for
//! short_ops.rs                      the cache for writes of less than a chunk
//! collect.rs background.rs          garbage collection and who calls it
//! chunks.rs blocks.rs objects.rs    where chunks go; states of blocks and objects
//! prepare.rs                        format
//! checkpoint.rs snapshot.rs         mounting by a checkpoint
//! scan.rs rebuild.rs                mounting by a scan of all tags
//! format/                           the bytes on flash
//! ```
//!
//! The model follows the code of 2009 or of today ([`Profile`]) and is written from the project's
//! notes on the Linux stack. It is safer than that code in three places. None of them matters in a
//! run without a power cut:
//!
//! * A scan reads the last chunk of each block that does not end with a summary. If its data is
//!   damaged, its tags are not used.
//! * A block with a blank chunk before a used one is taken as half erased.
//! * A block that a scan finds blank is erased again before use, unless all blocks are blank.
//!
//! Invariants:
//! 1. If several chunks claim the same place in an object, the newest is valid: the one in the
//!    block with the highest sequence number, then the one with the highest page.
//! 2. A chunk becomes obsolete only after the one that supersedes it is on flash.
//! 3. A block with a header that made older chunks obsolete is erased only after all of these.
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
    Attributes, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino, MODE_TYPE, PageBytes,
};
use crate::mtd::Partition;

use blocks::Blocks;
use format::Tags;
use objects::Objects;
use short_ops::ShortOps;

pub use format::{has_tags, is_header};
pub use options::{MountError, Options, Profile};

#[derive(Clone)]
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
    /// The tags of the chunks in the block being filled, for its summary.
    summary: Vec<Tags>,
    /// Whether the mount found all chunks blank.
    was_all_blank: bool,
    /// When the background thread runs next, nanoseconds.
    thread_due_ns: u64,
}

impl Yaffs2 {
    /// The partition below, for a caller that mounts it again.
    pub const fn partition(&self) -> &Partition {
        &self.mtd
    }

    fn now_s(&self) -> u32 {
        u32::try_from(self.recorder.clock().now_ns() / 1_000_000_000).unwrap_or(u32::MAX)
    }

    /// Write everything that is dirty, and then a checkpoint if `may_checkpoint`.
    fn flush_all(&mut self, may_checkpoint: bool) -> Result<(), FsError> {
        let dirty = self.objects.all.iter().filter(|(_, object)| object.is_dirty);
        let dirty: Vec<u32> = dirty.map(|(&id, _)| id).collect();
        dirty.into_iter().try_for_each(|id| self.flush_object(id, false))?;
        self.flush_cached(None)?;
        if may_checkpoint { self.write_checkpoint() } else { Ok(()) }
    }
}

impl Yaffs2 {
    /// Bytes of the summaries of blocks. They count as used as long as their block is not emptied.
    pub fn summary_bytes(&self) -> u64 {
        (self.blocks.summary_count() * self.chunk_size()) as u64
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

    fn attributes(&mut self, ino: Ino) -> Result<Option<Attributes>, FsError> {
        self.read_attributes(ino.0)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_evict");
        self.end_object(ino.0)
    }

    fn read_page(&mut self, ino: Ino, index: u32, page: &mut PageBytes) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_read_page");
        self.read_file_page(ino.0, index, page)
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
        // In the reference, creating a file and setting its owner writes two headers. It does not
        // show which two. The model writes the file's own and its directory's, both at creation.
        if self.objects.object(ino.0).stored_size == 0 {
            return Ok(());
        }
        self.write_header(ino.0, headers::Change::default())
    }

    fn set_permissions(
        &mut self,
        _: &mut PageCache,
        ino: Ino,
        permissions: u32,
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_setattr");
        let object = self.objects.object_mut(ino.0);
        object.mode = object.mode & MODE_TYPE | permissions;
        self.write_header(ino.0, headers::Change::default())
    }

    fn fsync(&mut self, _: &mut PageCache, ino: Ino, data_only: bool) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_flush");
        // The code of 2009 has no cheaper fdatasync.
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

    fn free_bytes(&self) -> Option<u64> {
        let kept = u32::try_from(self.checkpoint.blocks.len()).expect("blocks of the partition");
        let chunks = self.blocks.free_chunks + kept * self.blocks.chunks_per_block;
        Some(u64::from(chunks) * self.chunk_size() as u64)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        self.options.profile.has_thread().then_some(self.thread_due_ns)
    }

    fn run_background(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        self.run_thread()
    }

    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        Some(Box::new(Self { mtd: self.mtd.apart(), ..self.clone() }))
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        let _scope = self.recorder.scope("yaffs_sync");
        self.flush_all(true)
    }
}
