//! The runs of a sort: written one by one, and merged whenever there are too many.

use flysch_nand::Nand;

use super::Order;
use super::buffer::Record;
use super::merging::{FAN_MAX, Merging};
use super::pages::{Pages, Run};
use crate::db::{Db, DbError};

/// Greatest number of runs at a time.
const RUNS_MAX: usize = 32;
/// The least memory for each run that is merged, where that leaves two. With less a cell is read
/// more often than once.
const WINDOW_MIN: usize = 600;

/// The runs that a sort has on flash, and how far the last ones were merged.
#[derive(Debug)]
pub(super) struct Runs {
    /// Tells the database which pages are this sort's; None while it has none.
    ticket: Option<u32>,
    list: [Run; RUNS_MAX],
    count: usize,
    /// How many runs can be merged at once.
    fan: usize,
    merging: Merging,
    /// The window that has the next record, while the last runs are merged.
    least: usize,
}

impl Runs {
    /// No runs, to be merged in so many bytes of memory. A record has at most `record_max` bytes.
    pub(super) fn new(memory: usize, record_max: usize) -> Self {
        let fan = (memory / record_max.max(WINDOW_MIN)).clamp(2, FAN_MAX);
        let list = [Run::default(); RUNS_MAX];
        Self { ticket: None, list, count: 0, fan, merging: Merging::default(), least: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Write records, which are in order, as a run. Cost: a program for each page of them.
    pub(super) fn add<'r, N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        records: impl Iterator<Item = &'r [u8]>,
    ) -> Result<(), DbError> {
        debug_assert!(self.count < RUNS_MAX, "the table has a place");
        let ticket = match self.ticket {
            Some(ticket) => ticket,
            None => *self.ticket.insert(db.begin_spill()?),
        };
        let mut pages = Pages::new(ticket);
        for record in records {
            pages.put(db, record)?;
        }
        self.list[self.count] = pages.end(db, 0)?;
        self.count += 1;
        Ok(())
    }

    /// Merge the last runs where as many as can be merged at once went through as many merges, or
    /// the table is full. The memory is free for that.
    pub(super) fn merge_due<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        (memory, order): (&mut [u8], Order),
    ) -> Result<(), DbError> {
        while self.count >= self.fan {
            let last = &self.list[self.count - self.fan..self.count];
            let are_alike = last.iter().all(|run| run.merges == last[0].merges);
            if !are_alike && self.count < RUNS_MAX {
                break;
            }
            self.merge(db, (memory, order), self.fan)?;
        }
        debug_assert!(self.count < RUNS_MAX, "the table has a place");
        Ok(())
    }

    /// Merge until the runs that are left can be merged at once, and begin with that. Cost: those
    /// merges, the least that do.
    pub(super) fn begin_last<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        (memory, order): (&mut [u8], Order),
    ) -> Result<(), DbError> {
        while self.count > self.fan {
            self.merge(db, (memory, order), self.fan.min(self.count - self.fan + 1))?;
        }
        self.merging = Merging::new(&self.list[..self.count], memory.len());
        Ok(())
    }

    /// The next record of the last merge; None behind the last one. Cost: a read for each 506 bytes
    /// of the runs.
    pub(super) fn least<'m, N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        (memory, order): (&'m mut [u8], Order),
    ) -> Result<Option<Record<'m>>, DbError> {
        let Some(ticket) = self.ticket else { return Ok(None) };
        let Some(least) = self.merging.least(db, ticket, (memory, order))? else {
            return Ok(None);
        };
        self.least = least;
        Ok(self.merging.record(memory, least))
    }

    /// Go on behind the record that came last, which has so many bytes.
    pub(super) fn pass(&mut self, len: usize) {
        self.merging.pass(self.least, len);
    }

    /// Have the next record let all pages go. [`DbError::Stale`] where another sort has begun, or
    /// the pages were given up for want of blocks.
    pub(super) fn end<N: Nand>(&self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        self.ticket.map_or(Ok(()), |ticket| db.keep_spilled(ticket, None))
    }

    /// Merge the last `count` runs into one.
    #[inline(never)]
    fn merge<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        (memory, order): (&mut [u8], Order),
        count: usize,
    ) -> Result<(), DbError> {
        let Some(ticket) = self.ticket else { unreachable!("a sort with runs has pages") };
        let from = self.count - count;
        self.merging = Merging::new(&self.list[from..self.count], memory.len());
        let mut pages = Pages::new(ticket);
        while let Some(least) = self.merging.least(db, ticket, (memory, order))? {
            let Some(record) = self.merging.record(memory, least) else {
                unreachable!("the least record was found")
            };
            pages.put(db, record.bytes)?;
            self.merging.pass(least, record.bytes.len());
        }
        let merges = self.list[from..self.count].iter().map(|run| run.merges).max();
        self.list[from] = pages.end(db, merges.unwrap_or(0) + 1)?;
        self.count = from + 1;
        let firsts = self.list[..self.count].iter().map(|run| run.first);
        let oldest = firsts.max_by_key(|first| db.spill_age(*first));
        db.keep_spilled(ticket, oldest)
    }
}
