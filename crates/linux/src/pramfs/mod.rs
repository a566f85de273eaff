//! PRAMFS: a file system in byte-addressable non-volatile memory, without the page cache.
//!
//! ```text
//! mod.rs                what the VFS asks for
//! names.rs file.rs      directories; the content of files
//! pointers.rs blocks.rs which block holds which part of a file; which blocks are free
//! mount.rs              format, mount and the repair of what a power cut left
//! memory.rs             the device
//! format/               bytes
//! ```
//!
//! Like the kernel's PRAMFS it has a super block with a copy, inodes of 128 bytes with CRC-16,
//! dentries in the inodes, and two levels of 8-byte pointers. There is no page cache and no
//! read-ahead, an fsync does nothing, and mappings are private only. Directories are lists in RAM,
//! as in the kernel's dentry cache.
//!
//! The kernel's PRAMFS loses a file if a power cut tears its inode. This model does not: an inode
//! holds two states, and a write changes only one of them (128 bytes are written all the same). A
//! rename uses a record.
//!
//! Invariants:
//! 1. Writes become durable in the order in which they are made. A block is marked as used, then
//!    filled, then pointed to, and then included in the size of its file; it is freed in the
//!    opposite order.
//! 2. After a power cut, therefore, every inode is valid. What lies behind its size, or belongs to
//!    no file, is free; the mount clears the pointers and corrects the bitmap.

mod blocks;
mod file;
mod format;
mod memory;
mod mount;
mod names;
mod pointers;

use std::collections::BTreeMap;

use flysch_chip::Recorder;
use flysch_nand::NvRamError;

use crate::cache::PageCache;
use crate::cpu::{Cpu, Unit};
use crate::filesystem::{CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino};

use format::dentry::NAME_SIZE_MAX;
use format::inode::{Inode, State};
use format::super_block::SuperBlock;
use memory::Memory;
pub use mount::{PramfsError, PramfsOptions, is_image};

const ROOT: u32 = 1;

#[derive(Clone)]
pub struct Pramfs {
    memory: Memory,
    shape: SuperBlock,
    inodes: BTreeMap<u32, Inode>,
    /// Inode numbers by directory and name.
    names: BTreeMap<(u32, Vec<u8>), u32>,
    bitmap: blocks::Bitmap,
    cpu: Cpu,
    recorder: Recorder,
}

impl From<NvRamError> for FsError {
    fn from(error: NvRamError) -> Self {
        match error {
            NvRamError::PowerLost => Self::PowerLost,
            NvRamError::WornOut(_) => Self::Io,
        }
    }
}

impl Pramfs {
    fn state(&self, ino: u32) -> Result<State, FsError> {
        self.inodes.get(&ino).map(|inode| inode.state).ok_or(FsError::NotFound)
    }

    fn store_state(&mut self, ino: u32, state: State) -> Result<(), FsError> {
        self.cpu.charge(Unit::Node, 1);
        let inode = self.inodes.get_mut(&ino).ok_or(FsError::NotFound)?;
        inode.set_state(ino, state);
        let bytes = *inode.bytes();
        Ok(self.memory.write(memory::inode_addr(ino), &bytes)?)
    }

    fn now_s(&self) -> u32 {
        u32::try_from(self.cpu.clock().now_ns() / 1_000_000_000).unwrap_or(u32::MAX)
    }
}

impl FileSystem for Pramfs {
    fn name(&self) -> &'static str {
        "pramfs"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Direct
    }

    fn maps_shared(&self) -> bool {
        // Mappings are private only, because stores to a shared one would bypass the write
        // protection.
        false
    }

    fn name_size_max(&self) -> usize {
        NAME_SIZE_MAX
    }

    fn root(&self) -> Ino {
        Ino(ROOT)
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        self.find_name(parent.0, name)
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        self.list_names(dir.0)
    }

    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError> {
        let _scope = self.recorder.scope("pramfs_create");
        self.create_inode(parent.0, name, kind).map(Ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("pramfs_unlink");
        self.remove_name(parent.0, name)
    }

    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let _scope = self.recorder.scope("pramfs_rename");
        self.move_name((from.0, name), (to.0, new_name))
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        self.state(ino.0).map(|state| state.size)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        let _scope = self.recorder.scope("pramfs_evict");
        if self.state(ino.0)?.is_named { Ok(()) } else { self.free_inode(ino.0) }
    }

    fn read_direct(&mut self, ino: Ino, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let _scope = self.recorder.scope("pramfs_read");
        self.read_file(ino.0, offset, bytes)
    }

    fn write(
        &mut self,
        _: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let _scope = self.recorder.scope("pramfs_write");
        self.write_file(ino.0, offset, bytes)
    }

    fn truncate(&mut self, _: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        let _scope = self.recorder.scope("pramfs_truncate");
        self.resize_file(ino.0, size)
    }

    fn fsync(&mut self, _: &mut PageCache, ino: Ino, _data_only: bool) -> Result<(), FsError> {
        self.state(ino.0).map(drop)
    }

    fn sync(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(u64::from(self.bitmap.free_count) * u64::from(self.shape.block_size))
    }

    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        Some(Box::new(self.clone()))
    }

    fn unmount(&mut self, _: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }
}
