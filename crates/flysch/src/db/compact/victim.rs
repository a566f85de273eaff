//! Victims: from which block rows are moved next, and what is known of its rows.

use flysch_nand::Nand;

use super::super::Db;
use crate::media::{DEAD_MAX, Page, SPANS_MANY, SPANS_REFUSED, Space, Use};
use crate::record::ROW_SPACES;

/// Greatest number of rows of a window.
pub(super) const WINDOW_MAX: usize = 256;
/// The least dead share of a victim, in sixteenths.
pub(super) const DEAD_MIN: u8 = 2;
/// How much less than a free one a block must be worn to be moved before others, in the block
/// table's units: before it is worn so much less that it is copied with all that is dead in it.
const WEAR_SPREAD: u8 = 5;
/// How many times as much such a block is worth moving.
const LESS_WORN_FACTOR: u32 = 64;
/// Number of void spans from which on such a block is moved even from under a snapshot.
const SPANS_FORCED: usize = 14;
const _: () = assert!(SPANS_MANY < SPANS_FORCED, "blocks are moved before snapshots yield");
const _: () = assert!(SPANS_FORCED < SPANS_REFUSED, "snapshots yield before transactions stop");
const _: () = assert!(DEAD_MIN <= DEAD_MAX, "the table can tell of a victim");

/// A place in a victim: a page of the block, and a byte of its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::db) struct Place {
    pub(in crate::db) page: u32,
    pub(super) at: usize,
}

/// A block whose rows are being moved.
#[derive(Clone, Copy, Debug)]
pub(in crate::db) struct Victim {
    pub(super) space: Space,
    pub(super) number: u32,
    /// Whether its rows are only estimated, and not moved.
    pub(in crate::db) is_surveyed: bool,
    /// A bit for each page of the block, set where the page is void.
    pub(super) void: [u32; 8],
    pub(super) from: Place,
    pub(in crate::db) upto: Place,
    /// A bit for each row of the window, set where it is current; and the number of rows.
    pub(super) bits: [u32; WINDOW_MAX / 32],
    pub(super) len: usize,
    /// Bytes of the rows that are current; of a survey, on the pages that it looked at.
    pub(super) bytes: usize,
    /// Where the window has tombstones, how many full merges had ended when it was begun; else
    /// None.
    pub(super) tombstones_at: Option<u32>,
}

impl Victim {
    /// A block of which nothing was looked at, and that is looked at from some place on.
    pub(super) const fn new(
        (space, number): (Space, u32),
        is_surveyed: bool,
        void: [u32; 8],
        from: Place,
    ) -> Self {
        let bits = [0; WINDOW_MAX / 32];
        Self {
            space,
            number,
            is_surveyed,
            void,
            from,
            upto: from,
            bits,
            len: 0,
            bytes: 0,
            tombstones_at: None,
        }
    }

    pub(super) const fn is_void(&self, page: u32) -> bool {
        debug_assert!(page < 256, "a block has a bit for each page");
        self.void[(page / 32) as usize] >> (page % 32) & 1 != 0
    }

    pub(super) const fn bit(&self, row: usize) -> bool {
        debug_assert!(row < self.len, "the row is in the window");
        self.bits[row / 32] >> (row % 32) & 1 != 0
    }

    pub(super) fn push(&mut self, is_there: bool, len: usize) {
        debug_assert!(self.len < WINDOW_MAX, "the window has room for the row");
        debug_assert!(self.bits[self.len / 32] >> (self.len % 32) == 0, "its bit was cleared");
        if is_there {
            self.bits[self.len / 32] |= 1 << (self.len % 32);
            self.bytes += len;
        }
        self.len += 1;
    }

    /// How many rows of the window are current.
    pub(super) fn rows(&self) -> usize {
        self.bits.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// About how many of the window's current rows fit a page.
    pub(super) fn rows_of_page(&self, payload: usize) -> usize {
        (self.rows() * payload.min(self.bytes)).div_ceil(self.bytes.max(1))
    }

    /// Remove the first `count` rows from the window; the next one lies at `from`.
    pub(super) fn advance(&mut self, count: usize, from: Place, bytes: usize) {
        debug_assert!(count <= self.len, "only rows of the window are decided");
        debug_assert!(self.from <= from, "a victim is gone through from its begin");
        debug_assert!(from <= self.upto, "only rows that were looked up are decided");
        let old = *self;
        (self.bits, self.len) = ([0; WINDOW_MAX / 32], 0);
        (count..old.len).for_each(|row| self.push(old.bit(row), 0));
        self.bytes = old.bytes.saturating_sub(bytes);
        self.from = from;
        if self.len == 0 {
            self.tombstones_at = None;
        }
        debug_assert!(self.len == old.len - count, "the others wait");
        debug_assert!(self.is_sound(), "the rows that wait have their bytes");
    }

    /// Make the window void.
    pub(super) const fn forget(&mut self) {
        (self.bits, self.len, self.bytes) = ([0; WINDOW_MAX / 32], 0, 0);
        (self.upto, self.tombstones_at) = (self.from, None);
    }

    /// Whether no row of the window is current.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_surveyed && self.bits.iter().all(|bits| *bits == 0)
    }

