//! Take-backs: entries whose rows are gone, in indexes with many rows for each key.
//!
//! Readers take back what they find to be gone, as far as the memory for entries has room. Where
//! that was not enough, updates go ahead of them: each takes back the entries of the row that it
//! replaces. That is one entry more for each update and index, so they do it only for a while after
//! a reader could not.

use super::Store;
use super::entry::{Entry, TAKE_BACK};
use super::error::StoreError;

/// Take-backs until updates leave them to readers again.
const COUNT: u16 = 16_384;

/// In which indexes readers fell behind, and what updates do about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    /// A bit for each index.
    indexes: u8,
    /// How many more take-backs updates do.
    left: u16,
}

impl Behind {
    /// Readers keep up.
    pub(super) const NONE: Self = Self { indexes: 0, left: 0 };
}

impl Store<'_> {
    /// Whether an entry of an index may be taken back by a reader: no page is lost, the open
    /// transaction has no entries, and more than an eighth of the memory table is free. Where only
    /// that is not, updates go ahead from now on. An entry that stays costs reads, and is never
    /// wrong.
    pub(crate) fn takes_back(&mut self, index: u8) -> bool {
        let has_room = self.memtable.free_size() * 8 > self.config.memtable_size;
        let is_open = self.memtable.has_open() || self.has_opens();
        let is_sure = !is_open && self.lost.is_empty();
        if is_sure && !has_room {
            self.behind = Behind { indexes: self.behind.indexes | 1 << index, left: COUNT };
        }
        is_sure && has_room
    }

    /// Take back an entry whose row is gone, in an index with many rows for each key: lookups pass
    /// it, and merges drop it. That is no change for cursors: one that holds the entry still finds
    /// its row gone. Cost: none.
    pub(crate) fn take_back(&mut self, entry: &Entry) {
        debug_assert!(!self.has_one_row(entry.index), "newer entries hide those of a unique key");
        debug_assert!(!self.memtable.has_open(), "what is open may be undone");
        debug_assert!(self.is_updated(entry.index), "lookups begin at the newest entries");
        self.memtable.put(&Entry { flags: TAKE_BACK, ..*entry }, false);
        self.memtable.commit(false);
    }

    /// Whether updates take back the entries of the rows that they replace.
    pub(crate) const fn goes_ahead(&self, index: u8) -> bool {
        self.behind.indexes >> index & 1 == 1
    }

    /// Take back an entry whose row the open transaction replaced, as far as there is room. It is
    /// undone with the transaction. Cost: none.
    pub(crate) fn take_back_ahead(&mut self, entry: &Entry) -> Result<(), StoreError> {
        debug_assert!(!self.keeps_all, "a snapshot may show the row");
        debug_assert!(self.is_updated(entry.index), "lookups begin at the newest entries");
        if self.has_room(1) {
            self.put(&Entry { flags: TAKE_BACK, ..*entry })?;
            let left = self.behind.left.saturating_sub(1);
            self.behind = if left == 0 { Behind::NONE } else { Behind { left, ..self.behind } };
        }
        Ok(())
    }
}
