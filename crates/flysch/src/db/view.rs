//! What a reader sees: everything, or only what was committed at a snapshot or a commit.
//!
//! 1. Rows carry the numbers of their commits: a reader at a commit passes over later ones.
//! 2. Blocks with rows that a snapshot shows rest while it is open: nothing is moved out of them.
//!    So its rows are found where they were, and no page behind the snapshot's end holds any of
//!    them.
//! 3. Where a program fails, the rows of the tail come to another page than expected. A snapshot
//!    whose end they were is corrected.

use flysch_nand::Nand;

use super::{Db, DbError};
use crate::media::{Page, Space};
use crate::record::{Move, PART_SPACES, PARTS, Position, part_of, tail_page};
use crate::row::RowView;

/// Greatest number of tails that are followed to another page while snapshots of them are open.
const TAILS_MAX: usize = 4;

/// What was committed at a moment. The caller holds it, and gives it back by [`Db::release`]. The
/// database itself keeps only the end of the newest snapshot, whatever their number.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The number of the next commit when it was opened.
    commit: u32,
    /// The page that the tail was to become, and the head of moved rows, when it was opened.
    hot: u32,
    cold: u32,
    /// Which snapshots become too old together with it.
    generation: u32,
}

const _: () = assert!(size_of::<Snapshot>() == 16, "a snapshot is 16 bytes");

impl Snapshot {
    /// The number of the commit that was next when it was opened. The snapshot shows rows of
    /// earlier commits.
    pub const fn commit(&self) -> u32 {
        self.commit
    }
}

/// Where a snapshot ends in the row spaces: rows behind were not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) hot: u32,
    pub(super) cold: u32,
}

/// What a reader sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Only rows of earlier commits than this are seen; None: all are.
    before: Option<u32>,
    /// For a snapshot, where it ends: rows behind are not seen.
    pub(super) ends: Option<Ends>,
    /// The generation and the commit of the snapshot that is read.
    snapshot: Option<(u32, u32)>,
}

/// The moment at which a cursor gave its first row, to tell later whether rows have moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    /// Whether it was asked for a row.
    has_begun: bool,
    /// Pages of moved rows at that moment, counted since the open.
    moves: u32,
    /// How often the tail had come to another page than expected.
    jumps: u32,
    /// The snapshot through which the cursor was made, if any.
    snapshot: Option<(u32, u32)>,
}

impl View {
    /// The view that shows everything.
    pub(super) const NOW: Self = Self { before: None, ends: None, snapshot: None };

    /// Whether the reader may see older versions of rows than the newest.
    pub(super) const fn is_past(self) -> bool {
        self.before.is_some()
    }

    /// Whether the reader sees a row, by the row's commit.
    pub(super) fn sees(self, row: &RowView<'_, '_>) -> bool {
        self.before.is_none_or(|before| row.commit < u64::from(before))
    }
}

/// The snapshots that are open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Number of open snapshots.
    count: u32,
    /// The commit of the first of them, even if that one was closed since.
    oldest: u32,
    /// Where the newest snapshot ends. Blocks before it rest.
    ends: Option<Ends>,
    /// The pages that the parts of the tail were to become at that moment, for new rows and each
    /// ring.
    last: [u32; PARTS],
    /// Number of the present generation of snapshots; 0 before the first one of the session.
    generation: u32,
    /// Tails of snapshots that came to another page than expected.
    tails: [Option<Move>; TAILS_MAX],
    tail_count: u8,
    /// How often the tail came to another page than expected, with snapshots or without.
    jumps: u32,
}

/// A reader of the database as it was at a snapshot or a commit.
#[derive(Debug)]
pub struct At<'d, 'ram, 's, N> {
    pub(super) db: &'d mut Db<'ram, 's, N>,
}

