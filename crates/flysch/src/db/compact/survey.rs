//! Surveys: estimating how much of a block is dead, without moving anything.
//!
//! The block table only guesses how much of a block is dead. It does not hear of tombstones that a
//! merge dropped, nor of rows that were replaced before a cut. So where space is short and no block
//! is known to be worth moving, blocks are looked at one after the other.
//!
//! 1. A survey looks up some rows of some pages, and takes the rest of the block to be like them.
//!    To look all of them up would cost as much as to move them, for each block of a device that is
//!    merely full.
//! 2. Pages that were programmed before they were full count as dead in part, and their rows are
//!    packed on full pages. That happens once: a block of full pages is worth it only where rows of
//!    it are dead.
//! 3. A session begins with some block, for what earlier ones found may be on flash or not.

use flysch_nand::Nand;

use super::super::{Db, DbError};
use super::victim::{DEAD_MIN, Place};
use super::{Look, SURVEYED};
use crate::media::{DEAD_MAX, Use};

/// Dead sixteenths of a block from which on a survey has its rows moved.
const DEAD_LEAST: usize = 4;
/// Pages that a survey looks at: one of each of so many equal parts of the block.
const PARTS: u32 = 8;

/// The state of surveys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    /// The physical block that is surveyed next; None before the first.
    next: Option<u32>,
    /// Blocks surveyed since the last one that was worth moving.
    in_vain: u32,
    /// Blocks surveyed in this session.
    count: u32,
    /// Bytes of the rows that were replaced or deleted since a survey began.
    dead: u32,
    /// The physical block that a survey found worth moving last.
    worth: Option<u32>,
}

impl Survey {
    /// Whether a block was found to be worth moving.
    pub(super) fn is_worth(&self, block: u32) -> bool {
        self.worth == Some(block)
    }

    /// Forget which block was found to be worth moving: it is free soon, and has other rows then.
    pub(super) const fn forget_worth(&mut self) {
        self.worth = None;
    }

    /// Note that a row of so many bytes was replaced or deleted.
    pub(super) const fn note_dead(&mut self, len: usize) {
        self.dead = self.dead.saturating_add(len as u32);
    }
}

/// Whether moved rows take so many bytes in place of those they have that moving them is a loss.
/// The memory table may take more of their entries than it does for certain, up to this.
pub(super) const fn is_spread(taken: usize, size: usize) -> bool {
    taken > size * 3 / 2
}

impl<N: Nand> Db<'_, '_, N> {
    /// Begin to survey the next block of rows; false where all were surveyed in vain, and too few
    /// rows were replaced or deleted since to make one block worth it.
    #[inline(never)]
    pub(super) fn begin_survey(&mut self) -> Result<bool, DbError> {
        let count = self.media.table.len();
        if self.media.free_count() >= self.wanted_free() {
            return Ok(false);
        }
        let size = self.rows_size(self.pages_of_rows());
        let least = size * DEAD_LEAST / usize::from(DEAD_MAX + 1);
        if self.compaction.survey.dead as usize >= least {
            self.compaction.survey.in_vain = 0;
        }
        while self.compaction.survey.in_vain < count {
            self.compaction.survey.dead = 0;
            let survey = &mut self.compaction.survey;
            let block = survey.next.unwrap_or(self.media.write as u32) % count;
            survey.next = Some(block + 1);
            self.compaction.survey.in_vain += 1;
            self.compaction.survey.count = self.compaction.survey.count.saturating_add(1);
            if let Use::Data(space, number) = self.media.table.at(block)
                && space.is_compacted()
                && self.may_move(space, number)
            {
                return self.take_victim((space, number), true);
            }
        }
        Ok(false)
    }

    /// Whether nothing is left to do but to survey blocks that were surveyed in this session
    /// before. No call waits for that.
    pub(in crate::db) fn is_surveying_again(&mut self) -> bool {
        self.compaction.survey.count >= self.media.table.len()
            && self.compaction.victim.is_none_or(|victim| victim.is_surveyed)
            && self.choose_victim().is_none()
    }

    /// How many pages a survey goes on by.
    const fn surveyed_step(&self) -> u32 {
        self.pages_of_rows().div_ceil(PARTS)
    }

    /// The first page that a survey looks at, another one each time.
    pub(super) const fn first_surveyed(&self) -> u32 {
        self.media.write as u32 % self.surveyed_step()
    }

    /// Look up rows of the next page of a surveyed block. Cost: that of a step of compaction that
    /// looks rows up.
    #[inline(never)]
    pub(super) fn survey(&mut self) -> Result<bool, DbError> {
        let page = self.compaction.victim.map_or(0, |victim| victim.upto.page);
        if page >= self.pages_of_rows() {
            self.end_survey();
            return Ok(true);
        }
        let payload = self.media.layout().payload_size();
        let live = match &self.look_at(SURVEYED)? {
            Look::Unfit => {
                self.give_up_victim();
                return Ok(true);
            }
            Look::End => 0,
            Look::Long(_) | Look::More => payload,
            Look::Rows { rows, count, upto, used } => {
                let (mut live, least) = (0, self.moved_size_min());
                debug_assert!(upto.at > 0, "rows have bytes");
                for row in &rows[..*count] {
                    if self.stays(row)? {
                        live += row.len.max(least);
                    }
                }
                // Short rows may take several pages in place of the one that they are on.
                let live = live * used / upto.at;
                if is_spread(live, payload) { live } else { live.min(payload) }
            }
        };
        let step = self.surveyed_step();
        if let Some(victim) = &mut self.compaction.victim {
            debug_assert!(victim.is_surveyed && victim.len == 0, "a survey has no window");
            victim.upto = Place { page: page + step, at: 0 };
            victim.bytes += live;
        }
        Ok(true)
    }

    /// Least share of a page that a moved row takes, in bytes. The memory table has room for the
    /// entries of so many rows, and a page takes no more of them.
    pub(super) fn moved_size_min(&self) -> usize {
        let rows = self.store.capacity() / 2 / self.widest().max(1);
        self.media.layout().payload_size() / rows.max(1)
    }

    fn end_survey(&mut self) {
        let Some(victim) = self.compaction.victim.take() else { return };
        let Some(block) = self.media.table.find(victim.space, victim.number) else { return };
        let size = self.rows_size(victim.upto.page / self.surveyed_step());
        let dead = size.saturating_sub(victim.bytes) * usize::from(DEAD_MAX + 1) / size;
        let is_worth_it = dead >= DEAD_LEAST;
        // One that is not worth it yet is so once a little more of it is dead.
        let most = if is_worth_it { DEAD_MAX } else { DEAD_MIN - 1 };
        self.media.note_share(block, (dead as u8).min(most));
        if is_worth_it {
            self.compaction.survey.in_vain = 0;
            self.compaction.survey.worth = Some(block);
        }
    }
}
