//! Which entries of one code a merge keeps. They come newest first where keys are unique, else by
//! pointer and the newest first among those of one pointer.
//!
//! 1. Where keys are unique, the first sole entry ends the sole ones behind it.
//! 2. A take-back ends the entry of its pointer behind it.
//! 3. Take-backs and tombstones go where nothing older is left that they could end.

use super::entry::{Entry, Shape, TAKE_BACK, TOMBSTONE};

/// Take-backs remembered at a time; with more of them a code keeps everything.
const PENDING_MAX: usize = 6;

/// What a merge has seen of one code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    key: Option<(u8, u64)>,
    has_sole: bool,
    /// The pointer seen last.
    last: Option<u32>,
    pending: [u32; PENDING_MAX],
    pending_len: u8,
    /// Entries given so far.
    pub(crate) given: u16,
}

/// What is allowed to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// Nothing: a snapshot may need it.
    pub(crate) keeps_all: bool,
    /// Nothing older than the inputs is left.
    pub(crate) is_bottom: bool,
}

impl Group {
    /// Begin the group of an entry, unless it belongs to this one.
    pub(crate) fn turn_to(&mut self, entry: &Entry) {
        let key = Some((entry.index, entry.code));
        if self.key != key {
            *self = Self { key, ..Self::default() };
        }
    }

    /// Whether an entry stays.
    pub(crate) fn keeps(&self, entry: &Entry, shape: Shape, drops: Drops) -> bool {
        if drops.keeps_all {
            return true;
        }
        if !shape.is_unique {
            let is_last = drops.is_bottom && entry.is(TAKE_BACK);
            return self.last != Some(entry.pointer) && !is_last;
        }
        let pending = &self.pending[..usize::from(self.pending_len)];
        let overflows = pending.len() == PENDING_MAX;
        let is_ended = self.has_sole && entry.is_sole() || pending.contains(&entry.pointer);
        let ends_nothing = entry.flags & (TAKE_BACK | TOMBSTONE) != 0;
        !is_ended && (!drops.is_bottom || !ends_nothing || overflows)
    }

    /// Go past an entry.
    pub(crate) fn note(&mut self, entry: &Entry, is_kept: bool) {
        self.given = self.given.saturating_add(u16::from(is_kept));
        self.last = Some(entry.pointer);
        self.has_sole |= entry.is_sole();
        let len = usize::from(self.pending_len);
        if entry.is(TAKE_BACK) && len < PENDING_MAX {
            self.pending[len] = entry.pointer;
            self.pending_len += 1;
        }
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
        for (kept, (pointer, flags)) in kept.iter_mut().zip(entries) {
            let entry = Entry { index: 0, code: 9, pointer: *pointer, flags: *flags };
            group.turn_to(&entry);
            *kept = group.keeps(&entry, shape, Drops { keeps_all: false, is_bottom });
            group.note(&entry, *kept);
        }
        kept
    }

    #[test]
    fn the_newest_sole_entry_ends_the_older_ones() {
        let entries = [(9, 0), (8, SHARED), (7, TOMBSTONE), (6, 0), (5, SHARED)];
        assert_eq!(kept(&entries, ONE, false), [true, true, false, false, true, false]);
        let dead = [(9, TOMBSTONE), (8, 0), (7, SHARED)];
        assert_eq!(kept(&dead, ONE, false), [true, false, true, false, false, false]);
        assert_eq!(kept(&dead, ONE, true), [false, false, true, false, false, false]);
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