    /// Whether the fields agree with each other.
    pub(super) fn is_sound(&self) -> bool {
        let rows = self.rows();
        let has_bytes = self.bytes > 0 && !self.is_surveyed;
        self.from <= self.upto && rows <= self.len && has_bytes == (rows > 0)
    }

    pub(super) fn page(&self, page: u32, pages_per_block: u32) -> Page {
        Page { space: self.space, number: self.number * pages_per_block + page }
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// The block from which rows are moved next: one that must be freed, or the one with the most
    /// dead bytes in relation to its age. None where no block is worth it.
    pub(super) fn choose_victim(&mut self) -> Option<(Space, u32)> {
        let numbers = self.media.numbers();
        let mut best: Option<(u32, (Space, u32))> = None;
        let has_many_spans = self.media.spans.as_slice().len() >= SPANS_MANY;
        let turning = ROW_SPACES.map(|space| self.is_turning(space));
        let most_worn = self.media.table.greatest_free_wear();
        for block in 0..self.media.table.len() {
            let Use::Data(space, number) = self.media.table.at(block) else { continue };
            if !space.is_compacted() || !self.may_move(space, number) {
                continue;
            }
            let stream = self.records.stream(space);
            let last = numbers.last_page(number);
            let behind = numbers.distance(stream.first, last) / numbers.pages_per_block;
            let dead = u32::from(self.media.table.dead(block));
            let is_first = behind == 0 && turning[space.stream()];
            let mut spans = self.media.spans.of_block(space, number, numbers);
            let keeps_span = has_many_spans && spans.next().is_some();
            let age = numbers.distance(last, self.media.head(space)) / numbers.pages_per_block;
            let score = if is_first || keeps_span {
                u32::MAX
            } else if self.is_worth_moving(block) {
                let is_less_worn = self.media.table.wear(block) + WEAR_SPREAD <= most_worn;
                let factor = if is_less_worn { LESS_WORN_FACTOR } else { 1 };
                dead * (age + 4) * 64 / (32 - dead) * factor
            } else {
                continue;
            };
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, (space, number)));
            }
        }
        best.map(|(_, name)| name)
    }

    /// Whether a block must be freed, however little of it is dead.
    pub(in crate::db) fn has_to_free(&self) -> bool {
        self.has_spans_to_free() || ROW_SPACES.into_iter().any(|space| self.is_turning(space))
    }

    /// Whether there are many void spans, and blocks to be emptied that have some of them. Those of
    /// a head's block go by themselves, once its summary has them.
    fn has_spans_to_free(&self) -> bool {
        let (spans, numbers) = (self.media.spans.as_slice(), self.media.numbers());
        let mut blocks = spans.iter().map(|span| (span.space, numbers.block_of(span.from)));
        spans.len() >= SPANS_MANY
            && blocks.any(|(space, number)| space.is_compacted() && self.may_move(space, number))
    }

    /// Whether a block must be freed even though snapshots show its rows.
    pub(in crate::db) fn is_forced(&self) -> bool {
        let spans = self.media.spans.as_slice().len();
        spans >= SPANS_FORCED || ROW_SPACES.into_iter().any(|space| self.is_turning(space))
    }

    /// Whether so much of a block is dead that moving the rest gains something.
    pub(super) fn is_worth_moving(&self, block: u32) -> bool {
        self.media.table.dead(block) >= DEAD_MIN
    }

    /// Whether a space will soon give out the numbers that its oldest block has.
    fn is_turning(&self, space: Space) -> bool {
        self.numbers_left(space) < self.media.numbers().block_count() / 4
    }

    /// How many whole blocks a space can name before it comes to the number of its oldest block.
    pub(in crate::db) fn numbers_left(&self, space: Space) -> u32 {
        let numbers = self.media.numbers();
        let used = numbers.distance(self.records.stream(space).first, self.media.head(space));
        (numbers.page_count() - used) / numbers.pages_per_block
    }

    /// Whether rows of a block may be moved: it lies before the flush mark, and the next record
    /// does not already let it go.
    pub(in crate::db) fn may_move(&self, space: Space, number: u32) -> bool {
        let numbers = self.media.numbers();
        let stream = self.records.stream(space);
        let last = numbers.last_page(number);
        let reach = numbers.distance(stream.first, stream.mark);
        numbers.distance(stream.first, last) < reach
            && self.compaction.gone != Some((space, number))
            && !self.rests(space, number)
    }
}
