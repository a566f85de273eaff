//! Surveys: what of a block is dead is counted, where it is not known.
//!
//! Dead shares are guesses, and nobody tells of tombstones that a merge has dropped, or of what
//! died before a cut. Where space is short and no block is known to be worth moving, the blocks are
//! looked through one after the other, without moving anything.

use flysch_nand::Nand;

use super::super::{Db, DbError};
use super::Look;
use super::victim::{Place, Victim};
use crate::media::{DEAD_MAX, Use};

/// The dead share, in sixteenths, from which on a block that was looked through is moved.
const DEAD_LEAST: usize = 4;
/// Rows that are replaced or deleted before blocks are looked through once more in vain.
const CHANGES_BETWEEN: u32 = 64;

/// Where surveys are at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    /// The block of the chip that is next.
    next: u32,
    /// Blocks that were looked through since one was worth it.
    in_vain: u32,
    /// Rows that were replaced or deleted since then.
    pub(super) changes: u32,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Begin to look through the next block of rows; false where that was in vain for all of them.
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
            let block = self.compaction.survey.next % count;
            self.compaction.survey.next = block + 1;
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

    /// Look some rows up, and count those that are there. Cost: as a step of compaction that looks
    /// rows up.
    #[inline(never)]
    pub(super) fn survey(&mut self, victim: Victim) -> Result<bool, DbError> {
        if victim.upto.page + 1 >= self.media.geometry().pages_per_block {
            self.end_survey(&victim);
            return Ok(true);
        }
        match self.look_at(victim)? {
            Look::Unfit => self.give_up_victim(),
            Look::End => self.note_upto(Place { page: victim.upto.page + 1, at: 0 }, false),
            // Pages of a long row are taken for pages that hold something.
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

    /// Bytes of a page of moved rows that a row takes at least: a page takes no more rows than the
    /// memory table has room for their entries, beside those of the tail.
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
        self.media.table.set_dead(block, if is_worth_it { (dead as u8).min(DEAD_MAX) } else { 0 });
        if is_worth_it {
            self.compaction.survey.in_vain = 0;
        }
    }
}
