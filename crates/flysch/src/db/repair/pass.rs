//! A pass over the rows: it finds those whose entries may be lost, and puts the missing ones again.

use flysch_nand::Nand;

use super::missing::Missing;
use super::{Repair, Stage};
use crate::db::index::Wanted;
use crate::db::{Db, DbError};
use crate::media::{MediaError, Page};
use crate::record::{BlockSummary, Position, ROW_SPACES, Rows, is_void, read_page};
use crate::row::{Digest, RowHead, RowView};
use crate::store::{Entry, Gap, TAKE_BACK, insist};

/// Entries that are looked up before the page is read again.
const SUSPECTS: usize = 4;

/// Which entries a pass looks for. Rows are told from their older versions by their primary keys,
/// so these come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Keys,
    Others,
}

/// Where a pass goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The place of the space among those of rows; None before its first page.
    space: usize,
    number: Option<u32>,
    /// Entries of the page that were passed.
    passed: u32,
    /// The summary of the page's block; None until it was read.
    block: Option<(u32, Option<BlockSummary>)>,
}

impl Place {
    pub(super) const START: Self = Self { space: 0, number: None, passed: 0, block: None };
}

/// An entry that may be lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub(super) head: RowHead,
    pub(super) index: u8,
    /// The digest of its key, and of the row's primary key.
    pub(super) digest: Digest,
    pub(super) key: Digest,
    /// The cell in which the row begins, and its place among the rows there.
    pub(super) pointer: u32,
    pub(super) place: u32,
    pub(super) commit: u64,
    /// The code in the index, as long as the longest.
    spread: u64,
}

/// What may be lost, as a pass sees it.
struct Search<'g> {
    gaps: &'g [Gap],
    /// The least and the greatest code, all codes being as long as the longest.
    part: (u64, u64),
    pass: Pass,
    page: Page,
    passed: u32,
}

/// Entries of a page that may be lost.
struct Suspects {
    all: [Option<Suspect>; SUSPECTS],
    len: usize,
    /// Entries of the page that were passed, those of the page all in all if there are no more.
    passed: u32,
    has_more: bool,
}

impl<N: Nand> Repair<'_, '_, '_, N> {
    /// Do the next page of a pass, or some entries of it.
    pub(super) fn pass(&mut self, pass: Pass, mut place: Place) -> Result<(), DbError> {
        let Some(page) = next_page(self.db, &mut place) else {
            return self.end_part(pass);
        };
        let (gaps, part) = (&self.gaps, self.part);
        let search = Search { gaps, part, pass, page, passed: place.passed };
        debug_assert!(self.db.under_way.is_some(), "entries are put by a transaction");
        let mut has_more = false;
        if !self.db.is_left_out(page, &mut place)? {
            match self.db.suspects(&search)? {
                None => self.report.row_pages += u32::from(pass == Pass::Keys && part.0 == 0),
                Some(suspects) => {
                    for suspect in suspects.all.iter().flatten() {
                        self.put_again(suspect)?;
                    }
                    (has_more, place.passed) = (suspects.has_more, suspects.passed);
                }
            }
        }
        if !has_more {
            let next = self.db.media.numbers().advance(page.number, 1);
            (place.number, place.passed) = (Some(next), 0);
        }
        self.stage = Stage::Rows(pass, place);
        Ok(())
    }

    /// Put an entry again, if it is missing.
    fn put_again(&mut self, suspect: &Suspect) -> Result<(), DbError> {
        let missing = self.db.passing_over_lost(|db| db.missing(suspect))?;
        let Missing::Yes { is_doubtful, rival } = missing else { return Ok(()) };
        self.report.entries += 1;
        let seen = self.seen.unwrap_or((suspect.spread, suspect.spread));
        self.seen = Some((seen.0.min(suspect.spread), seen.1.max(suspect.spread)));
        self.report.doubtful += u32::from(is_doubtful);
        self.db.make_room(suspect.head.table)?;
        if let Some(pointer) = rival {
            let wanted = Wanted { table: suspect.head.table, index: 0, digest: suspect.digest };
            let (index, code) = self.db.code(wanted)?;
            self.db.store.put(&Entry { index, code, pointer, flags: TAKE_BACK })?;
            self.db.make_room(suspect.head.table)?;
        }
        self.db.put_digest(suspect.head, suspect.index, suspect.digest, suspect.pointer)?;
        let Some(mut company) = self.db.company(suspect)? else { return Ok(()) };
        while let Some(next) = self.db.passing_over_lost(|db| db.companion(&mut company))? {
            self.db.make_room(next.head.table)?;
            self.db.put_digest(next.head, next.index, next.digest, next.pointer)?;
        }
        Ok(())
    }
}

