//! Pages that a sort keeps on flash while it lasts.
//!
//! They lie among the pages of young runs, and no record names them. So a cut costs nothing: their
//! blocks are let go as those of runs that nothing names.
//!
//! 1. One sort at a time has pages. Those of the one before are let go when another begins.
//! 2. Pages of a sort take no block that anything else may still need.

use flysch_nand::Nand;

use super::space::Claim;
use super::{Db, DbError};
use crate::log::CHANGES_AHEAD;
use crate::media::{
    CELL_DATA, CELL_SIZE, FAILURES_MAX, Header, Kind, Label, Layout, MediaError, Numbers, OF_SORT,
    Page, Space, clear,
};

/// The pages that the present sort keeps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spilled {
    /// Tells the sorts of a device apart: the write number when it began.
    ticket: u32,
    /// The first page that it still needs; None where it needs none.
    from: Option<u32>,
    /// Whether it needs fewer pages than when blocks were let go last.
    pub(super) is_letting_go: bool,
}

impl Spilled {
    /// Whether a logical block may hold pages of the sort, where the next page is `head`.
    pub(super) fn keeps(self, (space, block): (Space, u32), head: u32, numbers: Numbers) -> bool {
        let start = |block| block * numbers.pages_per_block;
        self.from.is_some_and(|from| {
            let from = start(numbers.block_of(from));
            space == Space::Young
                && numbers.distance(from, start(block)) <= numbers.distance(from, head)
        })
    }
}

impl<N: Nand> Db<'_, '_, N> {
    /// Begin a sort that keeps pages, and tell its ticket. Cost: nothing as a rule; the first write
    /// after an open makes certain what the open found.
    pub(crate) fn begin_spill(&mut self) -> Result<u32, DbError> {
        self.settle()?;
        self.spilled = Spilled { ticket: self.media.write as u32, from: None, is_letting_go: true };
        Ok(self.spilled.ticket)
    }

    /// Keep the pages of a sort from this one on, or none. [`DbError::Stale`] where another sort
    /// has begun.
    pub(crate) fn keep_spilled(&mut self, ticket: u32, from: Option<u32>) -> Result<(), DbError> {
        self.check_spilled(ticket)?;
        (self.spilled.from, self.spilled.is_letting_go) = (from, true);
        Ok(())
    }

    fn check_spilled(&self, ticket: u32) -> Result<(), DbError> {
        if self.spilled.ticket == ticket { Ok(()) } else { Err(DbError::Stale) }
    }

    /// The shape of a page.
    pub(crate) const fn spill_layout(&self) -> Layout {
        self.media.layout()
    }

    /// How many pages before the next one of its space this one lies.
    pub(crate) fn spill_age(&self, page: u32) -> u32 {
        self.media.numbers().distance(page, self.media.head(Space::Young))
    }

    /// The page that follows another one of a run, but for programs that failed.
    pub(crate) const fn page_behind(&self, page: u32) -> u32 {
        self.media.numbers().advance(page, 1)
    }

    /// The error of a sort's page whose content is not what its header says.
    pub(crate) fn spill_fault(&self, page: u32) -> DbError {
        debug_assert!(self.spilled.from.is_some(), "the sort has pages");
        MediaError::Missing(young(page)).into()
    }

    /// Get the frame ready for a page of a sort. Cost: nothing as a rule; a record where the last
    /// one named as many blocks as it can, or where blocks run short.
    ///
    /// # Errors
    /// [`DbError::Full`] where there are no blocks to spare.
    pub(crate) fn begin_page(&mut self, ticket: u32) -> Result<(), DbError> {
        self.check_spilled(ticket)?;
        debug_assert!(self.doubt.is_none(), "what the open found is certain");
        let head = self.media.head(Space::Young);
        if self.media.numbers().page_in_block(head) == 0 {
            self.find_space_to_spill()?;
            self.name_blocks()?;
        }
        self.forget_frame();
        clear(self.frame);
        Ok(())
    }

    /// See to it that there is a block for pages of a sort. Those that it needs no more are free
    /// with a record. Where that is not enough the sort gives up all of its pages, so that nobody
    /// else is refused a block for them.
    fn find_space_to_spill(&mut self) -> Result<(), DbError> {
        let is_short = |db: &Self| db.check_space(Claim::Grow).is_err();
        if is_short(self) && self.spilled.is_letting_go && self.under_way.is_none() {
            self.record_what_goes()?;
        }
        if !is_short(self) {
            return Ok(());
        }
        let ticket = self.spilled.ticket.wrapping_add(1);
        self.spilled = Spilled { ticket, from: None, is_letting_go: true };
        if self.under_way.is_none() {
            self.record_what_goes()?;
        }
        Err(DbError::Full)
    }

