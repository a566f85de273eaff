//! Repair: what indexes lost with pages that cannot be read is put together again from the rows.
//!
//! ```text
//! find the pages ▸ primary keys, then other indexes, of all codes or a part of them at a time:
//!                      in a transaction, pass over the rows ▸ commit
//!                ▸ write the runs anew, without the pages
//! ```
//!
//! 1. A page of a run holds the entries between its neighbours' codes. So a pass over the rows
//!    looks up only those whose codes and positions lie there.
//! 2. An entry is put again where no other leads to its row, nor to a newer one of its key.
//! 3. Until a pass ends, an older row of a key may have its entry again while a newer one has not.
//!    So all entries of a part of the codes are committed together, and a cut takes them back.
//! 4. Only when all of them are on flash do merges take the pages for empty.

mod company;
mod missing;
mod pass;

use flysch_nand::Nand;

use self::pass::{Pass, Place};
use super::{Db, DbError, Durability};
use crate::media::CELL_SIZE;
use crate::store::{Gap, Looked, STRETCHES_MAX};

/// Pages of runs that a step looks at.
const PAGES_A_STEP: u32 = 8;

/// What a repair found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Pages of indexes that could not be read.
    pub lost_pages: u32,
    /// Entries that were put again.
    pub entries: u32,
    /// Rows that may have been deleted long ago, and are there again: their table has had deletes,
    /// and nothing but the row itself tells of the key.
    pub doubtful: u32,
    /// Pages of rows that could not be read. What they hold cannot be put together again.
    pub row_pages: u32,
}

/// A repair under way. One that is dropped leaves the database as it found it, and so does a power
/// cut: what was not put again until then is put by the next one.
#[derive(Debug)]
pub struct Repair<'d, 'ram, 's, N> {
    db: &'d mut Db<'ram, 's, N>,
    stage: Stage,
    gaps: [Gap; STRETCHES_MAX],
    /// The least and the greatest code of the present part.
    part: (u64, u64),
    /// The least and the greatest code that the part came to so far; None where it came to none.
    seen: Option<(u64, u64)>,
    /// What was done before the present part.
    before: Repaired,
    report: Repaired,
    /// Whether a merge was stopped, which the state on flash does not say.
    has_stopped: bool,
}

#[derive(Debug)]
enum Stage {
    /// Look for pages that cannot be read, from this one on.
    Find(u32),
    Rows(Pass, Place),
    Renew,
    Done,
}

impl<N> Drop for Repair<'_, '_, '_, N> {
    fn drop(&mut self) {
        // Merges go on as before, and come to the lost pages.
        if matches!(self.stage, Stage::Find(_) | Stage::Rows(..)) {
            self.db.store.forget_lost();
        }
    }
}

