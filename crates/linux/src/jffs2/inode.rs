//! Inodes: what is known of each at all times, and what is in memory while one is in use.

use std::collections::BTreeMap;

use super::Jffs2;
use super::format::DirentType;
use super::fragments::Fragments;
use super::nodes::NodeId;

/// File mode of a regular file (`S_IFREG | 0644`).
pub(super) const MODE_REGULAR: u32 = 0o100_644;
/// File mode of a directory (`S_IFDIR | 0755`).
pub(super) const MODE_DIRECTORY: u32 = 0o40_755;

/// What is always known of an inode: small, for it stays for all files.
#[derive(Debug, Default)]
pub(super) struct InodeCache {
    /// Names it has; directories: one if it exists.
    pub links: u32,
    /// Its nodes in the order in which they were written or found, dead ones included.
    pub nodes: Vec<NodeId>,
    /// Highest version ever seen among its nodes, those included that are dead or not believed: an
    /// old node must not win over a new one.
    pub version_seen: u32,
    /// Whether the checksums of its nodes' data were verified since the mount.
    pub checked: bool,
    /// The inode in memory.
    pub loaded: Option<Box<Inode>>,
}

/// An inode in memory.
#[derive(Debug)]
pub(super) struct Inode {
    /// Highest version among its nodes.
    pub version: u32,
    /// File mode and type.
    pub mode: u32,
    /// File size.
    pub size: u32,
    /// The node that only carries metadata, if one does.
    pub metadata: Option<NodeId>,
    /// A regular file's data.
    pub fragments: Fragments,
    /// Whether a torn page lost holes over what had been cut off before: they are written again
    /// before anything else of the file.
    pub lost_holes: bool,
    /// A directory's entries, deleted ones too, by name.
    pub entries: BTreeMap<Vec<u8>, Entry>,
}

/// A directory entry in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its node.
    pub node: NodeId,
    /// Version of the node.
    pub version: u32,
    /// What the name stands for; `None` says that the name is deleted, which older nodes on flash
    /// must not contradict.
    pub ino: Option<u32>,
    /// What the name names.
    pub kind: DirentType,
}

impl InodeCache {
    /// Take the inode out of memory.
    pub(super) fn unload(&mut self) -> Option<Box<Inode>> {
        let inode = self.loaded.take()?;
        self.version_seen = self.version_seen.max(inode.version);
        Some(inode)
    }

    /// Whether nothing is left of it.
    pub(super) fn is_gone(&self) -> bool {
        self.nodes.is_empty() && self.links == 0 && self.loaded.is_none()
    }
}

impl Inode {
    /// An inode without nodes.
    pub(super) fn empty(mode: u32) -> Self {
        Self {
            version: 0,
            mode,
            size: 0,
            metadata: None,
            fragments: Fragments::default(),
            lost_holes: false,
            entries: BTreeMap::new(),
        }
    }

    /// The version for a node about to be written.
    pub(super) const fn next_version(&mut self) -> u32 {
        self.version += 1;
        self.version
    }
}

impl Jffs2 {
    /// What is known of an inode that exists.
    pub(super) fn cache_of(&mut self, ino: u32) -> &mut InodeCache {
        self.inodes.get_mut(&ino).expect("the inode is known")
    }

    /// An inode in memory.
    pub(super) fn inode(&self, ino: u32) -> &Inode {
        self.inodes[&ino].loaded.as_deref().expect("the inode is in memory")
    }

    /// An inode in memory, to be changed.
    pub(super) fn inode_mut(&mut self, ino: u32) -> &mut Inode {
        self.cache_of(ino).loaded.as_deref_mut().expect("the inode is in memory")
    }

    /// Let an inode leave memory. Without a name its nodes die with it.
    pub(super) fn evict_inode(&mut self, ino: u32) {
        let Some(cache) = self.inodes.get_mut(&ino) else { return };
        let links = cache.links;
        if cache.unload().is_none() || links > 0 {
            return;
        }
        let nodes = cache.nodes.clone();
        self.mark_all_obsolete(nodes);
        if self.inodes[&ino].is_gone() {
            self.inodes.remove(&ino);
        }
        self.wake_collector();
    }

    /// Book nodes as dead.
    pub(super) fn mark_all_obsolete(&mut self, ids: impl IntoIterator<Item = NodeId>) {
        for id in ids {
            self.mark_obsolete(id);
        }
    }
}
