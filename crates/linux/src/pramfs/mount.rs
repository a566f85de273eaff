//! Formatting and mounting. A mount reads all inodes, completes what a power cut interrupted, and
//! corrects the bitmap. It fails only on damage that no power cut can cause.

use std::collections::BTreeMap;
use std::fmt;

use flysch_chip::Recorder;
use flysch_nand::{NvRam, NvRamError, WriteRule};

use super::blocks::{Bitmap, bit};
use super::format::dentry::Dentry;
use super::format::inode::{Inode, Kind, State};
use super::format::rename::Rename;
use super::format::super_block::SuperBlock;
use super::format::{COPY_ADDR, RECORD_SIZE, RENAME_ADDR};
use super::memory::{Memory, inode_addr};
use super::{Pramfs, ROOT};
use crate::cpu::Cpu;
use crate::filesystem::FsError;

/// The options for formatting memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PramfsOptions {
    /// Bytes per block: 512, 1024, 2048 or 4096.
    pub block_size: u32,
    /// Number of inodes. By default they take one twentieth of the memory.
    pub inode_count: Option<u32>,
}

impl Default for PramfsOptions {
    fn default() -> Self {
        Self { block_size: 2048, inode_count: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PramfsError {
    /// The block size is none of those allowed, or there is no room for the tables and a few
    /// blocks.
    Shape,
    /// Bits of this memory cannot be set by a write, as those of NOR flash.
    NotOverwritable,
    /// Neither the super block nor its copy is valid.
    NoFileSystem,
    /// The root directory is missing or damaged.
    NoRoot,
    /// An inode leads to a block that belongs to another file, or that does not exist.
    BadPointer {
        /// Number of the inode.
        ino: u32,
    },
    /// The memory failed at this address.
    WornOut(u32),
    PowerLost,
}

impl fmt::Display for PramfsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => f.write_str("PRAMFS of this shape does not fit the memory"),
            Self::NotOverwritable => f.write_str("PRAMFS needs memory that can be overwritten"),
            Self::NoFileSystem => f.write_str("no PRAMFS here"),
            Self::NoRoot => f.write_str("PRAMFS has lost its root directory"),
            Self::BadPointer { ino } => write!(f, "inode {ino} leads to a block not its own"),
            Self::WornOut(addr) => write!(f, "the memory at byte {addr} is worn out"),
            Self::PowerLost => f.write_str("power lost"),
        }
    }
}

impl std::error::Error for PramfsError {}

impl From<NvRamError> for PramfsError {
    fn from(error: NvRamError) -> Self {
        match error {
            NvRamError::WornOut(addr) => Self::WornOut(addr),
            NvRamError::PowerLost => Self::PowerLost,
        }
    }
}

/// The error of a mount whose repair failed at inode `ino`.
fn repair_error(ino: u32) -> impl Fn(FsError) -> PramfsError {
    move |error| match error {
        FsError::PowerLost => PramfsError::PowerLost,
        FsError::Io => PramfsError::WornOut(inode_addr(ino)),
        FsError::NotFound
        | FsError::Exists
        | FsError::TooLong
        | FsError::WrongKind
        | FsError::NotEmpty
        | FsError::NoSpace
        | FsError::Damaged { .. } => PramfsError::BadPointer { ino },
    }
}

/// Whether bytes begin with a super block, or hold its copy, for a memory of their size.
pub fn is_image(bytes: &[u8]) -> bool {
    let size = u32::try_from(bytes.len()).unwrap_or(0);
    [0, COPY_ADDR as usize].into_iter().any(|at| {
        let block = bytes.get(at..at + RECORD_SIZE as usize);
        block.is_some_and(|block| SuperBlock::parse(block, size).is_some())
    })
}

impl Pramfs {
    /// Make an empty file system that takes all of `device`.
    ///
    /// # Errors
    /// The memory is too small or cannot be overwritten.
    pub fn format(device: &mut dyn NvRam, options: PramfsOptions) -> Result<(), PramfsError> {
        if device.write_rule() != WriteRule::Overwrite {
            return Err(PramfsError::NotOverwritable);
        }
        let size = device.size();
        let inode_count = options.inode_count.unwrap_or(size / 20 / RECORD_SIZE);
        let shape = SuperBlock { size, block_size: options.block_size, inode_count };
        if !shape.is_possible() {
            return Err(PramfsError::Shape);
        }
        let end = shape.bitmap_addr() + shape.bitmap_size();
        let zeros = vec![0; (end - RENAME_ADDR) as usize];
        device.write(RENAME_ADDR, &zeros)?;
        let mut root = Inode::parse(ROOT, &[0; RECORD_SIZE as usize]);
        root.set_dentry(&Dentry { parent: 0, name: Vec::new() });
        root.set_state(ROOT, State { kind: Kind::Directory, is_named: true, ..State::FREE });
        device.write(inode_addr(ROOT), root.bytes())?;
        device.write(COPY_ADDR, &shape.emit())?;
        Ok(device.write(0, &shape.emit())?)
    }

