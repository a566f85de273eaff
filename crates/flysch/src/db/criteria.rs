//! Several criteria at once: rows that meet conditions on several indexes of a table.
//!
//! An index gives the pointers of a key in ascending order. So the next pointers of the rarest key
//! make a batch, the entries of the other keys are swept over its stretch, and only cells that are
//! left in the batch are read. A row costs each criterion a few bits of index, and a read only if
//! it meets all of them.
//!
//! 1. Entries tell candidates, and the row decides, as everywhere: each criterion is tested on it.
//! 2. Rows come in the order of their pointers, each once, even if runs are merged meanwhile.
//! 3. Where anything was written since the last row, the next batch begins behind that row's cell.

use flysch_nand::Nand;

use super::find::{Carried, Sought};
use super::index::Wanted;
use super::reader::Reader;
use super::view::Since;
use super::{Db, DbError};
use crate::media::CELL_SIZE;
use crate::row::{Digest, HashKey, RowView, Value};
use crate::store::{Batch, Marks, Sight, Sweep};

/// A condition: the columns of an index have these values.
#[derive(Clone, Copy, Debug)]
pub struct Criterion<'a> {
    index: u8,
    key: &'a [Value<'a>],
    is_other: bool,
}

impl<'a> Criterion<'a> {
    /// The columns of this index have these values.
    pub const fn is(index: u8, key: &'a [Value<'a>]) -> Self {
        Self { index, key, is_other: false }
    }

    /// Or these: a row has to meet this criterion or the one before it.
    pub const fn or(index: u8, key: &'a [Value<'a>]) -> Self {
        Self { is_other: true, ..Self::is(index, key) }
    }
}

/// A criterion, as a row is tested.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Test {
    index: u8,
    digest: Digest,
    /// Whether a row that meets the test before it need not meet this one.
    is_other: bool,
}

impl Test {
    fn is_met(&self, view: &RowView<'_, '_>, hash: &HashKey) -> bool {
        let index = view.table.indexes.get(usize::from(self.index));
        index.is_some_and(|index| view.digest(index, hash) == Ok(self.digest))
    }
}

/// Tests of which a row has to meet one each.
fn groups(tests: &[Test]) -> impl Iterator<Item = &[Test]> {
    tests.chunk_by(|_, next| next.is_other)
}

/// The places of the tests of each group.
fn places(tests: &[Test]) -> impl Iterator<Item = core::ops::Range<usize>> {
    groups(tests).scan(0, |end, group| {
        let begin = *end;
        *end += group.len();
        Some(begin..*end)
    })
}

/// Whether a row meets a test of each group.
pub(super) fn meets(view: &RowView<'_, '_>, tests: &[Test], hash: &HashKey) -> bool {
    groups(tests).all(|group| group.iter().any(|test| test.is_met(view, hash)))
}

/// How the pointers of a criterion are found.
#[derive(Debug, Default)]
struct Source {
    /// The entries of a key that may have many rows; None where the index is unique: a lookup finds
    /// its row.
    sweep: Option<Sweep>,
    /// The pointer that the lookup found, once it is done.
    found: Option<u32>,
    is_done: bool,
}

/// A cursor over the rows of a table that meet some criteria.
#[derive(Debug)]
pub struct Matches<const COUNT: usize> {
    stand: Stand,
    tests: [Test; COUNT],
    sources: [Source; COUNT],
}

/// Where a cursor over some criteria stands.
#[derive(Debug)]
struct Stand {
    table: u8,
    /// Cells that may have rows, and the place of the next one among them.
    batch: Batch,
    next: u8,
    /// The pointer at which the next batch begins; None where there is none.
    rest: Option<u32>,
    /// The cell that is being searched, and how many of its rows were passed.
    at: Option<u32>,
    passed: u32,
    /// The cell that was searched last.
    last: Option<u32>,
    /// The group that makes batches.
    driver: u8,
    since: Since,
    /// The state of the store for which all of this is valid.
    generation: Option<(u32, u32)>,
}

