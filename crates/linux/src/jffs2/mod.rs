//! JFFS2: the journalling flash file system, with its real on-flash format.
//!
//! ```text
//! file.rs directory.rs     what the VFS asks for
//! load.rs inode.rs fragments.rs    an inode in memory, rebuilt from its nodes
//! collect.rs move_node.rs background.rs    garbage collection and who calls it
//! reserve.rs append.rs summary.rs wbuf.rs    where nodes go
//! obsolete.rs erase.rs     how nodes and blocks end
//! blocks.rs nodes.rs       what every byte of the partition is used for
//! prepare.rs scan.rs names.rs    format and mount
//! format/ compress.rs      bytes
//! ```
//!
//! The model follows kernels 2.6.29 to 6.1, and 6.1 where they differ. It is written from the
//! project's notes on the Linux stack. The kernel uses its jiffies to choose which block to
//! collect; the model uses a seeded generator.
//!
//! Invariants:
//! 1. A node is used only if its checksums hold. Among nodes that cover the same byte of a file,
//!    the one with the highest version wins.
//! 2. A node becomes obsolete only after the node that supersedes it is written, to flash or to the
//!    write buffer. Its block is erased only after that node is on flash.

mod append;
mod background;
mod blocks;
mod collect;
mod compress;
mod directory;
mod erase;
mod file;
mod format;
mod fragments;
mod inode;
mod load;
mod move_node;
mod names;
mod nodes;
mod obsolete;
mod options;
mod prepare;
mod recognise;
mod reserve;
mod scan;
mod summary;
mod wbuf;

use std::collections::{BTreeMap, BTreeSet};

use blocks::Blocks;
use flysch_chip::{Prng, Recorder};
use inode::InodeCache;
use nodes::NodeTable;
use wbuf::WriteBuffer;

use crate::cache::PageCache;
use crate::cpu::Cpu;
use crate::filesystem::{
    Attributes, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino, MODE_TYPE, PageBytes,
};
use crate::mtd::Partition;

pub use compress::Compressor;
pub use options::{MountError, Options};
pub use recognise::{FoundNodes, nodes_in};

const ROOT: u32 = 1;

#[derive(Clone)]
pub struct Jffs2 {
    mtd: Partition,
    options: Options,
    cpu: Cpu,
    recorder: Recorder,
    prng: Prng,
    limits: reserve::Limits,
    blocks: Blocks,
    nodes: NodeTable,
    wbuf: WriteBuffer,
    summary: summary::Collector,
    inodes: BTreeMap<u32, InodeCache>,
    /// Inodes that the collector brought into memory, and nobody else has asked for.
    loaded_to_collect: BTreeSet<u32>,
    ino_max: u32,
    background: background::Tasks,
    /// The block that the collector's thread is reading back.
    check: Option<erase::Check>,
    /// All inodes with lower numbers were checked by the collector after the mount.
    unchecked_from: u32,
}

impl Jffs2 {
    /// The partition below, for a caller that mounts it again.
    pub const fn partition(&self) -> &Partition {
        &self.mtd
    }

    fn now_s(&self) -> u32 {
        u32::try_from(self.recorder.clock().now_ns() / 1_000_000_000).unwrap_or(u32::MAX)
    }
}

impl FileSystem for Jffs2 {
    fn name(&self) -> &'static str {
        "jffs2"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Cached { ra_pages: self.options.ra_pages }
    }

    fn maps_shared(&self) -> bool {
        // JFFS2's address-space operations have no writepage, so files can only be mapped
        // privately.
        false
    }

    fn name_size_max(&self) -> usize {
        254
    }

    fn root(&self) -> Ino {
        Ino(ROOT)
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        self.find_entry(parent.0, name)
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        self.list_entries(dir.0)
    }

    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError> {
        let _scope = self.recorder.scope("jffs2_create");
        self.create_entry(parent.0, name, kind).map(Ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("jffs2_unlink");
        self.remove_entry(parent.0, name)
    }

    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("jffs2_rename");
        self.move_entry(from.0, name, to.0, new_name)
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        self.load_inode(ino.0)?;
        self.loaded_to_collect.remove(&ino.0);
        Ok(u64::from(self.inode(ino.0).size))
    }

    fn data_end(&mut self, ino: Ino) -> Result<Option<u64>, FsError> {
        self.load_inode(ino.0)?;
        Ok(Some(self.inode(ino.0).fragments.end().into()))
    }

    fn attributes(&mut self, ino: Ino) -> Result<Option<Attributes>, FsError> {
        self.read_attributes(ino.0).map(Some)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        self.evict_inode(ino.0);
        Ok(())
    }

    fn read_page(&mut self, ino: Ino, index: u32, page: &mut PageBytes) -> Result<(), FsError> {
        let _scope = self.recorder.scope("jffs2_read_page");
        self.read_file_page(ino.0, index, page)
    }

    fn write(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("jffs2_write");
        self.write_file(cache, ino.0, offset, bytes)
    }

    fn truncate(&mut self, cache: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        let _scope = self.recorder.scope("jffs2_truncate");
        self.truncate_file(cache, ino.0, size)
    }

    fn set_owner(&mut self, cache: &mut PageCache, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("jffs2_setattr");
        self.write_owner(cache, ino.0)
    }

    fn set_permissions(
        &mut self,
        cache: &mut PageCache,
        ino: Ino,
        permissions: u32,
    ) -> Result<(), FsError> {
        let inode = self.inode_mut(ino.0);
        inode.mode = inode.mode & MODE_TYPE | permissions;
        self.set_owner(cache, ino)
    }

    fn fsync(&mut self, cache: &mut PageCache, ino: Ino, _data_only: bool) -> Result<(), FsError> {
        // JFFS2 has no cheaper fdatasync.
        self.flush_wbuf_by_gc(cache, Some(ino.0))
    }

    fn sync(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        self.disarm_flush_timer();
        self.flush_wbuf()
    }

    fn shrink(&mut self) {
        for ino in std::mem::take(&mut self.loaded_to_collect) {
            self.evict_inode(ino);
        }
    }

    fn free_bytes(&self) -> Option<u64> {
        let unused = [blocks::Share::Free, blocks::Share::Dirty, blocks::Share::Wasted];
        Some(unused.into_iter().map(|share| self.blocks.sum(share)).sum())
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        self.background.next_ns()
    }

    fn run_background(&mut self, cache: &mut PageCache) -> Result<(), FsError> {
        self.run_tasks(cache)
    }

    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        Some(Box::new(Self { mtd: self.mtd.apart(), ..self.clone() }))
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        self.finish_check()?;
        self.flush_wbuf()
    }
}
