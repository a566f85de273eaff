//! Ring tables: they keep their newest rows, and give whole blocks of the oldest rows back.
//!
//! 1. The next record lets the oldest block go. No row of it is copied and no entry is looked for:
//!    merges drop the entries of blocks that are gone.
//! 2. A block may go once it lies wholly before the flush mark, and while no snapshot is open. No
//!    block goes once a transaction has begun: it goes on to find what it has seen.
//! 3. A record gives back at most one block, of all rings together. A transaction that took several
//!    is followed by as many records.
//! 4. Where space is short a ring gives back more than it has to: it never makes a writer wait.

use flysch_nand::Nand;

use super::space::Claim;
use super::{Db, DbError};
use crate::media::{SPANS_REFUSED, Space};
use crate::record::{BlockEnd, BlockSummary};
use crate::row::{Keep, RINGS_MAX};

/// Blocks that a ring keeps when others need space, besides the block of its head.
const LEAST: u32 = 1;
/// Greatest number of blocks whose summaries are tried, where the oldest block has none.
const ENDS_LOOKED_AT: u32 = 4;
/// Greatest number of records that one call writes so that blocks of rings may go.
const RECORDS_MAX: u32 = 4;

/// The oldest block of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Oldest {
    number: u32,
    /// How far the ring had come when the block was full.
    end: BlockEnd,
}

/// Which blocks the rings give back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rings {
    /// The oldest block of each ring; None until its summary was read.
    oldest: [Option<Oldest>; RINGS_MAX],
    /// The last commit of a row in the block that the next record lets go.
    floor: u32,
    /// Whether that block goes because space is short.
    is_pressed: bool,
    /// Whether all blocks stay, as a transaction has begun.
    are_kept: bool,
    /// Blocks that were given back since the open: because there were enough, and for want of
    /// space.
    pub(super) returned: u32,
    pub(super) pressed: u32,
}

impl Rings {
    /// The oldest block of a ring, where it has this number and its summary was read.
    fn known(&self, ring: usize, number: u32) -> Option<Oldest> {
        self.oldest[ring].filter(|oldest| oldest.number == number)
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// The rings: their spaces and what they keep.
    fn rings(&self) -> impl Iterator<Item = (usize, Space, Keep)> + use<'_, N> {
        let rings = Space::RINGS.into_iter().zip(self.schema.rings());
        rings.enumerate().map(|(ring, (space, (_, keep)))| (ring, space, keep))
    }

    /// Blocks of a ring, without that of its head.
    fn ring_blocks(&self, space: Space) -> u32 {
        let numbers = self.media.numbers();
        let first = self.records.stream(space).first;
        numbers.distance(first, self.media.head(space)) / numbers.pages_per_block
    }

    /// The number of the oldest block of a ring; None where it may not go.
    fn oldest(&mut self, space: Space) -> Option<u32> {
        let number = self.media.numbers().block_of(self.records.stream(space).first);
        let is_there = self.media.table.find(space, number).is_some();
        let has_newer = self.records.has_rows_behind(space, number, self.media.numbers());
        (is_there && has_newer && self.may_move(space, number)).then_some(number)
    }

    /// Choose the block that the next record gives back, where a ring has more than it keeps, or
    /// space is short. Cost: nothing as a rule; one read for each block of a ring.
    #[inline(never)]
    pub(super) fn advance_rings(&mut self) -> Result<(), DbError> {
        let may_go = self.compaction.gone.is_none() && !self.media.has_given_up();
        let are_kept = self.rings.are_kept || self.has_snapshots();
        if self.schema.ring_count() == 0 || !may_go || are_kept {
            return Ok(());
        }
        debug_assert!(self.under_way.is_none(), "blocks go between transactions");
        self.advance_firsts();
        let is_short = self.media.free_count() < self.wanted_free();
        for at in 0..RINGS_MAX {
            let Some((ring, space, keep)) = self.rings().nth(at) else { break };
            let Some(number) = self.oldest(space) else { continue };
            let has_enough = self.has_enough(ring, (space, number), keep)?;
            if has_enough || is_short && self.ring_blocks(space) > LEAST {
                self.give_back(ring, (space, number), !has_enough);
                break;
            }
        }
        Ok(())
    }

    /// Whether a ring keeps enough rows without its oldest block.
    fn has_enough(
        &mut self,
        ring: usize,
        (space, number): (Space, u32),
        keep: Keep,
    ) -> Result<bool, DbError> {
        let numbers = self.media.numbers();
        if let Keep::Bytes(bytes) = keep {
            let next = numbers.next_block(number * numbers.pages_per_block);
            let end = numbers.advance(self.records.stream(space).came.last, 1);
            // Where the rows behind the block are in the tail alone, no page has them yet.
            let is_on_page = numbers.block_of(self.records.stream(space).came.last) != number;
            let pages = if is_on_page { numbers.distance(next, end) } else { 0 };
            return Ok(u64::from(pages) * self.media.layout().page_size() as u64 >= bytes);
        }
        let Some(oldest) = self.read_end(ring, (space, number))? else { return Ok(false) };
        Ok(match keep {
            Keep::Rows(rows) => {
                let came = self.records.stream(space).came.rows.wrapping_sub(oldest.end.rows);
                // A rollback may have made the count less than it was at the block's end.
                came.cast_signed() >= 0 && came >= rows
            }
            Keep::Time(time) => self.now().saturating_sub(oldest.end.time) > time,
            Keep::Bytes(_) => false,
        })
    }

