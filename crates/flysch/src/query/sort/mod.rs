//! Sort: rows in the order of any columns, however many they are.
//!
//! Rows are collected in RAM. Where they do not fit, what is there goes to flash as a sorted run,
//! and runs are merged: some whenever there are too many, the last ones as rows are pulled. No
//! record names any of this, so a power cut leaves nothing behind.
//!
//! 1. Rows of one key keep the order in which they were offered: runs that are merged lie side by
//!    side in the table of runs, and the one before wins.
//! 2. A merge that failed is begun again: its runs stay until its output is whole.

mod buffer;
mod merging;
mod pages;
mod runs;
mod window;

use flysch_nand::Nand;

use self::buffer::{Buffer, FRONT, PLACE};
use self::runs::Runs;
use super::{Cursor, Order, copy};
use crate::db::{Db, DbError, Reader};
use crate::row::RowView;
use crate::row::order::{END_SIZE, End};

/// Sorts the rows that it is offered by some columns, all ascending or all descending. It is a
/// cursor then, so it can be grouped or merged. Nulls come first in ascending order. Keys are
/// compared by the first 64 of their ordered bytes, of which a number has at most 9. Rows of one
/// key keep the order in which they were offered. Their commits are not kept.
///
/// Cost: where all rows fit the memory, nothing on flash. Else each row is programmed once, and
/// once more for each merge that it goes through. The memory takes a window for each run that is
/// merged, of at least 600 bytes and a row, and 16 windows at most. With `n` windows, rows that
/// fill the memory `m` times go through `log m / log n` merges, rounded up; the last one programs
/// nothing. Each merge reads every 506 bytes once. One sort at a time has pages on flash: where
/// another begins to have some, this one says [`DbError::Stale`].
///
/// RAM: what is given, and its own size.
#[derive(Debug)]
pub struct Sort<'m> {
    memory: &'m mut [u8],
    columns: &'m [u8],
    order: Order,
    row_max: usize,
    buffer: Buffer,
    runs: Runs,
    phase: Phase,
}

/// What the sort is about.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Rows are offered.
    Collecting,
    /// Rows are given from RAM; the rank of the next one.
    Ranked(usize),
    /// Rows are given as the last runs are merged.
    Merging,
}

impl<'m> Sort<'m> {
    /// Sort rows of at most `row_max` bytes by these columns in this memory, of which at most 64 KB
    /// are used.
    ///
    /// # Errors
    /// [`DbError::RamTooSmall`] where the memory does not take two rows with their keys.
    pub fn new(
        memory: &'m mut [u8],
        row_max: usize,
        columns: &'m [u8],
        order: Order,
    ) -> Result<Self, DbError> {
        let needed = row_max.saturating_add(FRONT + END_SIZE + PLACE).saturating_mul(2);
        if memory.len() < needed {
            return Err(DbError::RamTooSmall { needed });
        }
        let len = memory.len().min(usize::from(u16::MAX));
        let memory = &mut memory[..len];
        let runs = Runs::new(memory.len(), FRONT + END_SIZE + row_max);
        let (buffer, phase) = (Buffer::default(), Phase::Collecting);
        Ok(Self { memory, columns, order, row_max, buffer, runs, phase })
    }

