//! What a reader sees: everything, or what was there at a snapshot or at a commit.
//!
//! 1. Rows carry the numbers of their commits: a reader at a commit passes over later ones.
//! 2. Blocks that hold what a snapshot shows rest while it is open: nothing is moved out of them.
//!    So its rows are found where they were, and the pages behind the snapshot hold none of them.
//! 3. Rows of the tail may come to another page where a program fails: the snapshot follows.

use flysch_nand::Nand;

use super::{Db, DbError};
use crate::media::{Page, Space};
use crate::record::{Move, PART_SPACES, PARTS, Position, part_of, tail_page};
use crate::row::RowView;

/// Tails that came to another page while snapshots of them were open, at most.
const TAILS_MAX: usize = 4;

/// What was committed at a moment. Whoever holds it gives it back by [`Db::release`]. It is the
/// caller's alone: the database keeps the newest one's place, whatever the number of snapshots.
#[derive(Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit that was next.
    commit: u32,
    /// The page that the tail was to become, and the head of moved rows.
    hot: u32,
    cold: u32,
    /// The snapshots that it belongs to: they grow old together.
    generation: u32,
}

const _: () = assert!(size_of::<Snapshot>() == 16, "a snapshot is 16 bytes");

impl Snapshot {
    /// The number of the commit that was next: it shows the rows of the commits before.
    pub const fn commit(&self) -> u32 {
        self.commit
    }
}

/// Where a snapshot ends, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) hot: u32,
    pub(super) cold: u32,
}

/// What a reader sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Rows of this commit, and of later ones, are not seen; none: all are.
    before: Option<u32>,
    /// Of a snapshot: rows that lie behind are not seen.
    pub(super) ends: Option<Ends>,
    /// The snapshot that is read: its generation and its commit.
    snapshot: Option<(u32, u32)>,
}

/// The moment at which a cursor began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    /// Pages of moved rows until then.
    moves: u32,
    /// The snapshot at which it began.
    snapshot: Option<(u32, u32)>,
}

impl View {
    /// Everything.
    pub(super) const NOW: Self = Self { before: None, ends: None, snapshot: None };

    /// Whether older versions than the newest are looked for.
    pub(super) const fn is_past(self) -> bool {
        self.before.is_some()
    }

    /// Whether the reader sees a row, whose commit is known where it has to be.
    pub(super) fn sees(self, row: &RowView<'_, '_>) -> bool {
        self.before.is_none_or(|before| row.commit < u64::from(before))
    }
}

/// The snapshots that are open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// How many they are.
    count: u32,
    /// Where the newest one ends: what lies before rests.
    ends: Option<Ends>,
    /// The pages that the parts of the tail were to become then, those of new rows and of rings.
    last: [u32; PARTS],
    /// 0 before the first one of the session: a snapshot of an earlier session is none.
    generation: u32,
    /// Tails that came to another page.
    tails: [Option<Move>; TAILS_MAX],
    tail_count: u8,
}

