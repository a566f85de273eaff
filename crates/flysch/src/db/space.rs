//! Space: how many blocks are kept back so that a full device can go on, and when compaction is
//! due.
//!
//! 1. Inserts and updates stop before deletes do, and deletes before the log and compaction.
//! 2. A space of rows has only so many numbers for blocks. Where they run short, because the oldest
//!    block stays, that is a lack of space as well. Lives of one commit come to that: each leaves a
//!    page out, and none does enough compaction to move a block.
//! 3. A commit does compaction in return for the rows it appended. Where space is short it does
//!    more. Where it has much else to do, it leaves some to the commits after it.

use flysch_nand::Nand;

use super::call::Limit;
use super::compact::Compaction;
use super::{Db, DbError};
use crate::log::{CHANGES_AHEAD, list_len};
use crate::media::SPANS_REFUSED;
use crate::record::{PARTS, ROW_SPACES};

/// Rows that one step of compaction is assumed to look at.
const ROWS_A_STEP: u32 = 4;
/// Blocks that may be wanted within a few commits: of rows, of moved rows, of a flush, of a merge,
/// of the log.
const HEADS: u32 = 5;
/// Most blocks by which compaction begins earlier on a part of more blocks.
const SPARE_MAX: u32 = 4;
/// Pages that flushes, small merges and checkpoints may take before those go that they replace.
/// Found by measuring.
const PAGES_PASSING: u32 = 48;
/// Rows of a record from which on the next transaction is taken to be long, too.
const ROWS_MANY: u32 = 16;
/// Steps of compaction in return for a row up to which a call does them where it has little else
/// to do.
const PACE_CALM: u32 = 2;
/// The same from which on none may wait, as hardly a block is left.
const PACE_URGENT: u32 = 8;
/// Greatest number of steps that wait.
const STEPS_WAITING: u32 = 16;
/// Blocks that a long transaction finds beside the one that each finds: one of rows and one of a
/// run, to the end of which it may come.
const BLOCKS_OF_MANY: u32 = 2;
/// Blocks that a transaction finds beside those without which it does not begin. As long as only
/// they are missing, a call does no more than [`STEPS_AHEAD`] steps for them, up to a limit.
const BLOCKS_AHEAD: u32 = 2;
/// Steps of compaction and slices of merges that a call does where few blocks are left.
const STEPS_AHEAD: u32 = 24;
/// Bytes of a row of one small number.
const ROW_SIZE_LEAST: u32 = 5;
/// Greatest number of records that one call writes so that blocks may go.
const RECORDS_MAX: u32 = 4;

/// Blocks that a commit may take, beside those of the log: one for each part of the tail, and one
/// for each of two runs.
const COMMIT_BLOCKS: usize = PARTS + 2;

/// Blocks that a transaction may take in any case, as long as there are free ones.
const TRANSACTION_BLOCKS: usize = 4;

/// Numbers of blocks that a space keeps back for a commit after rows that are refused.
const NUMBERS_KEPT: u32 = 4;

/// Free blocks that short rows leave to deletes: a tombstone takes about as much as such a row, and
/// is there until all older entries of its key are gone.
const SHORT_RESERVE: u32 = 2;
/// Bytes of the values of such a row, at most.
const SHORT: u64 = 28;

/// Free blocks that are kept back for each ring.
const RING_RESERVE: u32 = 2;

/// What one call of [`Db::maintain`] may cost, in array operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Reads, programs and erases together, about: a step that was begun is completed.
    pub operations: u32,
}

/// For what a row is appended. It decides how many free blocks must be left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Claim {
    /// It adds to the rows there are.
    #[default]
    Grow,
    /// It adds a row that is hardly longer than its tombstone.
    GrowShort,
    /// It is a row of a ring table, which gives old rows back in return.
    Turn,
    /// It deletes a row.
    Shrink,
}

impl Claim {
    /// That of a row whose values have so many bytes, which adds to those that there are.
    pub(super) const fn of_row(len: u64) -> Self {
        if len <= SHORT { Self::GrowShort } else { Self::Grow }
    }