    /// See to it that the next record has a place for the blocks that a page may take.
    fn name_blocks(&mut self) -> Result<(), DbError> {
        if self.under_way.is_some() {
            self.make_room_for_changes();
            return Ok(());
        }
        if self.media.changes.room() >= CHANGES_AHEAD {
            return Ok(());
        }
        let is_done = self.record_what_goes()? && self.media.changes.room() >= CHANGES_AHEAD;
        if is_done { Ok(()) } else { Err(DbError::Full) }
    }

    /// Put bytes of a sort's page into the frame.
    pub(crate) fn put_page(&mut self, at: usize, bytes: &[u8]) {
        debug_assert!(self.held.is_none(), "the frame is the sort's");
        self.media.layout().put(self.frame, at, bytes);
    }

    /// Program the page of a sort that is in the frame: the one of this number in its run, of which
    /// so many bytes are used. Cost: one program; another one where it fails.
    pub(crate) fn end_page(
        &mut self,
        ticket: u32,
        number: u32,
        used: usize,
    ) -> Result<u32, DbError> {
        debug_assert!(self.held.is_none(), "the frame is the sort's");
        let (used, rows) = (used as u16, number as u16);
        let label = Label { kind: Kind::Run, owner: OF_SORT, used, commit: ticket, rows };
        let page = self.media.append_somewhere(Space::Young, label, self.frame)?.number;
        self.spilled.from = self.spilled.from.or(Some(page));
        Ok(page)
    }

    /// Find the page of this number in a run: at `page`, or in a later block, where programs failed
    /// or blocks of runs lie between. Says which page it is and how many of its bytes are used, and
    /// leaves its first cell to be seen. Cost: one read as a rule.
    pub(crate) fn find_page(
        &mut self,
        ticket: u32,
        number: u32,
        page: u32,
    ) -> Result<(u32, usize), DbError> {
        self.check_spilled(ticket)?;
        let numbers = self.media.numbers();
        let (mut at, mut fault) = (page, MediaError::Missing(young(page)));
        for _ in 0..numbers.block_count() {
            let header = match self.media.read(young(at), 0, &mut self.scratch[..CELL_SIZE]) {
                Ok(()) => Header::parse(self.scratch).ok(),
                Err(error @ MediaError::Corrupt(_)) => {
                    fault = error;
                    None
                }
                Err(MediaError::Missing(_)) => None,
                Err(error) => return Err(error.into()),
            };
            let own = header.filter(|own| own.owner == OF_SORT && own.commit == ticket);
            at = match own {
                Some(own) if own.rows == number as u16 => return Ok((at, usize::from(own.used))),
                // It was programmed twice: the first time was told to have failed.
                Some(own) if own.rows == (number as u16).wrapping_sub(1) => numbers.advance(at, 1),
                Some(_) | None => numbers.next_block(at),
            };
        }
        Err(fault.into())
    }

    /// Read a cell of the page of this number in a run, to be seen. Where a program of the page
    /// failed behind its first cells, they were read from there, and the others are in a later
    /// block. Says where the page is. Cost: one read as a rule.
    pub(crate) fn read_cell(
        &mut self,
        ticket: u32,
        (number, page): (u32, u32),
        cell: usize,
    ) -> Result<u32, DbError> {
        self.check_spilled(ticket)?;
        let (mut at, mut failures) = (page, 0);
        loop {
            match self.media.read(young(at), cell, &mut self.scratch[..CELL_SIZE]) {
                Err(MediaError::Corrupt(_)) if failures < FAILURES_MAX => {
                    failures += 1;
                    let behind = self.media.numbers().next_block(at);
                    (at, _) = self.find_page(ticket, number, behind)?;
                }
                done => return done.map(|()| at).map_err(DbError::from),
            }
        }
    }

    /// The payload of the cell that was read last, from this byte of the page on.
    pub(crate) fn seen_cell(&self, at: usize) -> &[u8] {
        let (_, place) = self.media.layout().place(at);
        &self.scratch[place..CELL_DATA]
    }
}

const fn young(number: u32) -> Page {
    Page { space: Space::Young, number }
}
