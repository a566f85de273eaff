//! UBIFS: the file system on UBI volumes, with its real on-flash format.
//!
//! ```text
//! file.rs bulk_read.rs                    files: blocks read and written
//! directory.rs inode.rs                   names and inodes
//! write_back.rs writers.rs                how dirty pages are written
//! flusher.rs background.rs                what is written without being asked, and when
//! journal.rs wbuf.rs reserve.rs log.rs    every change is written to the journal first
//! tnc/                                    the index in memory, a B+tree
//! commit.rs                               the index and the LEB properties on flash
//! collect.rs                              space won back
//! category.rs heap.rs                     which LEB is found for what
//! budget.rs                               space promised to dirty pages
//! lprops.rs lpt/                          free and dirty space of each LEB
//! mount.rs scan.rs replay.rs create.rs    mount
//! audit.rs                                a check of the recorded space of each LEB
//! format/ key.rs geometry.rs compress.rs  bytes
//! ```
//!
//! The model follows kernel 6.1 and is written from the project's notes on the Linux stack. A
//! commit runs to its end before anything else does.
//!
//! Invariants:
//! 1. A node is on flash or in a head's write buffer before the index refers to it.
//! 2. A node that the index on flash refers to is not erased before the next commit is on flash,
//!    unless the journal holds a newer version of it.
//! 3. After a power cut nothing is programmed behind the bytes that were written last.

mod audit;
mod background;
mod budget;
mod bulk_read;
mod category;
mod collect;
mod commit;
mod compress;
mod create;
mod directory;
mod fault;
mod file;
mod flusher;
mod format;
mod geometry;
mod heap;
mod inode;
mod journal;
mod key;
mod log;
mod lprops;
mod lpt;
mod mount;
mod options;
mod replay;
mod reserve;
mod scan;
mod tnc;
mod wbuf;
mod write_back;
mod writers;

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::Recorder;

use crate::cache::PageCache;
use crate::cpu::Cpu;
use crate::filesystem::{
    Attributes, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino, MODE_TYPE, PageBytes,
};
use crate::ubi::Ubi;

pub use format::page_size_of;
pub use options::{Compressor, DirtyLimit, Maker, MountError, Options};

const ROOT: u32 = 1;

/// A mounted UBIFS with the UBI device below it.
#[derive(Clone)]
pub struct Ubifs {
    ubi: Ubi,
    options: Options,
    cpu: Cpu,
    recorder: Recorder,
    geometry: geometry::Geometry,
    sums: lprops::Sums,
    lpt: lpt::Lpt,
    categories: category::Categories,
    tnc: tnc::Tnc,
    index_head: (u32, u32),
    /// The LEB from which unknown properties are looked up next.
    scan_lnum: u32,
    /// The empty LEB kept for the collector, or `NO_LEB`.
    gc_lnum: u32,
    /// LEBs of the index whose nodes were made dirty. They are free after the next commit.
    collected_index: Vec<u32>,
    budget: budget::Budget,
    heads: [wbuf::WriteBuffer; 3],
    buds: BTreeMap<u32, reserve::Bud>,
    bud_bytes: u64,
    log: log::Log,
    commit_number: u64,
    master: format::MasterNode,
    master_offset: u32,
    sequence: u64,
    ino_max: u32,
    inodes: inode::Inodes,
    /// The names that calls have met, as the kernel's dentry cache keeps them. A name that is known
    /// to lead nowhere has no entry.
    names: BTreeMap<(u32, Vec<u8>), Option<DirEntry>>,
    /// Inodes without a name that are still in use.
    orphans: BTreeSet<u32>,
    tasks: background::Tasks,
    flusher: flusher::Flusher,
    /// Whether the journal is being replayed. The index may then refer to nodes that are gone.
    is_replaying: bool,
    /// Whether the medium failed during a change. Nothing is written any more.
    read_only: bool,
}

impl Ubifs {
    pub const fn ubi(&self) -> &Ubi {
        &self.ubi
    }

    fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Make a change. If the medium fails half-way, memory and flash differ, and the file system
    /// becomes read-only.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<T, FsError>,
    ) -> Result<T, FsError> {
        if self.read_only {
            return Err(FsError::Io);
        }
        let outcome = change(self);
        if matches!(outcome, Err(FsError::Io | FsError::PowerLost)) {
            self.read_only = true;
        }
        outcome
    }
}

impl FileSystem for Ubifs {
    fn name(&self) -> &'static str {
        "ubifs"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Cached { ra_pages: 0 }
    }

    fn maps_shared(&self) -> bool {
        true
    }

    fn root(&self) -> Ino {
        Ino(ROOT)
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        self.look_up(parent.0, name)
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        self.list_entries(dir.0)
    }

    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError> {
        let _scope = self.recorder.scope("ubifs_create");
        self.change(|fs| fs.create_entry(parent.0, name, kind)).map(Ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("ubifs_unlink");
        self.change(|fs| fs.remove_entry(parent.0, name))
    }

    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("ubifs_rename");
        self.change(|fs| fs.move_entry(from.0, name, to.0, new_name))
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        Ok(self.inode(ino.0)?.node.size)
    }

    fn attributes(&mut self, ino: Ino) -> Result<Option<Attributes>, FsError> {
        Ok(Some(self.inode(ino.0)?.attributes()))
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        self.change(|fs| Ok(fs.evict_inode(ino.0)?))
    }

    fn read_page(&mut self, ino: Ino, index: u32, page: &mut PageBytes) -> Result<(), FsError> {
        let _scope = self.recorder.scope("ubifs_read_page");
        self.load_page(ino.0, index, page).map(drop)
    }

    fn read_run(&mut self, cache: &mut PageCache, ino: Ino, index: u32) -> Result<bool, FsError> {
        self.read_in_bulk(cache, ino.0, index)
    }

    fn write(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("ubifs_write");
        self.change(|fs| fs.write_file(cache, ino.0, offset, bytes))
    }

    fn truncate(&mut self, cache: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        let _scope = self.recorder.scope("ubifs_truncate");
        self.change(|fs| fs.truncate_file(cache, ino.0, size))
    }

    fn set_owner(&mut self, _: &mut PageCache, ino: Ino) -> Result<(), FsError> {
        self.change(|fs| Ok(fs.touch_owner(ino.0)?))
    }

    fn set_permissions(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        permissions: u32,
    ) -> Result<(), FsError> {
        let node = &mut self.inode(ino.0)?.node;
        node.mode = node.mode & MODE_TYPE | permissions;
        self.set_owner(cache, ino)
    }

    fn fsync(&mut self, cache: &mut PageCache, ino: Ino, data_only: bool) -> Result<(), FsError> {
        self.change(|fs| fs.fsync_file(cache, ino.0, data_only))
    }

    fn write_back(&mut self, cache: &mut PageCache, ino: Ino) -> Result<(), FsError> {
        self.change(|fs| fs.write_back_pages(cache, ino.0))
    }

    fn sync(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.change(|fs| fs.sync_all(cache))
    }

    fn shrink(&mut self) {
        self.tnc.drop_clean();
        self.names.clear();
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(self.sums.free + self.sums.dirty)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        self.next_task_ns()
    }

    fn run_background(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.change(|fs| fs.run_tasks(cache))
    }

    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        Some(Box::new(Self { ubi: self.ubi.apart(), ..self.clone() }))
    }

    fn unmount(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.change(|fs| {
            fs.sync_all(cache)?;
            Ok(fs.finish()?)
        })
    }
}
