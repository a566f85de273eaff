//! The ring: a stream of rows whose oldest block is given back as a whole.
//!
//! 1. A block is given back if it is the oldest, lies wholly before the flush mark, and no snapshot
//!    shows rows of it. It is free when the record that follows is on flash.
//! 2. A snapshot that is opened before that record keeps the block.
//! 3. It is given back if committed rows of the ring lie behind it. Blocks are not counted: all
//!    that came behind may be void.
//! 4. Nothing is moved out of the ring: what is shown of it is all that came since some row.

use super::device::{Done, Stop};
use super::engine::Engine;
use super::history::{History, Rows};
use super::rows::SUMMARY;
use super::state::{RING, RING_FIRST, RING_KEYS, Slot};
use super::switches::Broken;

/// Keys of the ring table.
pub(crate) const RING_KEY_COUNT: u8 = 10;

/// A block that the ring gives back, and the first row that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    number: u8,
    floor: u32,
}

impl Engine {
    /// The numbers of the ring's blocks behind its head, the oldest first.
    fn ring_blocks(&self) -> Vec<u8> {
        let head = self.state.heads[RING].number;
        let is_ring = |slot: &Slot| match slot {
            Slot::Block(0, number) if *number >= RING_FIRST && *number != head => Some(*number),
            Slot::Block(..) | Slot::Free => None,
        };
        let mut numbers: Vec<u8> = self.table.iter().filter_map(is_ring).collect();
        // Numbers come round: one above the head's is older than those below.
        numbers.sort_unstable_by_key(|number| (*number < head, *number));
        numbers
    }

    /// Give the oldest block back with the record that follows; none where none may go.
    pub(crate) fn advance_ring(&mut self) -> Done<Option<Given>> {
        let blocks = self.ring_blocks();
        if self.open.is_some() || self.gone.is_some() {
            return Ok(None);
        }
        let is_newest = self.is(Broken::RingNewestFirst);
        let Some(&number) = (if is_newest { blocks.last() } else { blocks.first() }) else {
            return Ok(None);
        };
        let is_unflushed = self.state.marks[RING].blocks.contains(&number);
        let is_held = self.is_frozen(number) && !self.is(Broken::RingUnderSnapshots);
        let is_last = !self.has_rows_behind(number) && !self.is(Broken::RingKeepsNothing);
        if is_unflushed && !self.is(Broken::RingBehindMark) || is_held || is_last {
            return Ok(None);
        }
        let mut floor = 0;
        for page in 0..SUMMARY {
            let rows = self.page_rows(number, page)?;
            floor = rows.iter().map(|(_, row)| row.id + 1).fold(floor, u32::max);
        }
        self.gone = Some(number);
        if self.is(Broken::RingFreesEarly)
            && let Some(block) = self.block_of(0, number)
        {
            self.free |= 1 << block;
        }
        Ok(Some(Given { number, floor }))
    }

    /// Whether rows of the ring lie behind a block of it, as the state tells.
    fn has_rows_behind(&self, number: u8) -> bool {
        self.state.ring_last != number || !self.tails[RING].rows.is_empty()
    }

    /// Whether rows of the ring are anywhere but in one of its blocks, as its pages tell.
    fn shows_without(&mut self, number: u8) -> Done<bool> {
        let mut numbers = self.ring_blocks();
        numbers.push(self.state.heads[RING].number);
        for other in numbers.into_iter().filter(|other| *other != number) {
            for page in 0..SUMMARY {
                if !self.page_rows(other, page)?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(!self.tails[RING].rows.is_empty())
    }

    /// A snapshot is opened: the ring's block that was to go stays.
    pub(crate) fn keep_ring(&mut self) {
        if !self.is(Broken::RingGoesOn) {
            self.gone = self.gone.filter(|number| *number < RING_FIRST);
        }
    }

    /// Whether a block of the ring is there.
    fn has(&self, number: u8) -> bool {
        self.block_of(0, number).is_some()
    }

    /// Whether a block of the ring is there as the last record says.
    fn was_there(&self, number: u8) -> bool {
        self.last.table.contains(&Slot::Block(0, number))
    }
}

impl History {
    pub(crate) fn advance_ring(&mut self) -> Done {
        self.settle_ring();
        if self.given.is_none() {
            self.given = self.engine.advance_ring()?;
            if let Some(given) = self.given
                && !self.engine.shows_without(given.number)?
            {
                return Err(Stop::Breach("the ring keeps no row"));
            }
        }
        Ok(())
    }

    /// Forget what the ring gave back, once a record that is on flash says so.
    pub(crate) fn settle_ring(&mut self) {
        // What a clean stop says is seen, or not, until the session has written something.
        let Some(given) = self.given.filter(|_| !self.engine.is_clean) else { return };
        if self.engine.gone == Some(given.number) || self.engine.was_there(given.number) {
            return;
        }
        self.given = None;
        let maps = [Some(&mut self.committed), self.in_flight.as_mut(), self.open.as_mut()];
        maps.into_iter().flatten().for_each(|rows| given.cut(rows));
    }

    /// After a mount: what no record gave back is there.
    pub(crate) fn remount_ring(&mut self) {
        let is_clean = self.engine.is_clean;
        self.given = self.given.filter(|given| is_clean || !self.engine.has(given.number));
        self.settle_ring();
    }

    /// Rows as they are shown now.
    pub(crate) fn shown(&self, rows: &Rows) -> Rows {
        let mut rows = rows.clone();
        if let Some(given) = self.given.filter(|given| !self.engine.has(given.number)) {
            given.cut(&mut rows);
        }
        rows
    }
}

impl Given {
    fn cut(self, rows: &mut Rows) {
        rows.retain(|key, (id, _)| *key < RING_KEYS || *id >= self.floor);
    }
}
