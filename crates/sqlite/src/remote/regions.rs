//! The shared memory of write-ahead logs: a file for each database that is in use. Processes map
//! the files; only the locks on them are kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use super::folder::Folder;
use crate::shm::{RegionAt, SlotLock, Slots};

/// The shared memory of all databases, by the database's name.
#[derive(Default)]
pub(super) struct Regions {
    nodes: BTreeMap<String, Node>,
    made: u32,
}

struct Node {
    users: BTreeSet<u64>,
    number: u32,
    file: File,
    path: PathBuf,
    size: u64,
    slots: Slots,
}

impl Regions {
    /// The number of the file that holds a region. 0 if the region does not exist and `extend` is
    /// not set.
    pub(super) fn map(
        &mut self,
        folder: &Folder,
        name: &str,
        user: u64,
        at: RegionAt,
    ) -> io::Result<u32> {
        if !self.nodes.contains_key(name) {
            self.made += 1;
            self.nodes.insert(name.to_owned(), Node::new(folder, self.made)?);
        }
        let node = self.nodes.get_mut(name).expect("it is there by now");
        node.users.insert(user);
        let end = (at.index as u64 + 1) * at.size as u64;
        if node.size < end {
            if !at.extend {
                return Ok(0);
            }
            node.file.set_len(end)?;
            node.size = end;
        }
        Ok(node.number)
    }

    /// Lock or release slots, as [`Slots::lock`]. Returns false if the database is not mapped.
    pub(super) fn lock(
        &mut self,
        name: &str,
        user: u64,
        slots: Range<usize>,
        how: SlotLock,
    ) -> bool {
        self.nodes.get_mut(name).is_some_and(|node| node.slots.lock(user, slots, how))
    }

    /// End the mapping of `user` and release its locks. With the last user, the memory is removed.
    pub(super) fn unmap(&mut self, name: &str, user: u64) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.users.remove(&user);
        node.slots.release_all(user);
        if node.users.is_empty() {
            // An error does not matter: the folder is removed at the end, with everything in it.
            let _unseen = fs::remove_file(&node.path);
            self.nodes.remove(name);
        }
    }
}

impl Node {
    fn new(folder: &Folder, number: u32) -> io::Result<Self> {
        let path = folder.file(&format!("wal-index-{number}"));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        let (users, slots) = (BTreeSet::new(), Slots::default());
        Ok(Self { users, number, file, path, size: 0, slots })
    }
}
