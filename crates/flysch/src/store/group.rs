//! Which entries of one code a merge keeps. In a unique index they come newest first, in others by
//! pointer, and the newest first of one pointer.
//!
//! 1. In a unique index the newest entry that is not shared replaces the older ones that are not.
//! 2. A take-back cancels the entry of its pointer that follows it.
//! 3. Take-backs are dropped where the merge includes the oldest run: nothing older is left to
//!    cancel. Tombstones are dropped there only if no entry of a row of their code stays. Such an
//!    entry may name a cell in which a deleted row lies, which only the tombstone tells.
//! 4. An entry whose block is gone is dropped, with those that it replaced. One of a tombstone
//!    stays if it is the newest of its code: a lookup that it leads nowhere checks what comes
//!    behind it.

use super::entry::{Entry, Shape, TAKE_BACK, TOMBSTONE};

/// Take-backs that are remembered at a time. A code with more of them keeps all its entries.
const PENDING_MAX: usize = 6;
/// Tombstones that are held back at a time. Further ones are kept.
const HELD_MAX: usize = 3;

/// A tombstone that is dropped if no entry of a row of its code is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    pointer: u32,
    flags: u8,
    /// Entries of the code that were passed, up to this one.
    passed: u16,
}

/// What a merge knows of the code that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    key: Option<(u8, u64)>,
    has_sole: bool,
    /// Pointer and flags of the entry before.
    last: Option<(u32, u8)>,
    pending: [u32; PENDING_MAX],
    pending_len: u8,
    held: [Held; HELD_MAX],
    held_len: u8,
    /// How many tombstones that were held back have been written since.
    released: u8,
    /// Whether an entry is kept, so that tombstones are written from now on.
    has_kept: bool,
    /// Entries of the code that were passed so far.
    pub(crate) passed: u16,
}

/// What a merge may drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// It may drop nothing: a snapshot may need it.
    pub(crate) keeps_all: bool,
    /// The merge includes the oldest run, so nothing older is left behind it.
    pub(crate) is_bottom: bool,
}

/// What a merge does with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    Goes,
    /// It is dropped if no entry behind it is kept.
    Waits,
}

impl Group {
    /// Before the first code.
    pub(crate) const NONE: Self = Self {
        key: None,
        has_sole: false,
        last: None,
        pending: [0; PENDING_MAX],
        pending_len: 0,
        held: [Held { pointer: 0, flags: 0, passed: 0 }; HELD_MAX],
        held_len: 0,
        released: 0,
        has_kept: false,
        passed: 0,
    };

    /// Begin the group of an entry, unless it is of the same code as the present one.
    pub(crate) fn turn_to(&mut self, entry: &Entry) {
        let key = Some((entry.index, entry.code));
        if self.key != key {
            *self = Self { key, ..Self::NONE };
        }
    }

    /// What is done with an entry. `is_gone` says that its block was let go.
    pub(crate) fn fate(&self, entry: &Entry, shape: Shape, drops: Drops, is_gone: bool) -> Fate {
        let stays = |stays: bool| if stays { Fate::Stays } else { Fate::Goes };
        if drops.keeps_all {
            return Fate::Stays;
        }
        if !shape.is_unique {
            let is_last = drops.is_bottom && entry.is(TAKE_BACK);
            let is_ended = self.last.is_some_and(|(pointer, _)| pointer == entry.pointer);
            return stays(!is_ended && !is_last && !is_gone);
        }
        let pending = &self.pending[..usize::from(self.pending_len)];
        let overflows = pending.len() == PENDING_MAX;
        let is_ended = self.has_sole && entry.is_sole() || pending.contains(&entry.pointer);
        let is_again = self.last == Some((entry.pointer, entry.flags));
        if is_ended || is_again {
            return Fate::Goes;
        }
        if drops.is_bottom && entry.is(TAKE_BACK) {
            return stays(overflows);
        }
        if entry.is(TOMBSTONE) {
            // Lookups check what is behind the newest entry of a code. So only the newest one is
            // needed.
            if is_gone && (self.has_kept || self.held_len > 0) {
                return Fate::Goes;
            }
            let is_held = drops.is_bottom && !self.has_kept && self.held_len < HELD_MAX as u8;
            return if is_held { Fate::Waits } else { Fate::Stays };
        }
        stays(!is_gone)
    }

    /// Pass an entry, which got this fate.
    pub(crate) fn note(&mut self, entry: &Entry, fate: Fate) {
        self.passed = self.passed.saturating_add(1);
        self.last = Some((entry.pointer, entry.flags));
        self.has_sole |= entry.is_sole();
        self.has_kept |= fate == Fate::Stays;
        let len = usize::from(self.pending_len);
        if entry.is(TAKE_BACK) && len < PENDING_MAX {
            debug_assert!(len < PENDING_MAX, "there is room for the pointer");
            self.pending[len] = entry.pointer;
            self.pending_len += 1;
        }
        if fate == Fate::Waits {
            let held = Held { pointer: entry.pointer, flags: entry.flags, passed: self.passed };
            debug_assert!(usize::from(self.held_len) < HELD_MAX, "there is room for the tombstone");
            debug_assert!(entry.is(TOMBSTONE), "only tombstones wait");
            self.held[usize::from(self.held_len)] = held;
            self.held_len += 1;
        }
    }

