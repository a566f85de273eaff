//! The shared memory of the write-ahead log: regions on the heap and eight lock slots per database.
//!
//! Invariants:
//! 1. A region never moves while anyone maps the database, because SQLite keeps its address.
//! 2. A slot has either any number of shared holders, or one exclusive holder and no other user
//!    with a shared lock.
//! 3. A database's memory is freed with its last user. The next user rebuilds the content from the
//!    log.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use libsqlite3_sys::SQLITE_SHM_NLOCK;

const SLOT_COUNT: usize = SQLITE_SHM_NLOCK.cast_unsigned() as usize;

/// The memory is in words of 8 bytes, because SQLite reads 8 bytes at a time. The words are cells,
/// because C code writes to them although Rust only has a shared reference.
type Region = Rc<[Cell<u64>]>;

/// The shared memory of all databases, by the database's name.
#[derive(Default)]
pub(crate) struct ShmTable {
    nodes: BTreeMap<String, Node>,
}

#[derive(Default)]
struct Node {
    users: BTreeSet<u64>,
    regions: Vec<Region>,
    slots: Slots,
}

/// The lock slots of a database.
#[derive(Default)]
pub(crate) struct Slots([Slot; SLOT_COUNT]);

#[derive(Default)]
struct Slot {
    readers: BTreeSet<u64>,
    writer: Option<u64>,
}

/// What to do with lock slots of a database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SlotLock {
    Shared,
    Exclusive,
    Release,
}

impl ShmTable {
    /// Map region `index` of `size` bytes for `user`. `None` if it does not exist and `extend` is
    /// not set.
    pub(crate) fn map(&mut self, name: &str, user: u64, at: RegionAt) -> Option<Region> {
        let node = self.nodes.entry(name.to_owned()).or_default();
        node.users.insert(user);
        while at.extend && node.regions.len() <= at.index {
            let words = at.size.div_ceil(size_of::<u64>());
            node.regions.push((0..words).map(|_| Cell::new(0)).collect());
        }
        node.regions.get(at.index).map(Rc::clone)
    }

    /// Lock or release `slots` of a database, as [`Slots::lock`].
    pub(crate) fn lock(
        &mut self,
        name: &str,
        user: u64,
        slots: Range<usize>,
        how: SlotLock,
    ) -> bool {
        let node = self.nodes.get_mut(name).expect("shared memory is mapped before it is locked");
        node.slots.lock(user, slots, how)
    }

    /// End the mapping of `user` and release its locks.
    pub(crate) fn unmap(&mut self, name: &str, user: u64) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.users.remove(&user);
        node.slots.release_all(user);
        if node.users.is_empty() {
            self.nodes.remove(name);
        }
    }
}

impl Slots {
    /// Lock or release `slots` for `user`. If another user's lock prevents it, or if a slot does
    /// not exist, nothing changes and the function returns false.
    pub(crate) fn lock(&mut self, user: u64, slots: Range<usize>, how: SlotLock) -> bool {
        let Some(slots) = self.0.get_mut(slots) else { return false };
        let granted = slots.iter().all(|slot| slot.allows(user, how));
        if granted {
            for slot in slots {
                slot.set(user, how);
            }
        }
        granted
    }

    pub(crate) fn release_all(&mut self, user: u64) {
        for slot in &mut self.0 {
            slot.set(user, SlotLock::Release);
        }
    }
}

/// A region of a database's shared memory.
#[derive(Clone, Copy)]
pub(crate) struct RegionAt {
    pub(crate) index: usize,
    pub(crate) size: usize,
    pub(crate) extend: bool,
}

impl Slot {
    fn allows(&self, user: u64, how: SlotLock) -> bool {
        let written = self.writer.is_some_and(|writer| writer != user);
        match how {
            SlotLock::Shared => !written,
            SlotLock::Exclusive => !written && self.readers.iter().all(|reader| *reader == user),
            SlotLock::Release => true,
        }
    }

    fn set(&mut self, user: u64, how: SlotLock) {
        match how {
            SlotLock::Shared => {
                self.readers.insert(user);
            }
            SlotLock::Exclusive => self.writer = Some(user),
            SlotLock::Release => {
                self.readers.remove(&user);
                self.writer = self.writer.filter(|writer| *writer != user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_locked_together_and_go_with_their_user() {
        let mut table = ShmTable::default();
        let at = RegionAt { index: 1, size: 32768, extend: true };
        let address = table.map("f", 1, at).map(|region| region.as_ptr());
        assert_eq!(table.map("f", 2, at).map(|region| region.as_ptr()), address);
        assert!(table.lock("f", 1, 3..4, SlotLock::Shared));
        assert!(table.lock("f", 2, 3..4, SlotLock::Shared));
        assert!(!table.lock("f", 1, 2..5, SlotLock::Exclusive));
        assert!(table.lock("f", 2, 2..3, SlotLock::Exclusive), "nothing is kept of a refusal");
        assert!(!table.lock("f", 1, 2..3, SlotLock::Shared));
        table.unmap("f", 2);
        assert!(table.lock("f", 1, 2..3, SlotLock::Exclusive));
        table.unmap("f", 1);
        assert!(table.map("f", 1, RegionAt { extend: false, ..at }).is_none());
    }
}
