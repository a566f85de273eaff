//! Inodes in memory: how they are read, made and marked dirty.

use std::collections::{BTreeMap, BTreeSet};

use super::Ubifs;
use super::bulk_read::Progress;
use super::fault::Fault;
use super::format::InodeNode;
use super::key::Key;
use crate::filesystem::{Attributes, FileKind, MODE_LINK, MODE_TYPE};

/// File mode of a regular file (`S_IFREG | 0644`), and of a directory (`S_IFDIR | 0755`).
pub(super) const MODE_REGULAR: u32 = 0o100_644;
pub(super) const MODE_DIRECTORY: u32 = 0o40_755;
/// Flag: the file's data is compressed (`UBIFS_COMPR_FL`).
pub(super) const FLAG_COMPRESS: u32 = 1;
/// File times are whole seconds, nanoseconds: UBIFS does not change the VFS's default granularity
/// (`s_time_gran`). A second change within the same second leaves the time as it is, so it does not
/// make the inode dirty.
const TIME_STEP_NS: u64 = 1_000_000_000;

/// The part of an inode that is not on flash yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dirt {
    None,
    /// Only the times, which `fdatasync` need not write.
    Times,
    /// The size, and perhaps the times.
    Size,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub node: InodeNode,
    /// File size in the inode node that was written last, bytes.
    pub synced_size: u64,
    dirt: Dirt,
    /// When the inode or its pages became dirty, nanoseconds.
    pub dirty_since_ns: Option<u64>,
    /// Which pages were read in a row, for bulk-read.
    pub progress: Progress,
    /// Number of the last commit before it lost its last name.
    pub deleted_at: Option<u64>,
}

impl Inode {
    pub(super) fn of(node: InodeNode) -> Self {
        let synced_size = node.size;
        Self {
            node,
            synced_size,
            dirt: Dirt::None,
            dirty_since_ns: None,
            progress: Progress::default(),
            deleted_at: None,
        }
    }

    pub(super) const fn dirt(&self) -> Dirt {
        self.dirt
    }

    pub(super) fn attributes(&self) -> Attributes {
        let InodeNode { mode, uid, gid, ref inline, .. } = self.node;
        let target = (mode & MODE_TYPE == MODE_LINK).then(|| inline.clone());
        Attributes { mode, uid, gid, target }
    }

    pub(super) const fn kind(&self) -> FileKind {
        match self.node.mode & MODE_TYPE {
            0o100_000 => FileKind::Regular,
            0o40_000 => FileKind::Directory,
            _ => FileKind::Special,
        }
    }
}

/// The inodes in memory. Which of them are dirty is kept beside them, as the budget asks for their
/// number at each page.
#[derive(Clone, Debug, Default)]
pub(super) struct Inodes {
    all: BTreeMap<u32, Inode>,
    dirty: BTreeSet<u32>,
}

impl Inodes {
    pub(super) fn get(&self, ino: u32) -> Option<&Inode> {
        self.all.get(&ino)
    }

    pub(super) fn get_mut(&mut self, ino: u32) -> Option<&mut Inode> {
        self.all.get_mut(&ino)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Inode)> {
        self.all.iter().map(|(&ino, inode)| (ino, inode))
    }

    /// Put an inode that is clean into memory.
    pub(super) fn insert(&mut self, ino: u32, inode: Inode) {
        debug_assert!(inode.dirt == Dirt::None, "an inode becomes dirty in memory");
        self.all.insert(ino, inode);
    }

    pub(super) fn remove(&mut self, ino: u32) {
        self.all.remove(&ino);
        self.dirty.remove(&ino);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The numbers of those that are dirty.
    pub(super) fn dirty(&self) -> impl ExactSizeIterator<Item = u32> {
        self.dirty.iter().copied()
    }

    /// Set which part of an inode in memory is not on flash yet.
    fn set_dirt(&mut self, ino: u32, dirt: Dirt) {
        let Some(inode) = self.all.get_mut(&ino) else { return };
        inode.dirt = dirt;
        if dirt == Dirt::None {
            self.dirty.remove(&ino);
        } else {
            self.dirty.insert(ino);
        }
    }
}

impl Ubifs {
    /// An inode, which is read into memory if it is not there.
    pub(super) fn inode(&mut self, ino: u32) -> Result<&mut Inode, Fault> {
        if self.inodes.get(ino).is_none() {
            let _scope = self.recorder.scope("ubifs_read_inode");
            let key = Key::inode(ino);
            let missing = Fault::Damaged { lnum: self.geometry.main_first, offset: 0 };
            let place = self.find(key)?.ok_or(missing)?;
            let bytes = self.read_node(place)?;
            let damaged = Fault::Damaged { lnum: place.lnum, offset: place.offset };
            let node = InodeNode::parse(&bytes).filter(|node| node.key == key).ok_or(damaged)?;
            self.inodes.insert(ino, Inode::of(node));
        }
        Ok(self.inodes.get_mut(ino).expect("just read"))
    }

    /// The time that a file changed now gets, nanoseconds.
    pub(super) fn file_time_ns(&self) -> u64 {
        let now = self.recorder.clock().now_ns();
        now - now % TIME_STEP_NS
    }

    /// Note a change of an inode, so that the flusher writes it.
    pub(super) fn touch(&mut self, ino: u32, dirt: Dirt) -> Result<(), Fault> {
        let (now, time) = (self.recorder.clock().now_ns(), self.file_time_ns());
        let inode = self.inode(ino)?;
        inode.dirty_since_ns.get_or_insert(now);
        if inode.node.mtime_ns != time || dirt > Dirt::Times {
            inode.node.mtime_ns = time;
            self.make_inode_dirty(ino, dirt)?;
        }
        self.arm_flusher();
        Ok(())
    }

    /// Note that an inode got an owner. That makes it dirty even within the same second.
    pub(super) fn touch_owner(&mut self, ino: u32) -> Result<(), Fault> {
        self.touch(ino, Dirt::Times)?;
        self.make_inode_dirty(ino, Dirt::Times)
    }

    fn make_inode_dirty(&mut self, ino: u32, dirt: Dirt) -> Result<(), Fault> {
        let dirt = self.inode(ino)?.dirt.max(dirt);
        self.inodes.set_dirt(ino, dirt);
        Ok(())
    }

    /// Note that an inode is on flash as it is, or will not be written.
    pub(super) fn make_inode_clean(&mut self, ino: u32) {
        self.inodes.set_dirt(ino, Dirt::None);
    }

    /// A new inode that is not on flash yet. Fails if all numbers are taken.
    pub(super) fn new_inode(&mut self, kind: FileKind) -> Result<Inode, Fault> {
        self.ino_max = self.ino_max.checked_add(1).ok_or(Fault::NoSpace)?;
        let (mode, links, size) = match kind {
            FileKind::Directory => (MODE_DIRECTORY, 2, 160),
            FileKind::Regular | FileKind::Special => (MODE_REGULAR, 1, 0),
        };
        let node = InodeNode {
            key: Key::inode(self.ino_max),
            creation: self.next_sequence(),
            size,
            mtime_ns: self.file_time_ns(),
            links,
            uid: 0,
            gid: 0,
            mode,
            flags: FLAG_COMPRESS,
            compression: super::compress::number(self.options.compressor),
            inline: Vec::new(),
        };
        Ok(Inode::of(node))
    }
}