impl<N> Drop for At<'_, '_, '_, N> {
    fn drop(&mut self) {
        self.db.view = View::NOW;
    }
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Open a snapshot of what is committed. While one is open, merges keep the entries that it
    /// needs, and blocks with its rows are not compacted. Where space runs out because of that, all
    /// snapshots become too old, and the writer goes on. Cost: none.
    pub fn snapshot(&mut self) -> Result<Snapshot, DbError> {
        self.roll_back_open()?;
        let hot = tail_page(&self.media, Space::Hot).number;
        let cold = self.media.head(Space::Cold);
        self.open_views.ends = Some(Ends { hot, cold });
        self.open_views.last = PART_SPACES.map(|space| tail_page(&self.media, space).number);
        if self.open_views.count == 0 {
            self.open_views.oldest = self.commit;
        }
        self.open_views.count += 1;
        if self.open_views.generation == 0 {
            self.open_views.generation = (self.media.write as u32).wrapping_mul(0x9E37_79B1) | 1;
        }
        self.compaction.drop_victim();
        self.keep_rings();
        self.store.keep_all(true);
        let generation = self.open_views.generation;
        debug_assert!(self.has_snapshots() && generation != 0, "the snapshot is open");
        Ok(Snapshot { commit: self.commit, hot, cold, generation })
    }

    /// Close a snapshot, so that blocks with its rows may be compacted again. Cost: none.
    #[expect(clippy::needless_pass_by_value, reason = "it is given back once")]
    pub fn release(&mut self, snapshot: Snapshot) {
        if self.is_open(&snapshot) {
            self.open_views.count -= 1;
            if self.open_views.count == 0 {
                self.drop_snapshots();
            }
        }
    }

    /// Read at a snapshot. Cursors made and pulled through this reader show the rows that were
    /// there when the snapshot was opened, whatever is written between two pulls. A cursor made
    /// elsewhere says [`DbError::Stale`] if rows moved since. This call says [`DbError::Stale`]
    /// where the snapshot is too old. Cost: none here. A lookup passes over newer entries of the
    /// key without reading their rows; a range takes a lookup for each key of a unique index.
    pub fn at(&mut self, snapshot: &Snapshot) -> Result<At<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        if !self.is_open(snapshot) {
            return Err(DbError::Stale);
        }
        let hot = self.followed(Page { space: Space::Hot, number: snapshot.hot });
        let (before, ends) = (Some(snapshot.commit), Some(Ends { hot, cold: snapshot.cold }));
        let snapshot = Some((snapshot.generation, snapshot.commit));
        self.view = View { before, ends, snapshot };
        Ok(At { db: self })
    }

    /// Read the database as it was after its first `commits` commits. The whole history of a table
    /// is there if none of its rows was ever replaced, deleted or moved; cursors over other tables
    /// say [`DbError::Stale`]. A ring shows what it still has of the rows that were there, and says
    /// so only where it has none of them. [`Db::stats`] counts the commits so far. Cost: none here;
    /// lookups read a row's page from its first cell on.
    pub fn as_of(&mut self, commits: u32) -> Result<At<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        self.view = View { before: Some(commits.saturating_add(1)), ..View::NOW };
        Ok(At { db: self })
    }

    /// Refuse to show the past of a table where older versions of its rows may be gone.
    pub(super) fn check_past(&self, table: u8) -> Result<(), DbError> {
        let Some(before) = self.view.before.filter(|_| !self.rests_all()) else { return Ok(()) };
        let space = self.records.tail.space_of(table);
        // All rows that a ring had at that commit may be gone.
        let is_gone = space.is_ring() && before - 1 <= self.records.stream(space).floor;
        if is_gone || self.is_changed(table) { Err(DbError::Stale) } else { Ok(()) }
    }

    fn is_open(&self, snapshot: &Snapshot) -> bool {
        self.open_views.count > 0 && snapshot.generation == self.open_views.generation
    }

    /// Close all snapshots: whoever still holds one is told that it is too old.
    pub(super) fn drop_snapshots(&mut self) {
        let generation = self.open_views.generation.wrapping_add(1);
        let jumps = self.open_views.jumps;
        self.open_views = Held { generation, jumps, ..Held::default() };
        self.store.keep_all(false);
    }

    /// Whether snapshots are open.
    pub(super) const fn has_snapshots(&self) -> bool {
        debug_assert!(
            (self.open_views.count > 0) == self.open_views.ends.is_some(),
            "both or none"
        );
        self.open_views.ends.is_some()
    }

    /// Whether the reader sees what the oldest of all readers does.
    pub(super) fn sees_the_oldest(&self) -> bool {
        let Held { oldest, generation, .. } = self.open_views;
        let oldest = self.has_snapshots().then_some((generation, oldest));
        self.view.snapshot == oldest && self.view.is_past() == oldest.is_some()
    }

    /// Correct the ends of snapshots: the tail, with rows that they show, came to another page.
    pub(super) fn follow_tail(&mut self, moved: Move) {
        debug_assert_eq!(moved.from.space, moved.to.space, "a tail stays in its space");
        self.open_views.jumps = self.open_views.jumps.wrapping_add(1);
        let Some(ends) = &mut self.open_views.ends else { return };
        let last = &mut self.open_views.last[part_of(moved.from.space)];
        if *last != moved.from.number {
            return;
        }
        *last = moved.to.number;
        if moved.from.space == Space::Hot {
            ends.hot = moved.to.number;
        }
        match self.open_views.tails.get_mut(usize::from(self.open_views.tail_count)) {
            Some(tail) => {
                *tail = Some(moved);
                self.open_views.tail_count += 1;
            }
            None => self.drop_snapshots(),
        }
    }

    /// The page at which rows lie now that were in the tail and expected to come to `page`.
    pub(super) fn followed(&self, page: Page) -> u32 {
        let tails = self.open_views.tails.iter().flatten();
        let to = tails.fold(page, |page, moved| if page == moved.from { moved.to } else { page });
        to.number
    }

    /// Whether a page is the last one of the snapshot that is read, in the space of new rows or of
    /// a ring. It was the tail, and may have come to another page.
    pub(super) fn ends_at(&self, page: Page) -> bool {
        self.view.ends.is_some_and(|ends| match page.space {
            Space::Hot => page.number == ends.hot,
            Space::RingA | Space::RingB => page.number == self.open_views.last[part_of(page.space)],
            Space::Cold | Space::Young | Space::Old => false,
        })
    }

    /// Whether a block of rows rests, because snapshots show rows of it.
    pub(super) fn rests(&self, space: Space, number: u32) -> bool {
        let numbers = self.media.numbers();
        let first = Page { space, number: number * numbers.pages_per_block };
        self.open_views.ends.is_some_and(|ends| !self.is_behind(first, ends))
    }

    /// Whether the reader may see rows of the cell that a pointer names, as far as its page tells.
    pub(super) fn may_see(&self, pointer: u32) -> bool {
        let Some(ends) = self.view.ends else { return true };
        let at = Position::of_pointer(pointer, self.media.layout(), self.media.numbers());
        at.is_some_and(|at| !self.is_behind(at.page, ends))
    }

    /// Whether none of the rows that the reader sees can be moved.
    pub(super) const fn rests_all(&self) -> bool {
        self.view.ends.is_some()
    }

    /// The moment for a cursor that is made now.
    pub(super) const fn since(&self) -> Since {
        let (moves, Held { jumps, .. }) = (self.compaction.moves, self.open_views);
        Since { has_begun: false, moves, jumps, snapshot: self.view.snapshot }
    }

    /// Begin a cursor with its first call, unless it has begun; returns whether it begins. What a
    /// dropped transaction left may have been rolled back since it was made, and rows moved.
    pub(super) const fn begins(&self, since: &mut Since) -> bool {
        let begins = !since.has_begun;
        if begins {
            *since = Since { has_begun: true, ..self.since() };
        }
        begins
    }

    /// Whether rows that the reader sees may have moved since a scan was made. A snapshot's rows
    /// rest from its opening on, and its scans follow the tail, so they go on.
    pub(super) fn has_moved(&self, since: Since) -> bool {
        let began_here = since.snapshot.is_some() && since.snapshot == self.view.snapshot;
        !began_here && (since.moves != self.compaction.moves || self.has_jumped(since))
    }

    /// Whether a cursor that holds pointers, and has begun before this call, has lost its place.
    pub(super) fn has_lost_place(&self, since: &mut Since) -> bool {
        !self.begins(since) && self.leads_elsewhere(*since)
    }

    /// Whether pointers that the reader sees may lead elsewhere since a cursor was made: rows were
    /// moved, or the tail came to another page, as a transaction was rolled back or a program
    /// failed.
    pub(super) fn leads_elsewhere(&self, since: Since) -> bool {
        self.has_moved(since) || self.has_jumped(since)
    }

    const fn has_jumped(&self, since: Since) -> bool {
        since.jumps != self.open_views.jumps
    }

    /// Whether a page was programmed, or will be, behind the end of a snapshot.
    fn is_behind(&self, page: Page, ends: Ends) -> bool {
        let numbers = self.media.numbers();
        if page.space.is_ring() {
            // In a ring the commit of a row tells whether it is seen, and all blocks rest.
            return false;
        }
        if page.space == Space::Cold {
            let reach = numbers.distance(ends.cold, self.media.head(Space::Cold));
            return numbers.distance(ends.cold, page.number) < reach;
        }
        let reach = numbers.distance(ends.hot, tail_page(&self.media, Space::Hot).number);
        let behind = numbers.distance(ends.hot, page.number);
        behind != 0 && behind <= reach
    }
}