impl<N: Nand> Db<'_, '_, N> {
    /// A cursor over the rows of a table that meet all of these criteria, or one of those that are
    /// joined by [`Criterion::or`]. Ranges and other conditions belong into
    /// [`crate::query::Cursor::filter`]. Cost: none.
    pub fn matching<const COUNT: usize>(
        &self,
        table: u8,
        criteria: [Criterion<'_>; COUNT],
    ) -> Result<Matches<COUNT>, DbError> {
        const { assert!(COUNT > 0, "a scan gives all rows") };
        let mut tests = [Test::default(); COUNT];
        let mut sources = [(); COUNT].map(|()| Source::default());
        for ((test, source), criterion) in tests.iter_mut().zip(&mut sources).zip(&criteria) {
            let &Criterion { index, key, is_other } = criterion;
            let digest = self.digest_of_key(table, index, key)?;
            *test = Test { index, digest, is_other };
            if !self.index(table, index)?.is_unique {
                let (number, code) = self.code(Wanted { table, index, digest })?;
                source.sweep = Some(Sweep::new(number, code));
            }
        }
        Ok(Matches { stand: Stand::new(table, self.since()), tests, sources })
    }
}

impl<const COUNT: usize> Matches<COUNT> {
    /// Copy the next row into `out`; None behind the last one. [`DbError::Stale`] where compaction
    /// moved rows since the first call, or the newest rows came to another page, as a transaction
    /// was rolled back or a program failed. Cost: one read of each row, and one read of the index
    /// for some 64 entries of the rarest criterion and some hundreds of the others; a lookup by the
    /// primary key as well where rows of the table were ever replaced or moved. The first row takes
    /// some reads for each criterion, and so does the next one after anything was written. Rows
    /// that met all criteria once, and are gone, are read once, as by
    /// [`Find::next`](super::Find::next).
    #[inline(never)]
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let db = reader.reading()?;
        db.check_past(self.stand.table)?;
        if db.has_lost_place(&mut self.stand.since) {
            return Err(DbError::Stale);
        }
        let found = self.stand.next(db, &self.tests, &mut self.sources)?;
        let Some((pointer, place)) = found else { return Ok(None) };
        let copied = db.row_at(pointer, place, out);
        if copied.is_err() {
            // The next call may lend more bytes for the row.
            self.stand.passed = place;
        }
        copied.map(Some)
    }
}

impl Stand {
    const fn new(table: u8, since: Since) -> Self {
        Self {
            table,
            batch: Batch::EMPTY,
            next: 0,
            rest: Some(0),
            at: None,
            passed: 0,
            last: None,
            driver: 0,
            since,
            generation: None,
        }
    }

