//! Inodes: what is known of every inode at all times, and what is in memory of those in use.

use std::collections::BTreeMap;

use super::Jffs2;
use super::format::{DirentType, Owner};
use super::fragments::Fragments;
use super::nodes::NodeId;
use crate::filesystem::{Attributes, CACHE_PAGE_SIZE, FsError, MODE_LINK, MODE_TYPE};

/// File mode of a regular file (`S_IFREG | 0644`).
pub(super) const MODE_REGULAR: u32 = 0o100_644;
/// File mode of a directory (`S_IFDIR | 0755`).
pub(super) const MODE_DIRECTORY: u32 = 0o40_755;

/// What is known of an inode at all times. The struct is small, because there is one for every
/// file.
#[derive(Clone, Debug, Default)]
pub(super) struct InodeCache {
    /// Number of names. A directory that exists has one.
    pub links: u32,
    /// The inode's nodes in the order in which they were written or found, obsolete ones included.
    pub nodes: Vec<NodeId>,
    /// The highest version ever seen among the inode's nodes, even if the node was obsolete or
    /// invalid. New nodes get higher versions, so that no old node can win over them.
    pub version_seen: u32,
    /// Whether the data checksums of all nodes have been verified since the mount.
    pub checked: bool,
    /// The inode in memory, if it is in use.
    pub loaded: Option<Box<Inode>>,
}

#[derive(Clone, Debug)]
pub(super) struct Inode {
    pub version: u32,
    pub mode: u32,
    pub owner: Owner,
    /// Size of the file, bytes.
    pub size: u32,
    /// The latest node without data, if it is the one that holds the inode's metadata.
    pub metadata: Option<NodeId>,
    /// The data of a regular file.
    pub fragments: Fragments,
    /// Whether holes were lost with a torn page. The holes covered data that a truncation had cut
    /// off, so they are written again before anything else of the file.
    pub lost_holes: bool,
    /// The entries of a directory by name, deleted ones included.
    pub entries: BTreeMap<Vec<u8>, Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub node: NodeId,
    pub version: u32,
    /// The inode that has the name. `None` says that the name is deleted; the entry is kept because
    /// older dirents of the name may still be on flash.
    pub ino: Option<u32>,
    pub kind: DirentType,
}

impl InodeCache {
    /// Take the inode out of memory, and keep its version.
    pub(super) fn unload(&mut self) -> Option<Box<Inode>> {
        let inode = self.loaded.take()?;
        self.version_seen = self.version_seen.max(inode.version);
        Some(inode)
    }

    /// Whether nothing is left of the inode, on flash or in memory.
    pub(super) fn is_gone(&self) -> bool {
        self.nodes.is_empty() && self.links == 0 && self.loaded.is_none()
    }
}

impl Inode {
    pub(super) fn empty(mode: u32) -> Self {
        Self {
            version: 0,
            mode,
            owner: Owner::default(),
            size: 0,
            metadata: None,
            fragments: Fragments::default(),
            lost_holes: false,
            entries: BTreeMap::new(),
        }
    }

    /// The version of a node that is about to be written.
    pub(super) const fn next_version(&mut self) -> u32 {
        self.version += 1;
        self.version
    }
}

impl Jffs2 {
    /// Read what an inode says of its owner, and where a link leads.
    pub(super) fn read_attributes(&mut self, ino: u32) -> Result<Attributes, FsError> {
        self.load_inode(ino)?;
        let &Inode { mode, owner, size, .. } = self.inode(ino);
        let target = match mode & MODE_TYPE {
            MODE_LINK => {
                let mut page = [0; CACHE_PAGE_SIZE];
                self.read_file_page(ino, 0, &mut page)?;
                Some(page[..(size as usize).min(CACHE_PAGE_SIZE)].to_vec())
            }
            _ => None,
        };
        Ok(Attributes { mode, uid: owner.uid.into(), gid: owner.gid.into(), target })
    }

    /// What is known of an inode. The inode must exist.
    pub(super) fn cache_of(&mut self, ino: u32) -> &mut InodeCache {
        self.inodes.get_mut(&ino).expect("the inode is known")
    }

    /// An inode that must be in memory.
    pub(super) fn inode(&self, ino: u32) -> &Inode {
        self.inodes[&ino].loaded.as_deref().expect("the inode is in memory")
    }

    /// An inode that must be in memory, to be changed.
    pub(super) fn inode_mut(&mut self, ino: u32) -> &mut Inode {
        self.cache_of(ino).loaded.as_deref_mut().expect("the inode is in memory")
    }

    /// Let an inode leave memory. If it has no name left, all its nodes become obsolete.
    pub(super) fn evict_inode(&mut self, ino: u32) {
        self.loaded_to_collect.remove(&ino);
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

    pub(super) fn mark_all_obsolete(&mut self, ids: impl IntoIterator<Item = NodeId>) {
        for id in ids {
            self.mark_obsolete(id);
        }
    }
}