/// The page with which a pass goes on; None behind the last whose entries are in runs.
fn next_page<N: Nand>(db: &mut Db<'_, '_, N>, place: &mut Place) -> Option<Page> {
    let numbers = db.media.numbers();
    loop {
        let space = *ROW_SPACES.get(place.space)?;
        let stream = *db.records.stream(space);
        let number = place.number.unwrap_or(stream.first);
        if number == stream.mark {
            *place = Place { space: place.space + 1, ..Place::START };
            continue;
        }
        let block = numbers.block_of(number);
        if db.media.table.find(space, block).is_some() {
            place.number = Some(number);
            return Some(Page { space, number });
        }
        let is_marked = block == numbers.block_of(stream.mark);
        let next = if is_marked { stream.mark } else { numbers.next_block(number) };
        (place.number, place.passed) = (Some(next), 0);
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Whether a page is void. Cost: a read for each block.
    fn is_left_out(&mut self, page: Page, place: &mut Place) -> Result<bool, DbError> {
        let name = self.media.numbers().block_of(page.number);
        let known = place.block.filter(|(block, _)| *block == name);
        let summary = if let Some((_, summary)) = known {
            summary
        } else {
            self.forget_frame();
            BlockSummary::read(&mut self.media, (page.space, name), self.frame)?
        };
        place.block = Some((name, summary));
        Ok(is_void(&mut self.media, page, summary.as_ref()))
    }

    /// Some entries of a page that may be lost; None where the page cannot be read.
    fn suspects(&mut self, search: &Search<'_>) -> Result<Option<Suspects>, DbError> {
        self.forget_frame();
        let read = insist(|| {
            let (stretch, _) = read_page(&mut self.media, search.page, self.frame)?;
            Ok((stretch.bytes().len(), stretch.base))
        });
        let (len, base) = match read {
            Err(MediaError::PowerLost) => return Err(MediaError::PowerLost.into()),
            Err(_) => return Ok(None),
            Ok(read) => read,
        };
        let layout = self.media.layout();
        let mut suspects = Suspects { all: [None; SUSPECTS], len: 0, passed: 0, has_more: false };
        let (mut at, mut cell, mut place) = (0, usize::MAX, 0);
        while let Some((from, to)) = Rows::from(&self.frame[..len], at).next_front() {
            let view = RowView::parse_front(self.schema, &self.frame[from..to], u64::from(base))?;
            let here = layout.place(from).0;
            place = if here == cell { place + 1 } else { 0 };
            (cell, at) = (here, from + view.row_len);
            let position = Position { page: search.page, cell: here as u32 };
            let row = (position.pointer(layout), place);
            if !self.suspect(&view, row, search, &mut suspects)? {
                break;
            }
        }
        Ok(Some(suspects))
    }

    /// Add the entries of a row that may be lost; false where there is no room for another one.
    fn suspect(
        &self,
        view: &RowView<'_, '_>,
        (pointer, place): (u32, u32),
        search: &Search<'_>,
        suspects: &mut Suspects,
    ) -> Result<bool, DbError> {
        let (head, commit) = (view.head, view.commit);
        for (index, declared) in (0..).zip(view.table.indexes_of(head.kind)) {
            let is_key = index == 0 && declared.is_unique;
            if is_key != (search.pass == Pass::Keys) {
                continue;
            }
            suspects.passed += 1;
            if suspects.passed <= search.passed {
                continue;
            }
            let kept = self.kept(head.table, index)?;
            let digest = view.digest(declared, &self.key)?;
            let code = kept.code(digest);
            let spread = code << (u64::BITS - u32::from(self.store.code_bits(kept.number)));
            let may_be = |gap: &Gap| gap.may_have_held(kept.number, code, pointer);
            let is_here = (search.part.0..=search.part.1).contains(&spread);
            if !is_here || !search.gaps.iter().any(may_be) {
                continue;
            }
            if suspects.len == SUSPECTS {
                (suspects.has_more, suspects.passed) = (true, suspects.passed - 1);
                return Ok(false);
            }
            let primary = view.table.primary_key();
            let key = primary.map_or(Ok(digest), |primary| view.digest(primary, &self.key))?;
            let suspect = Suspect { head, index, digest, key, pointer, place, commit, spread };
            suspects.all[suspects.len] = Some(suspect);
            suspects.len += 1;
        }
        Ok(true)
    }
}
