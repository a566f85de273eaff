//! Reading units of runs. Each takes one read of the chip, which is counted.

use flysch_nand::Nand;

use super::entry::Shape;
use super::error::StoreError;
use super::lost::{self, Lost};
use super::run::Run;
use super::unit::{Header, Malformed, UnitReader};
use crate::media::{CELL_DATA, CELL_SIZE, HEADER_SIZE, Media, MediaError, Page};

/// What each read of a run needs.
#[derive(Debug)]
pub(crate) struct Reading<'a, 'm, N> {
    pub(crate) media: &'a mut Media<'m, N>,
    /// A buffer of the size of a cell.
    pub(crate) cell: &'a mut [u8],
    /// Reads of the chip so far.
    pub(crate) reads: u32,
    /// The page and the cell that the buffer holds; None where it holds neither.
    held: Option<(Page, usize)>,
    /// Pages that are taken for empty.
    lost: &'a Lost,
}

impl<'a, 'm, N: Nand> Reading<'a, 'm, N> {
    pub(crate) fn new(media: &'a mut Media<'m, N>, cell: &'a mut [u8], lost: &'a Lost) -> Self {
        assert!(cell.len() == CELL_SIZE, "a cell is lent to read into");
        Self { media, cell, reads: 0, held: None, lost }
    }

    /// Whether a unit lies on a lost page that is taken for empty.
    pub(crate) fn hides(&self, run: &Run, unit: u32) -> bool {
        let numbers = self.media.numbers();
        let place = run.place(unit, self.media.layout().cells, numbers);
        place.is_some_and(|(page, _)| self.lost.hides(page, numbers))
    }

    /// Whether the buffer holds a unit.
    pub(crate) fn holds(&self, run: &Run, unit: u32) -> bool {
        let place = run.place(unit, self.media.layout().cells, self.media.numbers());
        place.is_some() && self.held == place
    }

    /// The payload of a unit. Cost: one read, or none where the buffer holds it.
    pub(crate) fn unit(&mut self, run: &Run, unit: u32) -> Result<&[u8], StoreError> {
        let cells = self.media.layout().cells;
        let numbers = self.media.numbers();
        let none = Page { space: run.head.space(), number: 0 };
        let place = run.place(unit, cells, numbers);
        let (page, cell) = place.ok_or(MediaError::Missing(none))?;
        let from = if cell == 0 { HEADER_SIZE } else { 0 };
        if self.lost.hides(page, numbers) {
            self.held = None;
            lost::blank(self.cell, from);
        } else if self.held != Some((page, cell)) {
            self.held = None;
            self.reads += 1;
            self.media.read(page, cell, self.cell)?;
            self.held = Some((page, cell));
        }
        Ok(&self.cell[from..CELL_DATA])
    }

    /// The header of a unit, and a reader of its entries, for which [`Reading::payload`] gives the
    /// bytes. Cost: one read.
    pub(crate) fn open(
        &mut self,
        run: &Run,
        unit: u32,
        shape: Shape,
    ) -> Result<(Header, UnitReader), StoreError> {
        let header = Header::parse(self.unit(run, unit)?, shape);
        let header = header.ok_or_else(|| self.malformed(run, unit))?;
        Ok((header, UnitReader::new(&header, shape)))
    }

    /// The payload of the unit that was read last.
    pub(crate) fn payload(&self, unit: u32) -> &[u8] {
        let from = if unit.is_multiple_of(self.media.layout().cells) { HEADER_SIZE } else { 0 };
        &self.cell[from..CELL_DATA]
    }

    /// Go on by one entry in the unit that was read last.
    pub(crate) fn step(
        &self,
        reader: &mut UnitReader,
        run: &Run,
        unit: u32,
        shape: Shape,
    ) -> Result<(), StoreError> {
        let stepped = reader.advance(self.payload(unit), 0, shape);
        stepped.map_err(|Malformed| self.malformed(run, unit))
    }

    /// The error for a unit whose content is not valid.
    pub(crate) fn malformed(&self, run: &Run, unit: u32) -> StoreError {
        let place = run.place(unit, self.media.layout().cells, self.media.numbers());
        let none = Page { space: run.head.space(), number: 0 };
        StoreError::Malformed(place.map_or(none, |(page, _)| page))
    }
}