    /// The pointer of the next row's cell, and the row's place in that cell.
    #[inline(never)]
    fn next<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        tests: &[Test],
        sources: &mut [Source],
    ) -> Result<Option<(u32, u32)>, DbError> {
        debug_assert!(tests.len() == sources.len(), "each test has a source");
        self.go_on(db, tests, sources)?;
        loop {
            let pointer = match self.at {
                Some(pointer) => pointer,
                None => match self.next_cell(db, tests, sources)? {
                    Some(pointer) => pointer,
                    None => return Ok(None),
                },
            };
            debug_assert!(self.last.is_none_or(|last| pointer >= last), "pointers ascend");
            (self.at, self.last) = (Some(pointer), Some(pointer));
            let (index, carried) = (tests[0].index, Carried::Each(tests));
            let sought = Sought { table: self.table, index, carried, is_doubtful: true };
            if db.may_see(pointer) {
                let is_first = self.passed == 0;
                if let Some(place) = db.live_row(pointer, sought, &mut self.passed)? {
                    return Ok(Some((pointer, place)));
                }
                if is_first {
                    take_back(db, (self.table, pointer), tests, sources)?;
                }
            }
            (self.at, self.passed) = (None, 0);
        }
    }

    /// Begin anew behind the last cell, unless the store is as it was. The group whose batch
    /// reaches farthest has the fewest entries there: it makes the batches.
    fn go_on<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        tests: &[Test],
        sources: &mut [Source],
    ) -> Result<(), DbError> {
        let generation = Some(db.store.generation());
        if self.generation == generation {
            return Ok(());
        }
        self.generation = generation;
        for source in &mut *sources {
            source.is_done = false;
        }
        let from = self.last.map_or(Some(0), |last| last.checked_add(1));
        (self.batch, self.next, self.rest, self.driver) = (Batch::EMPTY, 0, from, 0);
        let mut farthest = 0;
        for (number, places) in (0..).zip(places(tests)) {
            let mut batch = Batch::EMPTY;
            for place in places {
                let key = (self.table, &tests[place]);
                sources[place].show(db, key, from.unwrap_or(u32::MAX), &mut batch)?;
            }
            if batch.limit() > farthest {
                (farthest, self.driver) = (batch.limit(), number);
            }
        }
        Ok(())
    }

    /// The next cell that may have a row which meets all tests; None behind the last one.
    fn next_cell<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        tests: &[Test],
        sources: &mut [Source],
    ) -> Result<Option<u32>, DbError> {
        loop {
            if let Some(&pointer) = self.batch.as_slice().get(usize::from(self.next)) {
                self.next += 1;
                return Ok(Some(pointer));
            }
            let Some(from) = self.rest else { return Ok(None) };
            self.fill(db, tests, sources, from)?;
        }
    }

    /// Make the next batch, and leave in it what the other groups name too.
    #[inline(never)]
    fn fill<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        tests: &[Test],
        sources: &mut [Source],
        from: u32,
    ) -> Result<(), DbError> {
        (self.batch, self.next) = (Batch::EMPTY, 0);
        for place in places(tests).nth(usize::from(self.driver)).into_iter().flatten() {
            sources[place].show(db, (self.table, &tests[place]), from, &mut self.batch)?;
        }
        self.rest = self.batch.rest();
        self.batch.end();
        let all = (0..).zip(places(tests));
        for (_, places) in all.filter(|(number, _)| *number != self.driver) {
            let mut marks = Marks::new(&self.batch);
            for place in places {
                sources[place].show(db, (self.table, &tests[place]), from, &mut marks)?;
            }
            let marked = marks.bits();
            self.batch.keep(marked);
        }
        Ok(())
    }
}

/// Take back the entries of a cell whose rows met the tests once, where none of their rows is left.
/// Cost: for each row there that meets one of the tests, as much as a row that is given.
#[inline(never)]
fn take_back<N: Nand>(
    db: &mut Db<'_, '_, N>,
    (table, pointer): (u8, u32),
    tests: &[Test],
    sources: &[Source],
) -> Result<(), DbError> {
    let many = tests.iter().zip(sources).filter(|(_, source)| source.sweep.is_some());
    for (&Test { index, digest, .. }, _) in many {
        let carried = Carried::Key(digest);
        let sought = Sought { table, index, carried, is_doubtful: true };
        let (_, code) = db.code(Wanted { table, index, digest })?;
        db.take_back_cell(sought, code, pointer)?;
    }
    Ok(())
}

impl Source {
    /// Show the pointers from `from` on that may lead to rows which meet the test.
    fn show<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        (table, test): (u8, &Test),
        from: u32,
        sight: &mut dyn Sight,
    ) -> Result<(), DbError> {
        if let Some(sweep) = &mut self.sweep {
            let lent = (&mut db.media, &mut db.scratch[..CELL_SIZE]);
            return Ok(sweep.go(&db.store, lent, from, sight)?);
        }
        if !self.is_done {
            let found = db.seek(Wanted { table, index: test.index, digest: test.digest })?;
            (self.found, self.is_done) = (found.row().map(|seat| seat.pointer), true);
        }
        if let Some(pointer) = self.found.filter(|it| (from..=sight.limit()).contains(it)) {
            sight.begin();
            sight.see(pointer);
        }
        Ok(())
    }
}
