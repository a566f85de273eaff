//! Compaction: rows that are there are moved out of blocks of which much is dead.
//!
//! ```text
//! victim | decided | window: a bit for each row | not looked at |
//!                    from                       upto
//! ```
//!
//! 1. A step runs between transactions. It looks some rows of a block, the victim, up; or it copies
//!    those that are current to a page of the space of moved rows, which it programs.
//! 2. The window has a bit for each row, which says whether it was current when it was looked up.
//!    Where such a row is replaced or deleted since, the window is void, and its rows are looked up
//!    again. So is a window with tombstones when a merge drops tombstones: the key may be inserted
//!    again, and nothing leads from it to the window.
//! 3. A victim lies wholly before the flush mark, so that the entries of its rows are in runs.
//! 4. The record that follows the last row of a victim lets it go.
//! 5. Blocks with rows that a snapshot shows are no victims while it is open.
//! 6. A tombstone is moved as long as the index leads to it, and to an older row of its key in
//!    another block. Rows in the same block need no tombstone, for they go with it.

mod moved;
mod survey;
mod victim;

use flysch_nand::Nand;

use self::victim::{Place, Victim, WINDOW_MAX};
use super::space::Claim;
use super::{Db, DbError};
use crate::media::{Kind, MediaError, Page, SPANS_LAST, Space};
use crate::record::{BlockSummary, Position, Rows, is_void, read_page};
use crate::row::{Digest, RowKind, RowView};

/// Rows that a step looks up.
const LOOKED_UP: usize = 4;
/// Rows that a survey looks up at once: it knows the rest of the page by them.
const SURVEYED: usize = 8;
const _: () = assert!(LOOKED_UP <= SURVEYED, "what is seen has room for the rows of a step");
const _: () = assert!(LOOKED_UP <= WINDOW_MAX / 2, "a window takes the rows of a step");

/// The state of compaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compaction {
    pub(super) victim: Option<Victim>,
    /// A block whose rows were all moved: the next record lets it go.
    pub(super) gone: Option<(Space, u32)>,
    /// Pages of moved rows that were programmed since the open.
    pub(super) moves: u32,
    /// Slices of merging that are due in return for the entries of moved rows; and whether the last
    /// step was one.
    pub(super) owed: u32,
    pub(super) is_merge_last: bool,
    /// Steps that commits left to those after them.
    pub(super) waiting: u32,
    /// Whether the compaction that commits do is left to itself: it has freed a block in this
    /// session, or there was no more to gain.
    pub(super) keeps_up: bool,
    /// Blocks that the next transaction is to find beside others, because one was refused a row
    /// after it had taken half as many. A commit ends that.
    pub(super) refused: u32,
    /// Rows that the last transaction deleted, if it did nothing else. The next one may do the
    /// same, and needs less space then.
    pub(super) deleted: u32,
    /// What a transaction begins with space for. Once a short row was added, others may follow, be
    /// it behind longer ones; and a short row asks for more free blocks than a long one.
    pub(super) claim: Claim,
    survey: survey::Survey,
}

/// A row that is to be looked up.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    table: u8,
    key: Digest,
    pointer: u32,
    len: usize,
    /// Whether no later row of its cell has its key.
    is_last: bool,
    is_tombstone: bool,
}

/// What was found on a page of a victim.
#[expect(clippy::large_enum_variant, reason = "lives on the stack of one step")]
enum Look {
    /// So many rows, the place behind them, and the bytes of all rows of the page.
    Rows { rows: [Candidate; SURVEYED], count: usize, upto: Place, used: usize },
    /// A row that is longer than a page, alone on its page.
    Long(Candidate),
    /// A page that continues such a row.
    More,
    /// The page has no more rows.
    End,
    /// The page cannot be read, or has a row that no index names, so the block cannot be emptied.
    Unfit,
}

/// What a step goes on with behind the rows that it looked up. It does so on a stack without them.
enum Then {
    Nothing,
    /// The window is moved, for a long row comes next.
    Window,
    /// This long row is moved.
    Long(Candidate),
}

impl Compaction {
    /// The state before anything was moved. With these fields among those that `Db::blank` sets,
    /// the compiler makes the database twice, which takes 3.6 KB of stack.
    #[inline(never)]
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Stop emptying the victim. Rows that were already moved stay in their new place.
    pub(super) fn drop_victim(&mut self) {
        self.victim = None;
    }