    /// How far a ring had come when its oldest block was full. Where that block has no summary, the
    /// summary of one of the next blocks answers. Cost: nothing where it is known, else a read or a
    /// few.
    fn read_end(
        &mut self,
        ring: usize,
        (space, number): (Space, u32),
    ) -> Result<Option<Oldest>, DbError> {
        let known = self.rings.known(ring, number);
        if known.is_some() {
            return Ok(known);
        }
        self.forget_frame();
        for behind in 0..ENDS_LOOKED_AT {
            let block = (number + behind) % self.media.numbers().block_count();
            let summary = BlockSummary::read(&mut self.media, (space, block), self.frame)?;
            if let Some(end) = summary.and_then(|summary| summary.end) {
                self.rings.oldest[ring] = Some(Oldest { number, end });
                break;
            }
        }
        Ok(self.rings.known(ring, number))
    }

    /// Have the next record give a block back.
    fn give_back(&mut self, ring: usize, (space, number): (Space, u32), is_pressed: bool) {
        debug_assert!(self.compaction.gone.is_none(), "one block goes at a time");
        debug_assert!(space.is_ring(), "rows of other tables are moved");
        debug_assert!(!self.has_snapshots(), "what a snapshot shows stays");
        debug_assert!(!self.rings.are_kept, "what a transaction has seen stays");
        debug_assert!(self.may_move(space, number), "the block lies before the flush mark");
        let known = self.rings.known(ring, number);
        // The commits of the block are not known, so nothing of the ring's past is shown any more.
        self.rings.floor = known.map_or(self.commit, |oldest| oldest.end.commit);
        self.rings.is_pressed = is_pressed;
        self.compaction.gone = Some((space, number));
    }

    /// Give more blocks back after a transaction that has taken so many: a ring would outgrow what
    /// it keeps else, as a record gives back one. Nothing is done where the transaction's record
    /// had no room for the first one. Cost: a record for each.
    pub(super) fn return_blocks(&mut self, taken: u64) -> Result<(), DbError> {
        let blocks = if self.compaction.gone.is_some() { 0 } else { taken };
        for _ in 0..blocks {
            self.advance_rings()?;
            let is_due = self.compaction.gone.is_some_and(|(space, _)| space.is_ring());
            if !is_due || !self.record_what_goes()? {
                break;
            }
        }
        Ok(())
    }

    /// Note that the record about to be written gives a block back.
    pub(super) fn note_given(&mut self, space: Space) {
        if space.is_ring() {
            let rings = &mut self.rings;
            *(if rings.is_pressed { &mut rings.pressed } else { &mut rings.returned }) += 1;
            let floor = rings.floor;
            let stream = self.records.stream_mut(space);
            stream.floor = stream.floor.max(floor);
        }
    }

    /// Do something while the rings give nothing back: a transaction has begun, and may have seen
    /// their rows.
    pub(super) fn with_rings_kept<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.keep_rings();
        self.rings.are_kept = true;
        let done = work(self);
        self.rings.are_kept = false;
        done
    }

    /// Keep a block that was chosen and not given back yet, as its rows are seen.
    pub(super) fn keep_rings(&mut self) {
        if !self.media.has_given_up() {
            self.compaction.gone = self.compaction.gone.filter(|(space, _)| !space.is_ring());
        }
    }

    /// Make space for a transaction that has none: give back the oldest blocks of the rings, and
    /// end snapshots that keep them. Cost: nothing while there is space; else up to four records,
    /// and a flush.
    #[inline(never)]
    pub(super) fn yield_rings(&mut self) -> Result<(), DbError> {
        debug_assert!(self.under_way.is_none(), "blocks go between transactions");
        for _ in 0..RECORDS_MAX {
            if self.schema.ring_count() == 0 || self.check_space(Claim::Grow).is_ok() {
                return Ok(());
            }
            if self.compaction.gone.is_none() {
                let Some((ring, space)) = self.longest_ring() else { return Ok(()) };
                if self.has_snapshots() {
                    self.drop_snapshots();
                }
                self.advance_firsts();
                if self.oldest(space).is_none() {
                    self.tolerate_full(|db| db.flush().map(|()| true))?;
                }
                let Some(number) = self.oldest(space) else { return Ok(()) };
                self.read_end(ring, (space, number))?;
                self.give_back(ring, (space, number), true);
            }
            if !self.record_what_goes()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The ring with the most blocks, of those that can spare one. Where void spans are too many,
    /// only rings that keep some of them count.
    fn longest_ring(&self) -> Option<(usize, Space)> {
        let spans = self.media.spans.as_slice();
        let has_many = spans.len() >= SPANS_REFUSED;
        let helps = |space| !has_many || spans.iter().any(|span| span.space == space);
        // Where a ring has no space for its new rows, its old rows yield.
        let least = if self.check_space(Claim::Turn).is_ok() { LEAST } else { 0 };
        let rings = self.rings().map(|(ring, space, _)| (ring, space));
        let spares = rings.filter(|(_, space)| self.ring_blocks(*space) > least && helps(*space));
        spares.max_by_key(|(_, space)| self.ring_blocks(*space))
    }
}
