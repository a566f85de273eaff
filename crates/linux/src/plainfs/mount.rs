//! Formatting and mounting a plain file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use flysch_chip::Recorder;

use super::buffers::Buffers;
use super::inode::{Inode, Kind};
use super::journal::{header, replay};
use super::layout::{HEADER, Layout};
use super::{Plainfs, ROOT};
use crate::block_device::{BlockDevice, BlockError};
use crate::cpu::Cpu;
use crate::filesystem::{CACHE_PAGE_SIZE, FsError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainfsError {
    /// The device has fewer blocks than the journal and the tables take.
    TooSmall,
    /// The device has no valid super block.
    NoFileSystem,
    BadJournal,
    /// The root directory is missing or damaged.
    NoRoot,
    Device(BlockError),
}

impl fmt::Display for PlainfsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall => f.write_str("the device is too small for a plain file system"),
            Self::NoFileSystem => f.write_str("no plain file system here"),
            Self::BadJournal => f.write_str("the journal's header is damaged"),
            Self::NoRoot => f.write_str("the root directory is damaged"),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PlainfsError {}

impl From<BlockError> for PlainfsError {
    fn from(error: BlockError) -> Self {
        Self::Device(error)
    }
}

impl Plainfs {
    /// Make an empty file system on a device, and mount it.
    ///
    /// # Errors
    /// The device is too small, or it failed.
    pub fn format(
        device: Box<dyn BlockDevice>,
        cpu: Cpu,
        recorder: &Recorder,
    ) -> Result<Self, PlainfsError> {
        let mut buffers = Buffers::new(device, cpu.clone(), recorder.clone());
        let layout = Layout::of(buffers.device_blocks()).ok_or(PlainfsError::TooSmall)?;
        let scope = recorder.scope("plainfs_format");
        for block in layout.bitmap()..layout.data() {
            buffers.write(block, &[0; CACHE_PAGE_SIZE])?;
        }
        buffers.write(HEADER, &header(1))?;
        let mut root = [0; CACHE_PAGE_SIZE];
        let inode = Inode { kind: Kind::Directory, is_named: true, ..Inode::FREE };
        let bytes = inode.emit();
        let (block, at) = layout.inode(ROOT);
        root[at..at + bytes.len()].copy_from_slice(&bytes);
        buffers.write(block, &root)?;
        buffers.flush()?;
        buffers.write(0, &layout.emit())?;
        buffers.flush()?;
        drop(scope);
        Self::attach(buffers, cpu, recorder)
    }

    /// Mount the file system on the device. The journal is applied, and files without a name are
    /// freed.
    ///
    /// # Errors
    /// The device holds no file system, the file system is damaged in a part that a mount needs, or
    /// the device failed.
    pub fn mount(
        device: Box<dyn BlockDevice>,
        cpu: Cpu,
        recorder: &Recorder,
    ) -> Result<Self, PlainfsError> {
        Self::attach(Buffers::new(device, cpu.clone(), recorder.clone()), cpu, recorder)
    }

    fn attach(mut buffers: Buffers, cpu: Cpu, recorder: &Recorder) -> Result<Self, PlainfsError> {
        let _scope = recorder.scope("plainfs_mount");
        let block_count = buffers.device_blocks();
        if block_count == 0 {
            return Err(PlainfsError::TooSmall);
        }
        let mut page = [0; CACHE_PAGE_SIZE];
        buffers.read(0, &mut page)?;
        let layout = Layout::parse(&page, block_count).ok_or(PlainfsError::NoFileSystem)?;
        let journal = replay(&mut buffers, &layout)?.ok_or(PlainfsError::BadJournal)?;
        let mut fs = Self {
            layout,
            buffers,
            journal,
            free_count: 0,
            hint: 0,
            freed: BTreeSet::new(),
            revoked: BTreeSet::new(),
            dirty: BTreeMap::new(),
            resized: BTreeSet::new(),
            commit_due_ns: None,
            cpu,
            recorder: recorder.clone(),
        };
        fs.free_count = fs.count_free()?;
        match fs.inode(ROOT) {
            Ok(Inode { kind: Kind::Directory, .. }) => {}
            Err(FsError::PowerLost) => return Err(BlockError::PowerLost.into()),
            Ok(_) | Err(_) => return Err(PlainfsError::NoRoot),
        }
        fs.drop_nameless()?;
        Ok(fs)
    }

    /// Free the files that a power cut left without a name. A damaged file is left alone, and its
    /// blocks stay in use.
    fn drop_nameless(&mut self) -> Result<(), PlainfsError> {
        for ino in 1..=self.layout.inode_count {
            let is_nameless = self.inode(ino).is_ok_and(|inode| !inode.is_named);
            if is_nameless && self.free_inode(ino) == Err(FsError::PowerLost) {
                return Err(BlockError::PowerLost.into());
            }
        }
        Ok(())
    }
}
