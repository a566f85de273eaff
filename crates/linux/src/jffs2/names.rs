//! The names that a mount scan finds: of each the newest dirent.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Dirent, DirentType};
use super::nodes::{NodeId, NodeState};
use super::{Jffs2, ROOT};

/// Names found on flash.
#[derive(Default)]
pub(super) struct ScannedNames {
    /// The newest dirent of each, by directory and name.
    newest: BTreeMap<(u32, Vec<u8>), Name>,
    /// Dirents on damaged pages: believed if what they name turns up.
    doubtful: Vec<(NodeId, Dirent)>,
}

struct Name {
    version: u32,
    ino: Option<u32>,
    kind: DirentType,
    node: NodeId,
}

impl ScannedNames {
    /// Enter a dirent; tell which of its name it makes dead.
    fn enter(&mut self, node: NodeId, dirent: Dirent) -> Option<NodeId> {
        let ino = (dirent.ino != 0).then_some(dirent.ino);
        let name = Name { version: dirent.version, ino, kind: dirent.kind, node };
        let key = (dirent.parent, dirent.name);
        match self.newest.get(&key).map(|known| known.version) {
            Some(version) if version > name.version => Some(name.node),
            // A copy that the collector made. Which of the two is really there only a read tells: a
            // half-erased block's summary still lists what it had.
            Some(version) if version == name.version => None,
            _ => self.newest.insert(key, name).map(|older| older.node),
        }
    }

    /// Count the names of each inode that can be reached from the root.
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
    /// Keep the newest dirent of each name.
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

    /// Believe the dirents on damaged pages whose inodes are known. The others are what is left of
    /// files whose first node was lost with the page: they must not hide older ones.
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