    /// Mount the file system in `device`.
    ///
    /// # Errors
    /// There is no file system, or it has damage that no power cut can cause.
    pub fn mount(
        device: Box<dyn NvRam>,
        cpu: Cpu,
        recorder: Recorder,
    ) -> Result<Self, PramfsError> {
        if device.write_rule() != WriteRule::Overwrite {
            return Err(PramfsError::NotOverwritable);
        }
        let scope = recorder.scope("pramfs_mount");
        let mut memory = Memory::new(device);
        let shape = read_super(&mut memory)?;
        let mut inodes = BTreeMap::new();
        for ino in 1..=shape.inode_count {
            let bytes = memory.read(inode_addr(ino))?;
            let inode = Inode::parse(ino, &bytes);
            if inode.state.kind != Kind::Free {
                inodes.insert(ino, inode);
            }
        }
        drop(scope);
        let (names, bitmap) = (BTreeMap::new(), Bitmap::default());
        let mut fs = Self { memory, shape, inodes, names, bitmap, cpu, recorder };
        let _scope = fs.recorder.clone().scope("pramfs_recover");
        fs.recover()?;
        Ok(fs)
    }

    fn recover(&mut self) -> Result<(), PramfsError> {
        let root = self.inodes.get(&ROOT).map(|inode| inode.state);
        if root.is_none_or(|root| root.kind != Kind::Directory || !root.is_named) {
            return Err(PramfsError::NoRoot);
        }
        let record: [u8; RECORD_SIZE as usize] = self.memory.read(RENAME_ADDR)?;
        if let Some(rename) = Rename::parse(&record) {
            self.finish_rename(&rename).map_err(repair_error(rename.ino))?;
        }
        self.drop_nameless()?;
        self.mark_blocks()
    }

    /// Free the files that a power cut left without a name, and list the names of the others.
    fn drop_nameless(&mut self) -> Result<(), PramfsError> {
        for ino in self.inodes.keys().copied().collect::<Vec<_>>() {
            let inode = &self.inodes[&ino];
            match inode.dentry().filter(|_| inode.state.is_named) {
                Some(_) if ino == ROOT => {}
                Some(dentry) => {
                    self.names.insert((dentry.parent, dentry.name), ino);
                }
                None => {
                    self.store_state(ino, State::FREE).map_err(repair_error(ino))?;
                    self.inodes.remove(&ino);
                }
            }
        }
        Ok(())
    }

    /// Find the blocks in use, free those behind the ends of files, and correct the bitmap.
    fn mark_blocks(&mut self) -> Result<(), PramfsError> {
        let count = self.shape.block_count();
        self.bitmap.bytes = vec![0; self.shape.bitmap_size() as usize];
        self.bitmap.free_count = count;
        let files: Vec<(u32, State)> =
            self.inodes.iter().map(|(&ino, inode)| (ino, inode.state)).collect();
        for (ino, state) in files {
            let Some(root) = state.root else { continue };
            if root >= count || state.size > self.shape.file_size_max() {
                return Err(PramfsError::BadPointer { ino });
            }
            let first = self.blocks_below(state.size);
            self.cut_blocks(root, first).map_err(repair_error(ino))?;
            for block in self.list_blocks(root).map_err(repair_error(ino))? {
                if self.bitmap.has(block) {
                    return Err(PramfsError::BadPointer { ino });
                }
                self.bitmap.bytes[block as usize / 8] |= bit(block);
                self.bitmap.free_count -= 1;
            }
        }
        self.correct_bitmap()
    }

    fn correct_bitmap(&mut self) -> Result<(), PramfsError> {
        let mut known = vec![0; self.bitmap.bytes.len()];
        self.memory.read_into(self.shape.bitmap_addr(), &mut known)?;
        for (addr, (known, byte)) in
            (self.shape.bitmap_addr()..).zip(known.iter().zip(&self.bitmap.bytes))
        {
            if known != byte {
                self.memory.write(addr, &[*byte])?;
            }
        }
        Ok(())
    }
}

/// Read the super block or its copy, and repair the one that is invalid.
fn read_super(memory: &mut Memory) -> Result<SuperBlock, PramfsError> {
    if memory.size() < 2 * RECORD_SIZE {
        return Err(PramfsError::NoFileSystem);
    }
    for (addr, other) in [(0, COPY_ADDR), (COPY_ADDR, 0)] {
        let bytes: [u8; RECORD_SIZE as usize] = memory.read(addr)?;
        let Some(shape) = SuperBlock::parse(&bytes, memory.size()) else { continue };
        let copy: [u8; RECORD_SIZE as usize] = memory.read(other)?;
        if copy != bytes {
            memory.write(other, &bytes)?;
        }
        return Ok(shape);
    }
    Err(PramfsError::NoFileSystem)
}
