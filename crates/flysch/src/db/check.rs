//! What holds of a database before and after each step of a transaction and of a record, in every
//! session.

use flysch_nand::Nand;

use super::Db;
use crate::media::{SPANS_LAST, SPANS_MAX, SPANS_REFUSED, Space};
use crate::record::PART_SPACES;
use crate::row::RINGS_MAX;

const _: () = assert!(RINGS_MAX == Space::RINGS.len(), "each ring has a space");
const _: () = assert!(SPANS_REFUSED < SPANS_LAST, "compaction goes on where transactions stop");
const _: () = assert!(SPANS_LAST < SPANS_MAX, "mounts go on where compaction stops");

impl<N: Nand> Db<'_, '_, N> {
    /// Check what holds between two steps.
    pub(super) fn check(&self) {
        let tail = &self.records.tail;
        let (committed, is_open) = (tail.committed().len(), self.under_way.is_some());
        debug_assert!(committed == tail.rows().len() || is_open, "a transaction has open rows");
        debug_assert!(self.records.marks.len() == 0 || is_open, "a transaction has savepoints");
        let is_spilled = |space: &Space| self.records.open_page(*space).is_some();
        debug_assert!(
            is_open || !PART_SPACES.iter().any(is_spilled),
            "a transaction has open pages"
        );
        debug_assert!(self.doubt.is_none() || !is_open, "a transaction begins on what is certain");
        debug_assert!(self.log.logged() <= committed, "records hold committed rows alone");
        debug_assert!(self.commit > 0, "commits are counted from 1");
        debug_assert!(self.held.is_none() || self.held_cells.is_none(), "the frame holds one page");
        self.compaction.check();
    }
}