    /// Offer the bytes of a row. Cost: nothing, or where the memory is full the programs of a run,
    /// and now and then a merge.
    ///
    /// # Errors
    /// [`DbError::RowTooLong`] where the row is longer than was said, or with its key than a page.
    /// [`DbError::Full`] where the device has no blocks to spare.
    ///
    /// # Panics
    /// Where a row was pulled before.
    pub fn offer<'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        row: &[u8],
    ) -> Result<(), DbError> {
        assert!(matches!(self.phase, Phase::Collecting), "no row comes behind the last");
        let db = reader.reading()?;
        let key = self.key_of(&RowView::parse(db.schema(), row, 0)?)?;
        let needed = FRONT + key.bytes().len() + row.len();
        if row.len() > self.row_max || needed > db.spill_layout().payload_size() {
            return Err(DbError::RowTooLong { needed: row.len() });
        }
        if self.buffer.count == 0 {
            // A merge that failed is begun again, while the memory is free.
            self.runs.merge_due(db, (self.memory, self.order))?;
        }
        if !self.buffer.insert(self.memory, (key.bytes(), row), self.order) {
            self.spill(db)?;
            let fits = self.buffer.insert(self.memory, (key.bytes(), row), self.order);
            debug_assert!(fits, "the memory takes a row");
        }
        Ok(())
    }

    /// The ordered bytes of a row's key.
    fn key_of(&self, row: &RowView<'_, '_>) -> Result<End, DbError> {
        let mut key = End::EMPTY;
        for &column in self.columns {
            let declared = row.table.columns.get(usize::from(column)).ok_or(DbError::Unknown)?;
            key.add(declared.kind, &row.column(column)?);
        }
        Ok(key)
    }

    /// Offer all rows of a cursor, which are copied into `out` one by one. Cost: that of pulling
    /// and of offering them.
    pub fn collect<'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        cursor: &mut impl Cursor,
        out: &mut [u8],
    ) -> Result<(), DbError> {
        while let Some(row) = cursor.next(reader, out)? {
            let len = row.row_len;
            self.offer(reader, &out[..len])?;
        }
        Ok(())
    }

    /// Copy the next row in the order into `out`; None behind the last one. Cost of the first row:
    /// all merges but the last one; of the others a read for each 506 bytes.
    pub fn next<'o, 'ram, 's, N: Nand>(
        &mut self,
        reader: &mut impl Reader<'ram, 's, N>,
        out: &'o mut [u8],
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        let db = reader.reading()?;
        if let Phase::Collecting = self.phase {
            self.begin_giving(db)?;
        }
        let len = match &mut self.phase {
            Phase::Collecting => unreachable!("rows are given now"),
            Phase::Ranked(rank) if *rank == self.buffer.count => return Ok(None),
            Phase::Ranked(rank) => {
                let len = copy(self.buffer.record(self.memory, *rank).row, out)?;
                *rank += 1;
                len
            }
            Phase::Merging => {
                let Some(record) = self.runs.least(db, (self.memory, self.order))? else {
                    self.runs.end(db)?;
                    return Ok(None);
                };
                let (len, passed) = (copy(record.row, out)?, record.bytes.len());
                self.runs.pass(passed);
                len
            }
        };
        Ok(Some(RowView::parse(db.schema(), &out[..len], 0)?))
    }

    /// Leave the sort before its last row was pulled, so that the next record lets its blocks go.
    /// Without it they go when another sort begins, or with the session. Cost: none.
    pub fn end<'ram, 's, N: Nand>(
        self,
        reader: &mut impl Reader<'ram, 's, N>,
    ) -> Result<(), DbError> {
        match self.runs.end(reader.reading()?) {
            // Another sort has begun, and they went with that.
            Err(DbError::Stale) => Ok(()),
            done => done,
        }
    }

    /// Go on from collecting rows to giving them.
    #[inline(never)]
    fn begin_giving<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        if self.runs.is_empty() {
            self.phase = Phase::Ranked(0);
            return Ok(());
        }
        if self.buffer.count > 0 {
            self.spill(db)?;
        }
        self.runs.begin_last(db, (self.memory, self.order))?;
        self.phase = Phase::Merging;
        Ok(())
    }

    /// Put the rows in RAM on flash, as a run.
    #[inline(never)]
    fn spill<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        let (buffer, memory) = (self.buffer, &*self.memory);
        let records = (0..buffer.count).map(|rank| buffer.record(memory, rank).bytes);
        self.runs.add(db, records)?;
        self.buffer = Buffer::default();
        self.runs.merge_due(db, (self.memory, self.order))
    }
}