    /// Check what holds between two steps.
    pub(super) fn check(&self) {
        debug_assert!(self.claim.grows(), "rows of rings and deletes are no measure");
        let name = self.victim.map(|victim| (victim.space, victim.number));
        debug_assert!(
            name.is_none_or(|(space, _)| space.is_compacted()),
            "blocks of rings go whole"
        );
        debug_assert!(name.is_none() || name != self.gone, "a block that goes is empty");
        debug_assert!(
            self.gone.is_none_or(|(space, _)| space.holds_rows()),
            "merges free the others"
        );
        debug_assert!(self.victim.is_none_or(|victim| victim.is_sound()), "a window has its rows");
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Note that a row was replaced or deleted: more of its block is dead, and a window that has
    /// the row is void.
    pub(super) fn note_dead(&mut self, pointer: u32, len: usize) {
        let (layout, numbers) = (self.media.layout(), self.media.numbers());
        let Some(at) = Position::of_pointer(pointer, layout, numbers) else { return };
        self.compaction.survey.note_dead(len);
        let number = numbers.block_of(at.page.number);
        if let Some(victim) = &mut self.compaction.victim {
            let page = numbers.page_in_block(at.page.number);
            let is_within = (victim.from.page..=victim.upto.page).contains(&page);
            if is_within && (victim.space, victim.number) == (at.page.space, number) {
                victim.forget();
            }
        }
        let Some(block) = self.media.table.find(at.page.space, number) else { return };
        let size = self.rows_size(self.pages_of_rows());
        let dead = self.media.table.dead(block);
        // The block table counts dead bytes in sixteenths, too coarsely for one row. So the share
        // grows by chance, with the probability that makes it right on average.
        let chance = (u64::from(pointer) ^ self.media.write).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if ((chance >> 32) * size as u64) >> 32 < len as u64 * 16 {
            self.media.note_share(block, dead.saturating_add(1));
        }
    }

    /// Pages of a block that hold rows: all but the last one, which has its summary.
    const fn pages_of_rows(&self) -> u32 {
        self.media.geometry().pages_per_block - 1
    }

    /// The greatest number of indexes that a table has.
    fn widest(&self) -> usize {
        self.schema.tables.iter().map(|table| table.indexes.len()).max().unwrap_or(0)
    }

    /// Bytes of rows that so many pages take.
    fn rows_size(&self, pages: u32) -> usize {
        self.media.layout().payload_size() * pages as usize
    }

    /// Do one step of compaction; false where nothing is to be moved, or nothing more before the
    /// next record. Cost: some ten reads; or one program, and a read for each cell or two of the
    /// rows that are moved; or a flush.
    #[inline(never)]
    pub(super) fn compact_step(&mut self) -> Result<bool, DbError> {
        debug_assert!(self.under_way.is_none(), "rows are moved between transactions");
        debug_assert!(self.doubt.is_none(), "nothing is moved before it is certain");
        if self.media.spans.as_slice().len() >= SPANS_LAST {
            return Ok(false);
        }
        let Some(victim) = &self.compaction.victim else {
            return self.begin_victim();
        };
        if victim.is_surveyed {
            return self.survey();
        }
        let payload = self.media.layout().payload_size();
        let is_full = victim.bytes >= payload || victim.len + LOOKED_UP > WINDOW_MAX;
        let is_through = victim.upto.page + 1 >= self.media.geometry().pages_per_block;
        if is_full || is_through && victim.bytes > 0 {
            return self.move_window();
        }
        if is_through {
            return Ok(self.end_victim());
        }
        match self.look_up()? {
            Then::Nothing => Ok(true),
            Then::Window => self.move_window(),
            Then::Long(row) => self.move_long(row).map(|()| true),
        }
    }

    /// Finish the victim, whose rows are all moved; false where the block before it still waits for
    /// its record.
    fn end_victim(&mut self) -> bool {
        if self.compaction.gone.is_some() {
            return false;
        }
        let victim = self.compaction.victim.take();
        self.compaction.survey.forget_worth();
        debug_assert!(victim.is_none_or(|victim| victim.is_empty()), "no current row goes with it");
        self.compaction.gone = victim.map(|victim| (victim.space, victim.number));
        true
    }

    /// Stop emptying the victim, because one of its rows cannot be moved. Its dead share becomes
    /// zero, so that it is not chosen again.
    fn give_up_victim(&mut self) {
        if let Some(victim) = self.compaction.victim.take()
            && let Some(block) = self.media.table.find(victim.space, victim.number)
        {
            self.media.note_share(block, 0);
        }
    }

    #[inline(never)]
    fn begin_victim(&mut self) -> Result<bool, DbError> {
        match self.choose_victim() {
            Some(name) => self.take_victim(name, false),
            None => self.begin_survey(),
        }
    }

    /// Begin at the first page of a block, to move its rows; or to survey it, at one of its first
    /// pages. Cost: one read.
    #[inline(never)]
    fn take_victim(
        &mut self,
        (space, number): (Space, u32),
        is_surveyed: bool,
    ) -> Result<bool, DbError> {
        debug_assert!(self.compaction.victim.is_none(), "one block is emptied at a time");
        debug_assert!(self.may_move(space, number), "the entries of its rows are in runs");
        self.forget_frame();
        let summary = BlockSummary::read(&mut self.media, (space, number), self.frame)?;
        let pages = self.media.geometry().pages_per_block;
        let mut void = [0; 8];
        for page in 0..pages {
            let at = Page { space, number: number * pages + page };
            if is_void(&mut self.media, at, summary.as_ref()) {
                void[(page / 32) as usize] |= 1 << (page % 32);
            }
        }
        let page = if is_surveyed { self.first_surveyed() } else { 0 };
        let from = Place { page, at: 0 };
        self.compaction.victim = Some(Victim::new((space, number), is_surveyed, void, from));
        Ok(true)
    }

    /// Look up whether the next rows of the victim are current.
    #[inline(never)]
    fn look_up(&mut self) -> Result<Then, DbError> {
        let Some(Victim { upto, len, .. }) = self.compaction.victim else {
            return Ok(Then::Nothing);
        };
        // By reference: a second copy of the rows would lie on the stack below each lookup.
        match &self.look_at(LOOKED_UP)? {
            Look::Unfit => self.give_up_victim(),
            Look::End | Look::More => self.note_upto(Place { page: upto.page + 1, at: 0 }),
            Look::Long(_) if len > 0 => return Ok(Then::Window),
            Look::Long(row) => return Ok(Then::Long(*row)),
            Look::Rows { rows, count, upto, .. } => {
                // Where a page of an index cannot be read, the window stays as it was.
                let mut are_there = [false; SURVEYED];
                for (row, is_there) in rows[..*count].iter().zip(&mut are_there) {
                    *is_there = self.stays(row)?;
                }
                let merges = self.store.full_merges();
                if let Some(victim) = &mut self.compaction.victim {
                    for (row, is_there) in rows[..*count].iter().zip(are_there) {
                        let merges = (is_there && row.is_tombstone).then_some(merges);
                        victim.push(is_there, row.len);
                        victim.tombstones_at = victim.tombstones_at.or(merges);
                    }
                }
                self.note_upto(*upto);
            }
        }
        Ok(Then::Nothing)
    }

    /// Whether a row of a victim has to be moved: it is current, or a tombstone still needed. Cost:
    /// a lookup.
    #[inline(never)]
    fn stays(&mut self, row: &Candidate) -> Result<bool, DbError> {
        let (table, key, pointer) = (row.table, row.key, row.pointer);
        match row.is_last {
            true if row.is_tombstone => self.ends_rows(table, key, pointer),
            true => self.is_newest(table, key, pointer),
            false => Ok(false),
        }
    }

    /// Note that the rows before this place were looked up. They are decided where the window has
    /// no current one.
    fn note_upto(&mut self, upto: Place) {
        if let Some(victim) = &mut self.compaction.victim {
            debug_assert!(victim.upto < upto, "each step comes further");
            victim.upto = upto;
            if victim.is_empty() {
                victim.from = upto;
                victim.forget();
            }
        }
    }

    /// The next rows of a page of the victim, `most` or fewer. Cost: one read.
    #[inline(never)]
    fn look_at(&mut self, most: usize) -> Result<Look, DbError> {
        let Some(victim) = &self.compaction.victim else { return Ok(Look::End) };
        let (layout, schema, hash) = (self.media.layout(), self.schema, self.key);
        let Place { page, at } = victim.upto;
        let here = victim.page(page, self.media.geometry().pages_per_block);
        if victim.is_void(page) {
            return Ok(Look::End);
        }
        self.forget_frame();
        let used = match read_page(&mut self.media, here, self.frame) {
            Ok((_, header)) if header.kind == Kind::More => return Ok(Look::More),
            Ok((stretch, _)) => stretch.bytes().len(),
            Err(MediaError::Corrupt(_) | MediaError::Missing(_)) => return Ok(Look::Unfit),
            Err(error) => return Err(error.into()),
        };
        let bytes = &self.frame[..used];
        let mut candidates = [Candidate::default(); SURVEYED];
        let (mut count, mut at) = (0, at);
        while count < most {
            let Some((from, to)) = Rows::from(bytes, at).next_front() else { break };
            let Ok(view) = RowView::parse_front(schema, &bytes[from..to], 0) else {
                return Ok(Look::Unfit);
            };
            let Some(primary) = view.table.primary_key() else { return Ok(Look::Unfit) };
            let Ok(key) = view.digest(primary, &hash) else { return Ok(Look::Unfit) };
            let cell = layout.place(from).0;
            let pointer = Position { page: here, cell: cell as u32 }.pointer(layout);
            let mut rest = Rows::from(bytes, to);
            let is_replaced = core::iter::from_fn(|| rest.next())
                .take_while(|(at, _)| layout.place(*at).0 == cell)
                .any(|(_, row)| {
                    RowView::parse(schema, row, 0).is_ok_and(|other| {
                        other.head.table == view.head.table
                            && other.digest(primary, &hash) == Ok(key)
                    })
                });
            let (table, len) = (view.head.table, view.row_len);
            let is_tombstone = view.head.kind == RowKind::Tombstone;
            let candidate =
                Candidate { table, key, pointer, len, is_last: !is_replaced, is_tombstone };
            if len > layout.payload_size() {
                return Ok(Look::Long(candidate));
            }
            candidates[count] = candidate;
            count += 1;
            at = from + len;
        }
        let (rows, upto) = (candidates, Place { page, at });
        Ok(if count == 0 { Look::End } else { Look::Rows { rows, count, upto, used } })
    }
}