/// The database as it was: what is read through it is read at a snapshot, or at a commit.
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
    /// Open a snapshot of what is committed. While one is open, merges keep what it needs, and the
    /// blocks that hold its rows are not compacted. Where the space for that runs out all snapshots
    /// become too old, and the writer goes on. Cost: none.
    pub fn snapshot(&mut self) -> Result<Snapshot, DbError> {
        self.roll_back_open()?;
        let hot = tail_page(&self.media, Space::Hot).number;
        let cold = self.media.head(Space::Cold);
        self.open_views.ends = Some(Ends { hot, cold });
        self.open_views.last = PART_SPACES.map(|space| tail_page(&self.media, space).number);
        self.open_views.count += 1;
        if self.open_views.generation == 0 {
            self.open_views.generation = (self.media.write as u32).wrapping_mul(0x9E37_79B1) | 1;
        }
        self.compaction.drop_victim();
        self.keep_rings();
        self.store.keep_all(true);
        let generation = self.open_views.generation;
        Ok(Snapshot { commit: self.commit, hot, cold, generation })
    }

    /// Give a snapshot back. Cost: none.
    #[expect(clippy::needless_pass_by_value, reason = "it is given back once")]
    pub fn release(&mut self, snapshot: Snapshot) {
        if self.is_open(&snapshot) {
            self.open_views.count -= 1;
            if self.open_views.count == 0 {
                self.drop_snapshots();
            }
        }
    }

    /// Read at a snapshot: cursors that are made and pulled through what this gives show the rows
    /// that were there when it was opened, whatever is written between two pulls. A cursor that
    /// was made elsewhere says [`DbError::Stale`] if rows moved since.
    /// [`DbError::Stale`] from here where the snapshot is too old. Cost: none here. A lookup
    /// passes over newer entries of the key without reading their rows; a range takes a lookup for
    /// each key of a unique index.
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

    /// Read as it was after so many commits, of which [`Db::stats`] tells the number. It shows the
    /// whole history of a table of which no row was ever replaced, deleted or moved; cursors over
    /// other tables say [`DbError::Stale`]. Cost: none here; lookups read a row's page from its
    /// first cell on.
    pub fn as_of(&mut self, commits: u32) -> Result<At<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        self.view = View { before: Some(commits.saturating_add(1)), ..View::NOW };
        Ok(At { db: self })
    }

    /// Refuse to show the past of a table where older versions of its rows may be gone.
    pub(super) fn check_past(&self, table: u8) -> Result<(), DbError> {
        let Some(before) = self.view.before.filter(|_| !self.rests_all()) else { return Ok(()) };
        let space = self.records.tail.space_of(table);
        // Of a ring nothing may be left of what was there then.
        let is_gone = space.is_ring() && before - 1 <= self.records.stream(space).floor;
        if is_gone || self.is_changed(table) { Err(DbError::Stale) } else { Ok(()) }
    }

    fn is_open(&self, snapshot: &Snapshot) -> bool {
        self.open_views.count > 0 && snapshot.generation == self.open_views.generation
    }

    /// No snapshot is open any more, and those that were are too old.
    pub(super) fn drop_snapshots(&mut self) {
        let generation = self.open_views.generation.wrapping_add(1);
        self.open_views = Held { generation, ..Held::default() };
        self.store.keep_all(false);
    }

    /// Whether snapshots are open.
    pub(super) const fn has_snapshots(&self) -> bool {
        self.open_views.ends.is_some()
    }

    /// The tail came to another page: so do the rows of it that snapshots show.
    pub(super) fn follow_tail(&mut self, moved: Move) {
        debug_assert_eq!(moved.from.space, moved.to.space, "a tail stays in its space");
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

    /// Where the rows lie now that were in the tail, and were to come to a page.
    pub(super) fn followed(&self, page: Page) -> u32 {
        let tails = self.open_views.tails.iter().flatten();
        let to = tails.fold(page, |page, moved| if page == moved.from { moved.to } else { page });
        to.number
    }

    /// Whether a page is the last one of the snapshot that is read, or the one that the tail of its
    /// ring was to become: it may come to lie elsewhere.
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

    /// Whether the reader may see rows that an entry leads to, as far as its pointer tells.
    pub(super) fn may_see(&self, pointer: u32) -> bool {
        let Some(ends) = self.view.ends else { return true };
        let at = Position::of_pointer(pointer, self.media.layout(), self.media.numbers());
        at.is_some_and(|at| !self.is_behind(at.page, ends))
    }

    /// Whether what the reader sees stays where it is.
    pub(super) const fn rests_all(&self) -> bool {
        self.view.ends.is_some()
    }

    /// The moment for a cursor that begins now.
    pub(super) const fn since(&self) -> Since {
        Since { moves: self.compaction.moves, snapshot: self.view.snapshot }
    }

    /// Whether rows that the reader sees may have moved since a cursor began. What a snapshot shows
    /// rests from the moment it was opened, so a cursor that began at it goes on.
    pub(super) fn has_moved(&self, since: Since) -> bool {
        let began_here = since.snapshot.is_some() && since.snapshot == self.view.snapshot;
        since.moves != self.compaction.moves && !began_here
    }

    /// Whether a page was programmed, or will be, behind the end of a snapshot.
    fn is_behind(&self, page: Page, ends: Ends) -> bool {
        let numbers = self.media.numbers();
        if page.space.is_ring() {
            // The commits of its rows tell what is seen, and all of it rests.
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
