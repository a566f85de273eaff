//! Surveys: counting how much of a block is dead, without moving anything.
//!
//! The block table only guesses how much of a block is dead. It does not hear of tombstones that a
//! merge dropped, nor of rows that were replaced before a cut. So where space is short and no block
//! is known to be worth moving, blocks are looked through one after the other.
//!
//! Pages that were programmed before they were full count as dead in part, and their rows are
//! packed on full pages. That happens once: a block of full pages is worth it only where rows of it
//! are dead. A session begins with some block, for what earlier ones found may be on flash or not.

use flysch_nand::Nand;

use super::super::{Db, DbError};
use super::Look;
use super::victim::{Place, Victim};
use crate::media::{DEAD_MAX, Use};

/// Dead sixteenths of a block from which on a survey has its rows moved.
const DEAD_LEAST: usize = 4;
/// Rows that must be replaced or deleted before blocks are surveyed again, after a round in vain.
const CHANGES_BETWEEN: u32 = 64;

/// The state of surveys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    /// The physical block that is surveyed next; None before the first.
    next: Option<u32>,
    /// Blocks surveyed since the last one that was worth moving.
    in_vain: u32,
    /// Rows replaced or deleted since then.
    pub(super) changes: u32,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Begin to survey the next block of rows; false where all were surveyed in vain.
    #[inline(never)]
    pub(super) fn begin_survey(&mut self) -> Result<bool, DbError> {
        let count = self.media.table.len();
        if self.media.free_count() >= self.wanted_free() {
            return Ok(false);
        }
        if self.compaction.survey.changes >= CHANGES_BETWEEN {
            self.compaction.survey.in_vain = 0;
        }
        while self.compaction.survey.in_vain < count {
            self.compaction.survey.changes = 0;
            let survey = &mut self.compaction.survey;
            let block = survey.next.unwrap_or(self.media.write as u32) % count;
            survey.next = Some(block + 1);
            self.compaction.survey.in_vain += 1;
            if let Use::Data(space, number) = self.media.table.at(block)
                && space.is_compacted()
                && self.may_move(space, number)
            {
                return self.take_victim((space, number), true);
            }
        }
        Ok(false)
    }

    /// Look up the next rows of a surveyed block, and count those that are current. Cost: that of a
    /// step of compaction that looks rows up.
    #[inline(never)]
    pub(super) fn survey(&mut self, victim: Victim) -> Result<bool, DbError> {
        debug_assert!(victim.is_surveyed && victim.len == 0, "a survey counts, and has no window");
        if victim.upto.page + 1 >= self.media.geometry().pages_per_block {
            self.end_survey(&victim);
            return Ok(true);
        }
        match self.look_at(victim)? {
            Look::Unfit => self.give_up_victim(),
            Look::End => self.note_upto(Place { page: victim.upto.page + 1, at: 0 }),
            // A page that continues a long row counts as full.
            Look::Long(_) => {
                let rest = self.media.geometry().pages_per_block - 1 - victim.upto.page;
                let bytes = victim.bytes + rest as usize * self.media.layout().payload_size();
                self.end_survey(&Victim { bytes, ..victim });
            }
            Look::Rows(rows, count, upto) => {
                let mut bytes = victim.bytes;
                let least = self.moved_size_min();
                for row in &rows[..count] {
                    if self.stays(row)? {
                        bytes += row.len.max(least);
                    }
                }
                self.compaction.victim = Some(Victim { upto, bytes, ..victim });
            }
        }
        Ok(true)
    }

    /// Least share of a page that a moved row takes, in bytes. The memory table has room for the
    /// entries of so many rows, and a page takes no more of them.
    fn moved_size_min(&self) -> usize {
        let widest = self.schema.tables.iter().map(|table| table.indexes.len()).max();
        let rows = self.store.capacity() / 2 / widest.unwrap_or(1).max(1);
        self.media.layout().payload_size() / rows.max(1)
    }

    fn end_survey(&mut self, victim: &Victim) {
        self.compaction.victim = None;
        let Some(block) = self.media.table.find(victim.space, victim.number) else { return };
        let pages = self.media.geometry().pages_per_block as usize - 1;
        let size = self.media.layout().payload_size() * pages;
        let dead = size.saturating_sub(victim.bytes) * usize::from(DEAD_MAX + 1) / size;
        let is_worth_it = dead >= DEAD_LEAST;
        self.media.note_share(block, if is_worth_it { (dead as u8).min(DEAD_MAX) } else { 0 });
        if is_worth_it {
            self.compaction.survey.in_vain = 0;
        }
    }
}
