//! Pages of a sort: how a run is written.

use flysch_nand::Nand;

use crate::db::{Db, DbError};

/// A sorted run on flash. Its pages follow each other, but for programs that failed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// Its first page.
    pub(super) first: u32,
    /// Number of pages.
    pub(super) pages: u32,
    /// How many merges its rows went through.
    pub(super) merges: u8,
}

/// The pages of a run that is being written.
pub(super) struct Pages {
    ticket: u32,
    run: Run,
    /// Bytes of the page in the frame that are used; none where no page was begun.
    used: usize,
}

impl Pages {
    pub(super) fn new(ticket: u32) -> Self {
        Self { ticket, run: Run::default(), used: 0 }
    }

    /// Add a record. Cost: a program where a page is full.
    pub(super) fn put<N: Nand>(
        &mut self,
        db: &mut Db<'_, '_, N>,
        record: &[u8],
    ) -> Result<(), DbError> {
        if self.used + record.len() > db.spill_layout().payload_size() {
            self.program(db)?;
        }
        if self.used == 0 {
            db.begin_page(self.ticket)?;
        }
        db.put_page(self.used, record);
        self.used += record.len();
        Ok(())
    }

    /// The run as it is on flash, whose rows went through so many merges. Cost: one program.
    pub(super) fn end<N: Nand>(
        mut self,
        db: &mut Db<'_, '_, N>,
        merges: u8,
    ) -> Result<Run, DbError> {
        self.program(db)?;
        Ok(Run { merges, ..self.run })
    }

    fn program<N: Nand>(&mut self, db: &mut Db<'_, '_, N>) -> Result<(), DbError> {
        debug_assert!(self.used > 0, "a page has a record");
        let page = db.end_page(self.ticket, self.run.pages, self.used)?;
        self.run.first = if self.run.pages == 0 { page } else { self.run.first };
        (self.run.pages, self.used) = (self.run.pages + 1, 0);
        Ok(())
    }
}
