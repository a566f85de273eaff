//! Windows: the part of a run on flash that is in RAM while runs are merged.

use flysch_nand::Nand;

use super::buffer::Record;
use super::pages::Run;
use crate::db::{Db, DbError};

/// How far a run has been read. The caller lends the window's memory with each call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// The page that is read, and its number in the run; the next page where this one is used up.
    page: u32,
    number: u32,
    /// Pages of the run.
    pages: u32,
    /// The byte of the page's payload that comes next, and where the payload ends.
    at: usize,
    used: usize,
    /// The bytes of the memory that were read and not taken.
    begin: usize,
    end: usize,
}

impl Window {
    /// A window at the beginning of a run.
    pub(super) fn new(run: Run) -> Self {
        Self { page: run.first, pages: run.pages, ..Self::default() }
    }

    /// The record that comes next; None behind the last. It is in RAM after [`Window::fill`].
    pub(super) fn record<'a>(&self, memory: &'a [u8]) -> Option<Record<'a>> {
        Record::parse(&memory[self.begin..self.end])
    }

    /// Go on to the record behind one of so many bytes.
    pub(super) fn pass(&mut self, len: usize) {
        debug_assert!(self.begin + len <= self.end, "the record was in RAM");
        self.begin += len;
    }

    /// Read until the next record is in RAM. Cost: a read for each 506 bytes, more where the memory
    /// takes less than that beside a record.
    pub(super) fn fill<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        ticket: u32,
        memory: &mut [u8],
    ) -> Result<(), DbError> {
        while self.record(memory).is_none() {
            let is_page_over = self.at == self.used;
            if is_page_over && self.number == self.pages {
                debug_assert!(self.begin == self.end, "no record goes on behind its run");
                return Ok(());
            }
            memory.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            if is_page_over {
                self.turn(db, ticket)?;
            } else {
                let (cell, _) = db.spill_layout().place(self.at);
                self.page = db.read_cell(ticket, (self.number - 1, self.page), cell)?;
            }
            self.take(db, memory)?;
        }
        Ok(())
    }

    /// Go on to the next page, whose first cell is then seen.
    fn turn<N: Nand>(&mut self, db: &mut Db<'_, '_, N>, ticket: u32) -> Result<(), DbError> {
        let next = if self.number == 0 { self.page } else { db.page_behind(self.page) };
        let (page, used) = db.find_page(ticket, self.number, next)?;
        *self = Self { page, number: self.number + 1, at: 0, used, ..*self };
        Ok(())
    }

    /// Copy what there is room for from the cell that was read last.
    fn take<N: Nand>(&mut self, db: &Db<'_, '_, N>, memory: &mut [u8]) -> Result<(), DbError> {
        let seen = db.seen_cell(self.at);
        let room = &mut memory[self.end..];
        let len = seen.len().min(room.len()).min(self.used - self.at);
        if len == 0 {
            // The page says that it is used so far, and has no whole record.
            return Err(db.spill_fault(self.page));
        }
        room[..len].copy_from_slice(&seen[..len]);
        (self.at, self.end) = (self.at + len, self.end + len);
        Ok(())
    }
}