    /// The tombstone that is to be written before an entry that is kept; None where none was held
    /// back.
    pub(crate) fn waiting(&self) -> Option<Entry> {
        let (index, code) = self.key?;
        let held = self.held[..usize::from(self.held_len)].get(usize::from(self.released))?;
        Some(Entry { index, code, pointer: held.pointer, flags: held.flags })
    }

    /// Note that the held tombstone was written; returns the entries of the code passed up to it.
    pub(crate) fn release(&mut self) -> u16 {
        let passed = self.held[usize::from(self.released)].passed;
        debug_assert!(self.released < self.held_len, "one waits");
        self.released += 1;
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::SHARED;
    use super::*;

    const ONE: Shape = Shape { code_bits: 20, pointer_bits: 20, is_unique: true };
    const MANY: Shape = Shape { is_unique: false, ..ONE };

    fn kept(entries: &[(u32, u8)], shape: Shape, is_bottom: bool) -> [bool; 6] {
        let mut group = Group::NONE;
        let mut kept = [false; 6];
        for (at, (pointer, flags)) in entries.iter().enumerate() {
            let entry = Entry { index: 0, code: 9, pointer: *pointer, flags: *flags };
            group.turn_to(&entry);
            let drops = Drops { keeps_all: false, is_bottom };
            let fate = group.fate(&entry, shape, drops, *pointer == GONE);
            kept[at] = fate == Fate::Stays;
            while kept[at] && group.waiting().is_some() {
                kept[usize::from(group.release()) - 1] = true;
            }
            group.note(&entry, fate);
        }
        kept
    }

    /// A pointer into a block that is gone.
    const GONE: u32 = 77;

    #[test]
    fn the_newest_sole_entry_ends_the_older_ones() {
        let entries = [(9, 0), (8, SHARED), (7, TOMBSTONE), (6, 0), (5, SHARED)];
        assert_eq!(kept(&entries, ONE, false), [true, true, false, false, true, false]);
    }

    #[test]
    fn tombstones_go_with_the_last_of_their_code() {
        let dead = [(9, TOMBSTONE), (8, 0), (7, SHARED)];
        assert_eq!(kept(&dead, ONE, false), [true, false, true, false, false, false]);
        assert_eq!(kept(&dead, ONE, true), [true, false, true, false, false, false]);
        assert_eq!(kept(&dead[..2], ONE, true), [false; 6]);
        let behind = [(9, SHARED), (8, TOMBSTONE), (7, 0)];
        assert_eq!(kept(&behind, ONE, true), [true, true, false, false, false, false]);
        let many = [(9, TOMBSTONE | SHARED), (8, TOMBSTONE), (5, TOMBSTONE | SHARED), (4, SHARED)];
        assert_eq!(kept(&many, ONE, true), [true, true, true, true, false, false]);
        assert_eq!(kept(&many[..3], ONE, true), [false; 6]);
    }

    #[test]
    fn an_entry_of_a_block_that_is_gone_ends_what_is_older() {
        let entries = [(GONE, 0), (8, 0), (7, SHARED), (7, SHARED)];
        assert_eq!(kept(&entries, ONE, false), [false, false, true, false, false, false]);
        assert_eq!(kept(&[(GONE, TOMBSTONE), (8, 0)], ONE, false)[..2], [true, false]);
        let many = [(9, SHARED), (GONE, TOMBSTONE | SHARED), (7, SHARED)];
        assert_eq!(kept(&many, ONE, false)[..3], [true, false, true]);
        assert_eq!(kept(&many[1..], ONE, true)[..2], [true, true]);
        assert_eq!(kept(&[(GONE, 0), (8, 0)], MANY, false)[..2], [false, true]);
    }

    #[test]
    fn shared_entries_are_taken_back_by_pointer() {
        let back = SHARED | TAKE_BACK;
        let entries = [(9, SHARED), (5, back), (7, 0), (5, SHARED), (4, SHARED)];
        assert_eq!(kept(&entries, ONE, false), [true, true, true, false, true, false]);
        assert_eq!(kept(&entries, ONE, true), [true, false, true, false, true, false]);
    }

    #[test]
    fn of_many_rows_each_pointer_stands_alone() {
        let entries = [(3, 0), (5, TAKE_BACK), (5, 0), (6, 0), (6, TAKE_BACK), (6, 0)];
        assert_eq!(kept(&entries, MANY, false), [true, true, false, true, false, false]);
        assert_eq!(kept(&entries, MANY, true), [true, false, false, true, false, false]);
    }
}
