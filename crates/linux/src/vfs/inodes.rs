//! The inode cache: which regular files are in memory, and how many descriptors each has open.

use std::collections::BTreeMap;

use crate::filesystem::Ino;

#[derive(Clone, Debug, Default)]
pub(super) struct Inodes(BTreeMap<Ino, Life>);

#[derive(Clone, Debug, Default)]
struct Life {
    user_count: u32,
    has_lost_name: bool,
}

impl Inodes {
    /// Keep an inode in memory until the caches are dropped.
    pub(super) fn keep(&mut self, ino: Ino) {
        self.0.entry(ino).or_default();
    }

    pub(super) fn open(&mut self, ino: Ino) {
        self.0.entry(ino).or_default().user_count += 1;
    }

    /// Count one user less. Returns whether the inode must be evicted.
    pub(super) fn close(&mut self, ino: Ino) -> bool {
        let life = self.0.get_mut(&ino).expect("the inode has a user");
        life.user_count -= 1;
        let ends = life.user_count == 0 && life.has_lost_name;
        if ends {
            self.0.remove(&ino);
        }
        ends
    }

    /// Note that a name of the inode is gone. Returns whether the inode must be evicted.
    pub(super) fn lose_name(&mut self, ino: Ino) -> bool {
        match self.0.get_mut(&ino) {
            Some(life) if life.user_count > 0 => {
                life.has_lost_name = true;
                false
            }
            _idle => {
                self.0.remove(&ino);
                true
            }
        }
    }

    /// Forget the inodes without users, and list them.
    pub(super) fn forget_idle(&mut self) -> Vec<Ino> {
        let idle = self.0.iter().filter(|(_, life)| life.user_count == 0).map(|(&ino, _)| ino);
        let idle: Vec<Ino> = idle.collect();
        for ino in &idle {
            self.0.remove(ino);
        }
        idle
    }
}