impl<N: Nand> Repair<'_, '_, '_, N> {
    /// What was found and done so far.
    pub const fn report(&self) -> &Repaired {
        &self.report
    }

    /// Do one step; false once all is done. Cost: some ten reads; for each entry that may be lost a
    /// lookup or two; a flush or a slice of a merge. In all, a read for each page of an index.
    /// Where one is lost, also two reads for each page of rows, and the programs of the run. Where
    /// more entries are lost than a transaction may have, the rows are read several times.
    ///
    /// # Errors
    /// [`DbError::Full`] where there is no space for the entries. The error of a page where it
    /// cannot be read any more and could be at the beginning, which a new repair finds, or where
    /// more than eight stretches of pages are lost.
    pub fn step(&mut self) -> Result<bool, DbError> {
        match self.stage {
            Stage::Find(page) => self.find(page)?,
            Stage::Rows(pass, place) => match self.pass(pass, place) {
                Err(DbError::TransactionTooLong) => self.narrow(pass)?,
                done => done?,
            },
            Stage::Renew => self.renew()?,
            Stage::Done => return Ok(false),
        }
        Ok(true)
    }

    /// Look for pages of runs that cannot be read.
    fn find(&mut self, from: u32) -> Result<(), DbError> {
        let db = &mut *self.db;
        db.forget_frame();
        for page in from..from + PAGES_A_STEP {
            match db.store.look_for_lost(&mut db.media, db.frame, page)? {
                Some(Looked::Sound) => {}
                Some(Looked::Lost) => self.report.lost_pages += 1,
                Some(Looked::Stopped) => self.has_stopped = true,
                None if self.report.lost_pages > 0 => return self.bound(),
                None => return self.end_find(),
            }
        }
        self.stage = Stage::Find(from + PAGES_A_STEP);
        Ok(())
    }

    /// End a repair that found no lost page.
    fn end_find(&mut self) -> Result<(), DbError> {
        if self.has_stopped {
            self.db.settle()?;
            self.record()?;
        }
        self.stage = Stage::Done;
        Ok(())
    }

    /// Find out what the lost pages may have held.
    fn bound(&mut self) -> Result<(), DbError> {
        let db = &mut *self.db;
        db.settle()?;
        db.store.shun_lost();
        // What a snapshot shows may hang on entries that are lost.
        db.drop_snapshots();
        for (number, gap) in self.gaps.iter_mut().enumerate() {
            let cell = &mut db.scratch[..CELL_SIZE];
            *gap = db.store.gap(number, &mut db.media, cell)?;
        }
        self.begin_part(Pass::Keys, (0, u64::MAX))
    }

    /// Begin to put entries of some codes again.
    fn begin_part(&mut self, pass: Pass, part: (u64, u64)) -> Result<(), DbError> {
        debug_assert!(part.0 <= part.1, "a part has a code");
        self.db.roll_back_open()?;
        self.db.begin_call();
        self.db.name_blocks_ahead()?;
        self.db.begin_now();
        self.before = self.report;
        (self.part, self.seen) = (part, None);
        self.stage = Stage::Rows(pass, Place::START);
        Ok(())
    }

    /// Take the present part back, and try one that has about half of the codes that were seen.
    fn narrow(&mut self, pass: Pass) -> Result<(), DbError> {
        let (least, greatest) = self.part;
        let limit = match self.seen {
            Some((low, high)) if low < high => low.midpoint(high),
            Some((code, _)) if code < greatest => code,
            Some((code, _)) if least < code => code - 1,
            _ => return Err(DbError::TransactionTooLong),
        };
        debug_assert!(least <= limit && limit < greatest, "the part becomes shorter");
        self.report = self.before;
        self.begin_part(pass, (least, limit))
    }

    /// Commit the entries of the present part, and begin the next one.
    fn end_part(&mut self, pass: Pass) -> Result<(), DbError> {
        debug_assert!(self.db.under_way.is_some(), "a part is a transaction");
        if self.report.entries > self.before.entries {
            self.commit()?;
        }
        let (_, greatest) = self.part;
        match (greatest.checked_add(1), pass) {
            // What fitted once will fit again. Where there was nothing, there may be nothing more.
            (Some(next), _) => {
                let width = self.seen.map_or(u64::MAX, |(low, _)| greatest - low);
                self.begin_part(pass, (next, next.saturating_add(width)))
            }
            (None, Pass::Keys) => self.begin_part(Pass::Others, (0, u64::MAX)),
            (None, Pass::Others) => {
                self.db.roll_back_open()?;
                self.db.store.renew_lost();
                self.stage = Stage::Renew;
                Ok(())
            }
        }
    }

    fn commit(&mut self) -> Result<(), DbError> {
        debug_assert!(self.db.row_count() == 0, "a repair appends no row");
        self.db.flush_open()?;
        debug_assert!(self.db.under_way.is_some_and(|tx| tx.has_runs), "entries are on flash");
        let commits = self.db.commit;
        // What follows a commit may come to a lost page. The commit is done nevertheless.
        let done = self.db.commit_now(Durability::Lazy);
        if self.db.commit == commits {
            done?;
        }
        self.record()
    }

    /// Go on with the merges that write the runs again without the lost pages.
    fn renew(&mut self) -> Result<(), DbError> {
        debug_assert!(self.db.under_way.is_none(), "all parts are committed");
        let is_renewed = self.db.store.lost().is_empty();
        if is_renewed || !self.db.work()? {
            debug_assert!(is_renewed, "a run with lost pages is merged in the end");
            self.record()?;
            self.stage = Stage::Done;
        }
        Ok(())
    }

    /// Record the state in the log: without a commit, no record goes to the `NvRam`.
    fn record(&mut self) -> Result<(), DbError> {
        if self.db.record_what_goes()? { Ok(()) } else { Err(DbError::Full) }
    }
}

impl<'ram, 's, N: Nand> Db<'ram, 's, N> {
    /// Put together again from the rows what indexes lost with pages that cannot be read. Until
    /// then calls that come to such a page fail with [`MediaError::Corrupt`], merges among them,
    /// and so do inserts. An open transaction is rolled back, and where anything is lost snapshots
    /// are [`DbError::Stale`]. Cost: see [`Repair::step`].
    ///
    /// Of a table without deletes everything is as it was. A row that was deleted so long ago that
    /// its tombstone is gone may be there again: the repair counts such rows as doubtful.
    ///
    /// [`MediaError::Corrupt`]: crate::media::MediaError::Corrupt
    pub fn repair(&mut self) -> Result<Repaired, DbError> {
        let mut repair = self.begin_repair()?;
        while repair.step()? {}
        Ok(*repair.report())
    }

    /// Begin a repair that is done step by step: a program that has to feed a watchdog does so
    /// between them. Cost: none, or what is left of an open transaction.
    pub fn begin_repair(&mut self) -> Result<Repair<'_, 'ram, 's, N>, DbError> {
        self.roll_back_open()?;
        self.store.forget_lost();
        // What was copied of a block may be lost while its original can be read.
        self.media.drop_copy();
        let (gaps, part) = ([Gap::default(); STRETCHES_MAX], (0, u64::MAX));
        let (before, report) = (Repaired::default(), Repaired::default());
        let stage = Stage::Find(0);
        Ok(Repair { db: self, stage, gaps, part, seen: None, before, report, has_stopped: false })
    }
}
