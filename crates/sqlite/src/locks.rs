//! SQLite's file locks between the connections of one `Vfs`. The holder of a lock is an open file
//! of a connection.
//!
//! Invariants:
//! 1. While one holder is reserved, pending or exclusive, no other holder is.
//! 2. While one holder is exclusive, no other holds anything.
//! 3. A pending holder keeps new readers out. It becomes exclusive once the present readers have
//!    left.

use std::collections::BTreeMap;

/// How strongly a file is locked, in SQLite's order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum LockLevel {
    None,
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

/// The levels in the order of SQLite's `SQLITE_LOCK_*` numbers.
pub(crate) const LEVELS: [LockLevel; 5] = [
    LockLevel::None,
    LockLevel::Shared,
    LockLevel::Reserved,
    LockLevel::Pending,
    LockLevel::Exclusive,
];

impl LockLevel {
    /// Number of calls of `fcntl` with which SQLite's unix VFS takes this lock, coming from the
    /// level below (`unixLock` in `os_unix.c`). A shared lock takes and releases the pending byte.
    pub(crate) const fn calls_to_take(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Shared => 3,
            Self::Reserved | Self::Pending => 1,
            Self::Exclusive => 2,
        }
    }

    /// Number of calls with which it lowers a lock to this level (`posixUnlock`).
    pub(crate) const fn calls_to_release(self) -> u32 {
        match self {
            Self::None => 1,
            Self::Shared | Self::Reserved | Self::Pending | Self::Exclusive => 2,
        }
    }
}

/// The locks on all files, by the file's name and the holder.
#[derive(Default)]
pub(crate) struct LockTable {
    files: BTreeMap<String, BTreeMap<u64, LockLevel>>,
}

impl LockTable {
    /// Raise `holder`'s lock to `wanted`. Returns false if another holder's lock prevents that.
    pub(crate) fn acquire(&mut self, name: &str, holder: u64, wanted: LockLevel) -> bool {
        let held = self.level(name, holder);
        if held >= wanted {
            return true;
        }
        let others = self.strongest_other(name, holder);
        let granted = match wanted {
            LockLevel::None => true,
            LockLevel::Shared => others < LockLevel::Pending,
            LockLevel::Reserved => others < LockLevel::Reserved,
            LockLevel::Pending | LockLevel::Exclusive => others == LockLevel::None,
        };
        if granted {
            self.set(name, holder, wanted);
        } else if wanted == LockLevel::Exclusive && others == LockLevel::Shared {
            self.set(name, holder, LockLevel::Pending);
        }
        granted
    }

    /// Lower `holder`'s lock to `level`.
    pub(crate) fn release(&mut self, name: &str, holder: u64, level: LockLevel) {
        assert!(level <= LockLevel::Shared, "locks are only lowered to shared or none");
        if self.level(name, holder) > level {
            self.set(name, holder, level);
        }
    }

    /// Whether anyone holds a reserved lock or a stronger one.
    pub(crate) fn is_reserved(&self, name: &str) -> bool {
        self.files
            .get(name)
            .is_some_and(|holders| holders.values().any(|level| *level >= LockLevel::Reserved))
    }

    pub(crate) fn level(&self, name: &str, holder: u64) -> LockLevel {
        let held = self.files.get(name).and_then(|holders| holders.get(&holder));
        held.copied().unwrap_or(LockLevel::None)
    }

    fn strongest_other(&self, name: &str, holder: u64) -> LockLevel {
        let holders = self.files.get(name).into_iter().flatten();
        let others = holders.filter(|(id, _)| **id != holder).map(|(_, level)| *level);
        others.max().unwrap_or(LockLevel::None)
    }

    fn set(&mut self, name: &str, holder: u64, level: LockLevel) {
        let holders = self.files.entry(name.to_owned()).or_default();
        if level == LockLevel::None {
            holders.remove(&holder);
        } else {
            holders.insert(holder, level);
        }
        if holders.is_empty() {
            self.files.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LockLevel::{Exclusive, None, Pending, Reserved, Shared};
    use super::*;

    #[test]
    fn what_another_holder_may_have() {
        let cases = [
            (Shared, Shared, true),
            (Shared, Reserved, true),
            (Shared, Exclusive, false),
            (Reserved, Shared, true),
            (Reserved, Reserved, false),
            (Pending, Shared, false),
            (Exclusive, Shared, false),
        ];
        for (first, second, granted) in cases {
            let mut table = LockTable::default();
            assert!(table.acquire("f", 1, first));
            assert_eq!(table.acquire("f", 2, second), granted, "{first:?} then {second:?}");
            assert!(table.acquire("g", 2, second), "another file is free");
        }
    }

    #[test]
    fn a_waiting_writer_keeps_new_readers_out() {
        let mut table = LockTable::default();
        assert!(table.acquire("f", 1, Shared) && table.acquire("f", 2, Reserved));
        assert!(!table.acquire("f", 2, Exclusive));
        assert!(!table.acquire("f", 3, Shared));
        table.release("f", 1, None);
        assert!(table.acquire("f", 2, Exclusive) && table.is_reserved("f"));
        table.release("f", 2, None);
        assert!(table.files.is_empty());
    }
}
