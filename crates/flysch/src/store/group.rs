//! Which entries of one code a merge keeps. They come newest first where keys are unique, else by
//! pointer and the newest first among those of one pointer.
//!
//! 1. Where keys are unique, the first sole entry ends the sole ones behind it.
//! 2. A take-back ends the entry of its pointer behind it.
//! 3. Take-backs go where nothing older is left that they could end. Tombstones go there only where
//!    no row's entry of their code stays: it may name a cell in which a row lies that they end.
//! 4. An entry whose block is gone goes, and ends what it would have ended. A tombstone's stays as
//!    the newest of its code: a lookup that has led nowhere checks what is behind it.

use super::entry::{Entry, Shape, TAKE_BACK, TOMBSTONE};

/// Take-backs remembered at a time; with more of them a code keeps everything.
const PENDING_MAX: usize = 6;
/// Tombstones held back at a time; those behind them stay.
const HELD_MAX: usize = 3;

/// A tombstone that goes if no row's entry of its code stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    pointer: u32,
    flags: u8,
    /// Entries of the code that were passed with it.
    passed: u16,
}

/// What a merge has seen of one code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    key: Option<(u8, u64)>,
    has_sole: bool,
    /// Pointer and flags seen last.
    last: Option<(u32, u8)>,
    pending: [u32; PENDING_MAX],
    pending_len: u8,
    held: [Held; HELD_MAX],
    held_len: u8,
    /// Tombstones that were held back and were given since.
    released: u8,
    /// Whether an entry stays: tombstones are given from now on.
    has_kept: bool,
    /// Entries passed so far.
    pub(crate) passed: u16,
}

/// What is allowed to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// Nothing: a snapshot may need it.
    pub(crate) keeps_all: bool,
    /// Nothing older than the inputs is left.
    pub(crate) is_bottom: bool,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    Goes,
    /// It goes if nothing behind it stays.
    Waits,
}

impl Group {
    /// Begin the group of an entry, unless it belongs to this one.
    pub(crate) fn turn_to(&mut self, entry: &Entry) {
        let key = Some((entry.index, entry.code));
        if self.key != key {
            *self = Self { key, ..Self::default() };
        }
    }

    /// What becomes of an entry. `is_gone`: its block is.
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
            // What is behind the newest entry of a code may be stale, and is checked for it.
            if is_gone && (self.has_kept || self.held_len > 0) {
                return Fate::Goes;
            }
            let is_held = drops.is_bottom && !self.has_kept && self.held_len < HELD_MAX as u8;
            return if is_held { Fate::Waits } else { Fate::Stays };
        }
        stays(!is_gone)
    }

    /// Go past an entry.
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

    /// The tombstone that is to be given before an entry that stays.
    pub(crate) fn waiting(&self) -> Option<Entry> {
        let (index, code) = self.key?;
        let held = self.held[..usize::from(self.held_len)].get(usize::from(self.released))?;
        Some(Entry { index, code, pointer: held.pointer, flags: held.flags })
    }

    /// The tombstone that waited was given: entries of the code that were passed with it.
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
        let mut group = Group::default();
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
