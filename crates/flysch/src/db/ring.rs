//! Rings: tables that keep their newest rows, and give whole blocks of the oldest back.
//!
//! 1. A block goes with the record that follows, the oldest first. No row is copied, and no entry
//!    is looked for: merges drop those whose blocks are gone.
//! 2. It lies wholly before the flush mark, and no snapshot is open.
//! 3. A record gives one block back at most, of all rings together.
//! 4. Where space is short a ring gives back more than it has to: it never makes a writer wait.

use flysch_nand::Nand;

use super::space::Claim;
use super::{Db, DbError};
use crate::media::{SPANS_REFUSED, Space};
use crate::record::{BlockEnd, BlockSummary};
use crate::row::{Keep, RINGS_MAX};

/// Blocks of a ring that are not given back so that others have space, the head's apart.
const LEAST: u32 = 1;
/// Blocks that are looked at for the end of one that has no summary.
const ENDS_LOOKED_AT: u32 = 4;
/// Records that one call writes at most so that blocks of rings may go.
const RECORDS_MAX: u32 = 4;

/// A block of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Oldest {
    number: u32,
    /// How far the ring had come when the block was full.
    end: BlockEnd,
}

/// What the rings give back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rings {
    /// The oldest block of each, once its summary was read.
    oldest: [Option<Oldest>; RINGS_MAX],
    /// The commit up to which rows are gone with the block that the next record lets go.
    floor: u32,
    /// Whether that block goes for want of space.
    is_pressed: bool,
    /// Blocks that were given back since the open: because there were enough, and for want of
    /// space.
    pub(super) returned: u32,
    pub(super) pressed: u32,
}

impl Rings {
    /// The oldest block of a ring, if it is this one and its summary was read.
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

    /// Blocks of a ring behind its head.
    fn ring_blocks(&self, space: Space) -> u32 {
        let numbers = self.media.numbers();
        let first = self.records.stream(space).first;
        numbers.distance(first, self.media.head(space)) / numbers.pages_per_block
    }

    /// The oldest block of a ring, where it may go.
    fn oldest(&mut self, space: Space) -> Option<u32> {
        let number = self.media.numbers().block_of(self.records.stream(space).first);
        let is_there = self.media.table.find(space, number).is_some();
        let has_newer = self.records.has_rows_behind(space, number, self.media.numbers());
        (is_there && has_newer && self.may_move(space, number)).then_some(number)
    }

    /// Choose a block that the record which follows gives back, where a ring has more than it
    /// keeps, or space is short. Cost: nothing as a rule; a read once for each block.
    #[inline(never)]
    pub(super) fn advance_rings(&mut self) -> Result<(), DbError> {
        let may_go = self.compaction.gone.is_none() && !self.media.has_given_up();
        if self.schema.ring_count() == 0 || !may_go || self.has_snapshots() {
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

    /// Whether a ring has what it keeps without its oldest block.
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
            // Where the rows behind the block are in the tail alone, there are no pages of them.
            let is_on_page = numbers.block_of(self.records.stream(space).came.last) != number;
            let pages = if is_on_page { numbers.distance(next, end) } else { 0 };
            return Ok(u64::from(pages) * self.media.layout().page_size() as u64 >= bytes);
        }
        let Some(oldest) = self.read_end(ring, (space, number))? else { return Ok(false) };
        Ok(match keep {
            Keep::Rows(rows) => {
                let came = self.records.stream(space).came.rows.wrapping_sub(oldest.end.rows);
                // Rows that were counted and taken back make it less than nothing.
                came.cast_signed() >= 0 && came >= rows
            }
            Keep::Time(time) => self.now().saturating_sub(oldest.end.time) > time,
            Keep::Bytes(_) => false,
        })
    }

    /// How far a ring had come when its oldest block was full: where its summary is not there, when
    /// one of the next blocks was. Cost: nothing where it is known, else a read or a few.
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

    /// The next record gives a block back.
    fn give_back(&mut self, ring: usize, (space, number): (Space, u32), is_pressed: bool) {
        debug_assert!(self.compaction.gone.is_none(), "one block goes at a time");
        let known = self.rings.known(ring, number);
        // Where it is not known which commits the block has, no older one is shown.
        self.rings.floor = known.map_or(self.commit, |oldest| oldest.end.commit);
        self.rings.is_pressed = is_pressed;
        self.compaction.gone = Some((space, number));
    }

    /// The record that is about to be written gives a block back.
    pub(super) fn note_given(&mut self, space: Space) {
        if space.is_ring() {
            let rings = &mut self.rings;
            *(if rings.is_pressed { &mut rings.pressed } else { &mut rings.returned }) += 1;
            let floor = rings.floor;
            let stream = self.records.stream_mut(space);
            stream.floor = stream.floor.max(floor);
        }
    }

    /// A snapshot is opened: a block that no record has given back yet stays.
    pub(super) fn keep_rings(&mut self) {
        if !self.media.has_given_up() {
            self.compaction.gone = self.compaction.gone.filter(|(space, _)| !space.is_ring());
        }
    }

    /// Where a transaction has no space, give back the oldest blocks of the rings, and let
    /// snapshots go for it. Cost: nothing while there is space; else up to four records, and a
    /// flush.
    #[inline(never)]
    pub(super) fn yield_rings(&mut self) -> Result<(), DbError> {
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

    /// The ring that has most blocks, of those that can spare one; where void spans are too many,
    /// of those that keep some.
    fn longest_ring(&self) -> Option<(usize, Space)> {
        let spans = self.media.spans.as_slice();
        let has_many = spans.len() >= SPANS_REFUSED;
        let helps = |space| !has_many || spans.iter().any(|span| span.space == space);
        // Where a ring has no space for its own rows either, they come before those that it keeps.
        let least = if self.check_space(Claim::Turn).is_ok() { LEAST } else { 0 };
        let rings = self.rings().map(|(ring, space, _)| (ring, space));
        let spares = rings.filter(|(_, space)| self.ring_blocks(*space) > least && helps(*space));
        spares.max_by_key(|(_, space)| self.ring_blocks(*space))
    }
}
