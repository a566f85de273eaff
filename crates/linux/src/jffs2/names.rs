//! The names that a mount scan finds, each with its newest dirent.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Dirent, DirentType};
use super::nodes::{NodeId, NodeState};
use super::{Jffs2, ROOT};

#[derive(Default)]
pub(super) struct ScannedNames {
    /// The newest dirent of each name, by directory and name.
    newest: BTreeMap<(u32, Vec<u8>), Name>,
    /// Dirents on damaged pages. They are accepted if the inodes that they name turn up.
    doubtful: Vec<(NodeId, Dirent)>,
    /// Pages that ECC could not correct. Some of their nodes may not have been recognised.
    pub(super) damaged_pages: u32,
}

struct Name {
    version: u32,
    ino: Option<u32>,
    kind: DirentType,
    node: NodeId,
}

impl ScannedNames {
    /// Enter a dirent. Returns the dirent of the same name that becomes obsolete by it, which may
    /// be the new one.
    fn enter(&mut self, node: NodeId, dirent: Dirent) -> Option<NodeId> {
        let ino = (dirent.ino != 0).then_some(dirent.ino);
        let name = Name { version: dirent.version, ino, kind: dirent.kind, node };
        let key = (dirent.parent, dirent.name);
        match self.newest.get(&key).map(|known| known.version) {
            Some(version) if version > name.version => Some(name.node),
            // One dirent is a copy of the other that the collector made. The summary of a
            // half-erased block still lists its old nodes, so only a read tells which of the two is
            // there.
            Some(version) if version == name.version => None,
            _ => self.newest.insert(key, name).map(|older| older.node),
        }
    }

    /// Count the names of each inode that the root directory leads to.
    pub(super) fn links(&self) -> BTreeMap<u32, u32> {
        let mut links = BTreeMap::from([(ROOT, 1)]);
        let mut seen = BTreeSet::from([ROOT]);
        let mut waiting = vec![ROOT];
        while let Some(dir) = waiting.pop() {
            let inside = self
                .newest
                .range((dir, Vec::new())..)
                .take_while(|((parent, _), _)| *parent == dir);
            for (_, name) in inside {
                let Some(ino) = name.ino else { continue };
                *links.entry(ino).or_insert(0) += 1;
                if name.kind == DirentType::DIRECTORY && seen.insert(ino) {
                    waiting.push(ino);
                }
            }
        }
        links
    }
}

impl Jffs2 {
    /// Enter a dirent that the scan found, and keep the newest dirent of each name.
    pub(super) fn adopt_dirent(
        &mut self,
        offset: u32,
        len: u32,
        dirent: Dirent,
        (names, is_damaged): (&mut ScannedNames, bool),
    ) {
        self.ino_max = self.ino_max.max(dirent.ino).max(dirent.parent);
        self.note_version(dirent.parent, dirent.version);
        let node = self.link_scanned(offset, len, NodeState::Pristine, dirent.parent);
        if is_damaged {
            names.doubtful.push((node, dirent));
        } else if let Some(loser) = names.enter(node, dirent) {
            self.book_scanned_dead(loser);
        }
    }

    /// Accept the dirents on damaged pages whose inodes have nodes. The inodes of the others lost
    /// their first node with the page; such dirents must not hide older ones.
    pub(super) fn decide_doubtful(&mut self, names: &mut ScannedNames) {
        for (node, dirent) in std::mem::take(&mut names.doubtful) {
            let exists = self.inodes.get(&dirent.ino).is_some_and(|it| !it.nodes.is_empty());
            let loser = if exists { names.enter(node, dirent) } else { Some(node) };
            if let Some(loser) = loser {
                self.mark_obsolete(loser);
            }
        }
    }
}