    /// Whether the row adds to those that there are.
    pub(super) const fn grows(self) -> bool {
        matches!(self, Self::Grow | Self::GrowShort)
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Free blocks that a transaction may not use, because something more urgent needs them.
    fn kept_back(&self, claim: Claim) -> u32 {
        // The heads of new rows and of moved ones each take a block.
        let base = u32::from(list_len(self.media.partition().count)) + 2;
        let merged = self.kept_for_merge();
        let kept = match claim {
            Claim::Shrink => base,
            Claim::Turn => base + 1,
            Claim::Grow => base + merged + 1 + self.ring_reserve(merged),
            Claim::GrowShort => self.kept_back(Claim::Grow) + SHORT_RESERVE,
        };
        debug_assert!(kept >= base, "what ends rows stops last");
        kept
    }

    /// Blocks kept back for a merge, which writes an index again before it lets the old runs go.
    fn kept_for_merge(&self) -> u32 {
        self.store.merge_size().div_ceil(self.media.geometry().pages_per_block)
    }

    /// Blocks kept back for rings, so that they go on where other tables are refused rows. Their
    /// indexes may grow until merges drop the entries of blocks that were given back.
    fn ring_reserve(&self, merged: u32) -> u32 {
        let rings = self.schema.ring_count() as u32;
        if rings > 0 { RING_RESERVE * rings + merged } else { 0 }
    }

    /// Refuse a row for which there is no space.
    pub(super) fn check_space(&self, claim: Claim) -> Result<(), DbError> {
        if self.has_space(claim, 0) { Ok(()) } else { Err(DbError::Full) }
    }

    /// Whether there is space for a row, and so many free blocks more.
    fn has_space(&self, claim: Claim, more: u32) -> bool {
        let is_free = self.has_free(claim, more);
        let has_spans = self.media.spans.as_slice().len() < SPANS_REFUSED;
        is_free && has_spans && self.has_numbers(claim, 0)
    }

    /// Whether more blocks are free than are kept back, and so many more. What is kept back for the
    /// next merge may be blocks that the last one has left, which are free once there is a record.
    fn has_free(&self, claim: Claim, more: u32) -> bool {
        let (free, kept) = (self.media.free_count(), self.kept_back(claim) + more);
        let is_free_soon = || free + self.kept_for_merge().min(self.going()) > kept;
        free > kept || claim.grows() && is_free_soon()
    }

    /// Whether the spaces can name the blocks that a row may need, and so many more. Those of rings
    /// always can: their oldest blocks go.
    fn has_numbers(&self, claim: Claim, more: u32) -> bool {
        let least = match claim {
            Claim::Grow | Claim::GrowShort => self.media.numbers().block_count() / 8,
            Claim::Turn => 0,
            Claim::Shrink => NUMBERS_KEPT,
        };
        let wanted = least + more;
        debug_assert!(wanted * 4 < self.media.numbers().block_count(), "blocks are moved before");
        ROW_SPACES.into_iter().all(|space| self.numbers_left(space) >= wanted)
    }

    /// See to it that the next record has a place for a block more than a commit may take. A
    /// transaction that has taken too many is committed by a checkpoint, which has the whole block
    /// table. Cost: none.
    pub(super) fn make_room_for_changes(&mut self) {
        if !self.has_room_for(1) {
            self.log.outgrow(&mut self.media);
            // A record in the `NvRam` has no block table.
            self.is_log_due = true;
        }
    }

    /// Whether the next record has a place for so many blocks more than a commit may take.
    fn has_room_for(&self, blocks: usize) -> bool {
        let wanted = COMMIT_BLOCKS + self.log.blocks_wanted(self.media.partition().count);
        self.media.changes.room() >= wanted + blocks
    }

    /// See to it that a transaction may take some blocks before it is too long: go on in the next
    /// log block, whose records name none yet. Cost: nothing as a rule, else a checkpoint.
    pub(super) fn name_blocks_ahead(&mut self) -> Result<(), DbError> {
        if self.media.changes.room() >= CHANGES_AHEAD && self.has_room_for(TRANSACTION_BLOCKS) {
            return Ok(());
        }
        self.log.end_block(self.media.geometry().pages_per_block);
        (self.is_lazy, self.is_log_due) = (true, true);
        self.sync()
    }

    /// Number of free blocks below which compaction is due.
    pub(super) fn wanted_free(&self) -> u32 {
        self.kept_back(Claim::Grow) + self.margin()
    }

    /// How many free blocks beside those kept back compaction begins with. All heads may come to
    /// the ends of their blocks at once, while a block that is being emptied takes some hundred
    /// steps. A part of few blocks has none to spare for that. Small blocks come and go by the way.
    fn margin(&self) -> u32 {
        let blocks = self.media.partition().count;
        let passing = PAGES_PASSING / self.media.geometry().pages_per_block;
        HEADS + (blocks / 24).min(SPARE_MAX) + (blocks / 32).min(passing) + blocks / 128
    }

    /// Steps of compaction in return for a row: more of them the fewer blocks are left before a
    /// call has to free a whole block.
    fn pace(&self) -> u32 {
        let least = if self.has_to_free() { PACE_CALM } else { 1 };
        let kept = self.kept_back(Claim::Grow) + self.blocks_of_session();
        let left = self.media.free_count().saturating_sub(kept);
        let pace = match left * 8 / self.margin() {
            0 => 16,
            1 => PACE_URGENT,
            2 | 3 => 4,
            4 | 5 => PACE_CALM,
            _ => 1,
        };
        pace.max(least)
    }

    /// Whether rows have to be moved even where that frees little. A session begins with it some
    /// blocks earlier, so that it has freed one before it is wanted ahead of a transaction.
    fn is_pressed(&self) -> bool {
        let wanted = self.wanted_free() + self.blocks_of_session();
        self.media.free_count() < wanted || self.has_to_free() || self.compaction.victim.is_some()
    }

    /// Free blocks that a session keeps until its compaction has freed one: as many as a few rows
    /// may come to the end of, of rows, of a flush, of the log.
    fn blocks_of_session(&self) -> u32 {
        let few = 2 + u32::from(list_len(self.media.partition().count));
        if self.compaction.keeps_up { 0 } else { few }
    }

    /// Do the compaction for the rows of a transaction, and what those before it left. A lack of
    /// free blocks is no error here; it is one when a block is needed.
    pub(super) fn compact_in_return(&mut self) -> Result<(), DbError> {
        self.compaction.refused = 0;
        let rows = core::mem::take(&mut self.unpaid);
        if !self.is_pressed() {
            return Ok(());
        }
        self.press_snapshots();
        let pace = if self.is_surveying_again() {
            self.press_merges();
            1
        } else {
            self.pace()
        };
        self.compact_at(pace, rows)?;
        self.compaction.keeps_up |= self.compaction.gone.is_some();
        // The next transaction may be as long, and nothing is moved before it ends.
        if rows >= ROWS_MANY {
            self.compact_until(self.steps_of_two_blocks(), None, &|db| {
                db.has_space(Claim::Grow, 1 + BLOCKS_OF_MANY)
            })?;
        }
        Ok(())
    }

    /// Do so many steps of compaction for each row, and some that waited, until enough blocks are
    /// free. As many as may wait do so where the call has done enough.
    fn compact_at(&mut self, pace: u32, rows: u32) -> Result<(), DbError> {
        let is_calm = pace <= PACE_CALM;
        let may_wait = pace < PACE_URGENT && rows < ROWS_MANY && !self.has_to_free();
        let waiting = core::mem::take(&mut self.compaction.waiting);
        let again = if is_calm { waiting.min(rows * pace) } else { 0 };
        let (waiting, limit) = (waiting - again, self.limit_of_call());
        let left = self.compact_some(rows * pace + again, &|db, left| {
            let may_more_wait = is_calm && waiting + left <= STEPS_WAITING;
            let has_to_wait = || db.is_at(limit) || may_more_wait && db.is_near(limit);
            rows >= ROWS_MANY && !db.is_pressed() || may_wait && has_to_wait()
        })?;
        // No step waits once enough blocks are free.
        let left = left.map(|left| if may_wait { left } else { 0 });
        debug_assert!(left.is_none_or(|left| left <= rows * pace + again), "no step is done twice");
        self.compaction.waiting = left.map_or(0, |left| (waiting + left).min(STEPS_WAITING));
        Ok(())
    }

    /// Whether a transaction may begin, and so many blocks more are free. Until the compaction that
    /// commits do has freed a block, there has to be space for a few rows, whatever blocks these
    /// come to the end of: of rows, of a flush, of the log. Sessions of few commits go by that
    /// alone. Numbers are always wanted for many blocks: transactions that are rolled back use them
    /// up, and no commit does compaction for those.
    fn has_space_ahead(&self, more: u32) -> bool {
        let blocks = self.media.partition().count;
        let few = self.blocks_of_session();
        // A transaction that is tried again and again finds more space each time.
        let wanted = (few + self.compaction.refused).min(blocks / 2) + more;
        let many_blocks = self.media.numbers().block_count() / 16;
        self.has_space(self.compaction.claim, wanted) && self.has_numbers(Claim::Grow, many_blocks)
    }

    /// Steps of compaction that move the rows of two blocks, be they as short as they may.
    fn steps_of_two_blocks(&self) -> u32 {
        let rows_of_page = self.media.layout().payload_size() as u32 / ROW_SIZE_LEAST;
        2 * self.media.geometry().pages_per_block * rows_of_page / ROWS_A_STEP
    }

    /// Make all snapshots too old where space is short, or a block that they need has to be moved.
    fn press_snapshots(&mut self) {
        let is_short = self.media.free_count() <= self.kept_back(Claim::Grow) + BLOCKS_AHEAD + 1;
        if self.has_snapshots() && (is_short || self.is_forced()) {
            self.drop_snapshots();
        }
    }

    /// Get space for a transaction before it begins. One that follows deletes may itself delete,
    /// and does not wait for space that it may not need. Cost: nothing while there is some; else
    /// up to [`STEPS_AHEAD`] steps, after others than deletes up to [`Limit::AHEAD`], and where it
    /// would be refused rows up to what moving the rows
    /// of two blocks costs, and slices of merges where nothing can be moved.
    pub(super) fn compact_ahead(&mut self) -> Result<(), DbError> {
        debug_assert!(self.records.marks.len() == 0, "what savepoints go back to is not moved");
        self.press_snapshots();
        if self.compaction.deleted > 0 {
            // Merges go on, which drop what was deleted.
            self.compact_towards(None, &|db, more| {
                db.has_space(Claim::Shrink, 1 + db.kept_for_merge().min(more))
            })?;
        } else if !self.has_space_ahead(BLOCKS_AHEAD) {
            self.compact_towards(Some(Limit::AHEAD), &Self::has_space_ahead)?;
            // What cannot be gained now is not sought again before each transaction.
            self.compaction.keeps_up |= self.has_space(Claim::Grow, 0) && !self.has_space_ahead(0);
        }
        Ok(())
    }

    /// Get the space for a transaction that follows deletes, and turns out to begin otherwise.
    pub(super) fn find_space(&mut self) -> Result<(), DbError> {
        let is_first = self.under_way.is_some_and(|tx| tx.rows == 0);
        if !is_first || self.compaction.deleted == 0 || self.records.marks.len() > 0 {
            return Ok(());
        }
        self.compaction.deleted = 0;
        self.under_way = None;
        let done = self.with_rings_kept(Self::compact_ahead);
        self.begin_now();
        done
    }

    /// Move rows until there is enough space, which `has_enough` tells of so many blocks more, or
    /// nothing is left to do. Where only blocks ahead are missing, the next transactions go on.
    fn compact_towards(
        &mut self,
        limit: Option<Limit>,
        has_enough: &dyn Fn(&Self, u32) -> bool,
    ) -> Result<(), DbError> {
        self.compact_until(STEPS_AHEAD, limit, &|db| has_enough(db, BLOCKS_AHEAD))?;
        self.compact_until(self.steps_of_two_blocks(), None, &|db| has_enough(db, 0))
    }

    /// Move rows until there is enough space, or so many steps are done, or the call has come to
    /// its limit, or nothing is left to do.
    fn compact_until(
        &mut self,
        mut steps: u32,
        limit: Option<Limit>,
        has_enough: &dyn Fn(&Self) -> bool,
    ) -> Result<(), DbError> {
        let is_at_limit = |db: &Self| limit.is_some_and(|limit| db.is_at(limit));
        while steps > 0 && !has_enough(self) && !is_at_limit(self) {
            let some = steps.min(16);
            steps -= some;
            let before = self.compaction_reach();
            if !self.is_surveying_again() {
                self.compact_some(some, &|db, _| is_at_limit(db))?;
            }
            // Merges of what was moved may have taken the last free blocks, while those of old runs
            // wait for a record.
            if self.compaction.gone.is_some() || self.has_blocks_to_let_go() {
                self.record_what_goes()?;
            }
            let slices = if limit.is_some() { 1 } else { some };
            if before == self.compaction_reach() && !self.merge_some(slices)? {
                break;
            }
        }
        Ok(())
    }

    /// As no rows are to be moved: where hardly a block is left, have merges drop what runs hold of
    /// rows that were replaced. A larger margin costs programs: merges take blocks while they last.
    fn press_merges(&mut self) {
        if !self.has_space(Claim::Grow, BLOCKS_AHEAD) {
            self.store.press(self.media.geometry().pages_per_block);
        }
    }

    /// Do so many slices of merges, or fewer where fewer are due, and let the blocks of old runs
    /// go. Sessions that end after a commit get no further with merges than their rows pay for, and
    /// their runs would hold all blocks. Returns whether anything was done.
    fn merge_some(&mut self, slices: u32) -> Result<bool, DbError> {
        if self.is_surveying_again() {
            self.press_merges();
        }
        let mut done = 0;
        while done < slices && self.tolerate_full(Self::work)? {
            done += 1;
        }
        let may_let_go = self.may_let_go();
        if may_let_go {
            self.record_what_goes()?;
        }
        Ok(done > 0 || may_let_go)
    }

    /// Whether space is short, and a record would free blocks of old runs.
    fn has_blocks_to_let_go(&self) -> bool {
        self.is_letting_due() && self.going() > 0
    }

    /// How far compaction has come: what it wrote and read, and the page of the victim. A step over
    /// a void page reads nothing.
    fn compaction_reach(&self) -> (u64, u32, Option<u32>) {
        let page = self.compaction.victim.filter(|victim| !victim.is_surveyed);
        (self.media.write, self.media.counts.reads, page.map(|victim| victim.upto.page))
    }

    /// Do so many steps of compaction, or fewer where fewer are to be done, and the merges for the
    /// entries that they add. Before each of them `may_stop` is asked, with how many are left.
    /// Returns that number, or None where nothing more is to be done.
    fn compact_some(
        &mut self,
        steps: u32,
        may_stop: &dyn Fn(&Self, u32) -> bool,
    ) -> Result<Option<u32>, DbError> {
        debug_assert!(self.under_way.is_none(), "rows are moved between transactions");
        let mut records = 0;
        for left in (1..=steps).rev() {
            if may_stop(self, left) {
                return Ok(Some(left));
            }
            if self.is_merge_next() {
                self.tolerate_full(Self::work)?;
                continue;
            }
            if self.move_or_merge()? {
                continue;
            }
            if self.compaction.gone.is_none() || records == RECORDS_MAX {
                return Ok(None);
            }
            records += 1;
            self.record_what_goes()?;
        }
        Ok(Some(0))
    }

    /// Whether the next step is to be a slice of a merge. Entries of moved rows are merged as those
    /// of new rows are, but in turn with the moves: these would else come to a halt while a large
    /// merge goes on.
    fn is_merge_next(&mut self) -> bool {
        let Compaction { owed, is_merge_last, .. } = &mut self.compaction;
        *owed = if self.store.is_due() { *owed } else { 0 };
        *is_merge_last = *owed > 0 && !*is_merge_last;
        *owed -= u32::from(*is_merge_last);
        *is_merge_last
    }

    /// Whether so few blocks are left that moves may use up those that the next merge takes. Moved
    /// rows and their entries take pages before a block is free. Short rows may take two or three
    /// blocks in place of one.
    fn is_scarce(&self) -> bool {
        self.media.free_count() <= self.kept_back(Claim::Shrink) + self.kept_for_merge()
    }

    /// Do a step of compaction; where blocks are scarce, a merge goes first. Returns whether either
    /// was done.
    fn move_or_merge(&mut self) -> Result<bool, DbError> {
        let has_merged = self.is_scarce() && self.tolerate_full(Self::merge_first)?;
        Ok(has_merged || self.tolerate_full(Self::compact_step)?)
    }

    /// Do a slice of a merge of all levels, or let the blocks of old runs go. Returns whether
    /// anything was done.
    fn merge_first(&mut self) -> Result<bool, DbError> {
        self.store.press(self.media.geometry().pages_per_block);
        Ok(self.work()? || self.has_blocks_to_let_go() && self.record_what_goes()?)
    }

    /// Write the record that lets blocks go: one whose rows were moved, or which was copied, or
    /// those of old runs. It follows no commit, so it goes to the log, never to the `NvRam`.
    pub(super) fn record_what_goes(&mut self) -> Result<bool, DbError> {
        debug_assert!(self.under_way.is_none(), "no record is written in mid-transaction");
        (self.is_lazy, self.is_log_due) = (true, true);
        self.tolerate_full(|db| db.record().map(|()| true))
    }

    /// Take the error that no block is free for nothing done.
    #[inline(never)]
    pub(super) fn tolerate_full(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<bool, DbError>,
    ) -> Result<bool, DbError> {
        match step(self) {
            Err(DbError::Full) => Ok(false),
            done => done,
        }
    }

    /// Do work ahead of time: move rows out of blocks with much that is dead, continue merges, copy
    /// blocks for wear levelling and scrubbing, erase the next blocks. Returns whether any work is
    /// left. Cost: about the budget.
    pub fn maintain(&mut self, budget: Budget) -> Result<bool, DbError> {
        self.roll_back_open()?;
        self.settle()?;
        let spent = |db: &Self| {
            let counts = db.media.counts;
            counts.reads + counts.programs_in_all() + counts.erases
        };
        let start = spent(self);
        loop {
            if spent(self).wrapping_sub(start) >= budget.operations {
                return Ok(true);
            }
            let has_worked = self.tolerate_full(Self::work)?;
            let has_moved = self.move_or_merge()?;
            let has_copied = self.tolerate_full(Self::copy_step)?;
            self.advance_rings()?;
            let is_record_due = self.compaction.gone.is_some()
                || self.media.has_given_up()
                || self.has_blocks_to_let_go();
            // A device that is worn out may have no block left for the log.
            let has_recorded = is_record_due && self.record_what_goes()?;
            if !has_worked && !has_moved && !has_copied && !has_recorded {
                return Ok(false);
            }
        }
    }

    /// Pages of rows that compaction moved since the open.
    pub const fn moved_pages(&self) -> u32 {
        self.compaction.moves
    }

    /// Pass over the blocks at the beginning of the row spaces that were let go.
    pub(super) fn advance_firsts(&mut self) {
        let numbers = self.media.numbers();
        for space in ROW_SPACES {
            let stream = *self.records.stream(space);
            let stops = [stream.mark, self.media.head(space)].map(|page| numbers.block_of(page));
            let mut first = stream.first;
            while !stops.contains(&numbers.block_of(first))
                && self.media.table.find(space, numbers.block_of(first)).is_none()
            {
                first = numbers.next_block(first);
            }
            debug_assert!(
                numbers.distance(stream.first, first)
                    <= numbers.distance(stream.first, stream.mark),
                "no page is passed whose entries wait"
            );
            self.records.stream_mut(space).first = first;
        }
    }
}
