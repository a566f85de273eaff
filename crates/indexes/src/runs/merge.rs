//! Merges runs: returns the entries of several inputs in ascending order, without duplicates and
//! without pairs of entry and anti-entry.
//!
//! Each input is read through a window of the shared buffer. A merge may be stopped at any entry
//! and continued later: entries up to `done` are then skipped.

use flysch_nand::Nand;

use super::entry::{Shape, is_anti};
use super::run::{FILTER, Run};
use super::unit::{ENTRY_SIZE_MAX, HEADER_SIZE, Header, UnitReader};
use super::writer::Source;
use crate::area::Areas;
use crate::flash::{Flash, FlashError};

/// The most inputs of a merge.
pub(super) const INPUTS_MAX: usize = 20;
pub(super) const WINDOW_MIN: usize = 32;
const _: () = assert!(WINDOW_MIN >= ENTRY_SIZE_MAX && WINDOW_MIN >= HEADER_SIZE);

/// What is needed to read a run.
#[derive(Debug)]
pub(super) struct Reading<'a, 'ram, 'flash, N> {
    pub(super) flash: &'a mut Flash<'flash, N>,
    pub(super) areas: &'a mut Areas<'ram>,
    pub(super) pointer_bits: u8,
    pub(super) unit_size: u32,
}

impl<N: Nand> Reading<'_, '_, '_, N> {
    /// Read bytes of a unit. Cost: one array read.
    pub(super) fn read(
        &mut self,
        run: &Run,
        unit: u32,
        from: usize,
        out: &mut [u8],
    ) -> Result<(), FlashError> {
        let page_size = self.flash.geometry().page_size;
        let per_page = page_size / self.unit_size;
        let page = run.first.wrapping_add(unit / per_page);
        let place = self.areas.locate(self.flash, usize::from(run.place), page);
        let place = place.ok_or(FlashError::Corrupt(flysch_nand::PageAddr(page)))?;
        self.flash.read(place, unit % per_page * self.unit_size + from as u32, out)
    }

    /// The error for a unit that is invalid.
    pub(super) fn corrupt(&self, run: &Run, unit: u32) -> FlashError {
        let per_page = self.flash.geometry().page_size / self.unit_size;
        let page = run.first.wrapping_add(unit / per_page);
        let place = self.areas.locate(self.flash, usize::from(run.place), page);
        FlashError::Corrupt(place.unwrap_or(flysch_nand::PageAddr(page)))
    }

    /// The first unit from `unit` on whose block was not released.
    pub(super) fn first_kept(&self, run: &Run, unit: u32) -> u32 {
        let geometry = self.flash.geometry();
        let head = self.areas.extent(usize::from(run.place)).head * geometry.pages_per_block;
        let per_page = geometry.page_size / self.unit_size;
        unit.max(head.saturating_sub(run.first) * per_page)
    }
}

/// Converts entries of the index to those of the existence filter: hashes with fewer bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection {
    pub(super) from: Shape,
    pub(super) hash_bits: u8,
}

impl Projection {
    fn apply(self, entry: u64) -> u64 {
        u64::from(self.from.hash(entry) >> (self.from.hash_bits - self.hash_bits)) << 1
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    run: Run,
    unit: u32,
    /// The position within the unit. None before its header is read.
    reader: Option<UnitReader>,
    /// The offset in the unit at which the window begins.
    base: usize,
    len: usize,
    head: Option<u64>,
    /// The position before the current entry was read.
    before: Position,
}

/// A position between two entries of an input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    pub(super) unit: u32,
    pub(super) within: Option<UnitReader>,
}

pub(super) struct Merge<'a, 'ram, 'flash, N> {
    reading: Reading<'a, 'ram, 'flash, N>,
    cursors: [Cursor; INPUTS_MAX],
    len: usize,
    buffer: &'a mut [u8],
    window: usize,
    done: Option<u64>,
    projection: Option<Projection>,
    drops_antis: bool,
}

impl<'a, 'ram, 'flash, N: Nand> Merge<'a, 'ram, 'flash, N> {
    /// Merge the entries of `inputs` that are greater than `done`. Each input is read from its unit
    /// `at` on.
    pub(super) fn open(
        reading: Reading<'a, 'ram, 'flash, N>,
        inputs: impl Iterator<Item = Run>,
        buffer: &'a mut [u8],
        done: Option<u64>,
    ) -> Self {
        let mut cursors = [Cursor::default(); INPUTS_MAX];
        let mut len = 0;
        for (cursor, run) in cursors.iter_mut().zip(inputs) {
            *cursor = Cursor { run, unit: run.at, reader: run.within, ..Cursor::default() };
            len += 1;
        }
        let window = (buffer.len() / len.max(1)).min(reading.unit_size as usize);
        assert!(window >= WINDOW_MIN, "the buffer holds a window for each input");
        Self { reading, cursors, len, buffer, window, done, projection: None, drops_antis: false }
    }

    /// Return entries of the existence filter instead.
    pub(super) fn project(mut self, projection: Option<Projection>) -> Self {
        self.projection = projection;
        self
    }

    /// Leave out anti-entries without a matching entry in the inputs. Only use this if no older run
    /// can contain the entry.
    pub(super) fn drop_antis(mut self, drops: bool) -> Self {
        self.drops_antis = drops;
        self
    }

    /// Read the first entry of each input.
    pub(super) fn start(mut self) -> Result<Self, FlashError> {
        for place in 0..self.len {
            self.advance(place)?;
        }
        Ok(self)
    }

    /// The last entry that was returned or dropped.
    pub(super) const fn done(&self) -> Option<u64> {
        self.done
    }

    /// The position in each input before its next entry.
    pub(super) fn positions(&self) -> [Position; INPUTS_MAX] {
        self.cursors.map(|cursor| cursor.before)
    }

    /// Bits of a pointer, bytes of a unit, and bytes of a page.
    pub(super) fn layout(&self) -> (u8, usize, usize) {
        let page_size = self.reading.flash.geometry().page_size as usize;
        (self.reading.pointer_bits, self.reading.unit_size as usize, page_size)
    }

    /// Program the next part of the output's last page.
    pub(super) fn program(
        &mut self,
        run: &Run,
        column: usize,
        data: &[u8],
    ) -> Result<(), FlashError> {
        let Reading { flash, areas, .. } = &mut self.reading;
        let area = usize::from(run.place);
        if column == 0 {
            return areas.program(flash, area, data, u64::from(run.count));
        }
        let page = areas.open(flash, area)?;
        flash.program_part(page, column as u32, data)
    }

    /// Count the output's last page as written.
    pub(super) fn advance_output(&mut self, run: &Run) {
        self.reading.areas.advance(usize::from(run.place));
    }

    /// Release the blocks of levels whose entries are all before these positions.
    pub(super) fn trim(&mut self, reached: &[Position]) {
        let per_page = self.reading.flash.geometry().page_size / self.reading.unit_size;
        for (cursor, Position { unit, .. }) in self.cursors[..self.len].iter().zip(reached) {
            let is_replaced = self.projection.is_none() || cursor.run.place == FILTER;
            if is_replaced && !cursor.run.is_recent() {
                let page = cursor.run.first + unit / per_page;
                let area = usize::from(cursor.run.place);
                self.reading.areas.trim(self.reading.flash, area, page);
            }
        }
    }

    /// Read the next entry of an input that is greater than `done`.
    fn advance(&mut self, place: usize) -> Result<(), FlashError> {
        loop {
            let Cursor { unit, reader, .. } = self.cursors[place];
            self.cursors[place].before = Position { unit, within: reader };
            let Some(entry) = self.read_entry(place)? else {
                self.cursors[place].head = None;
                return Ok(());
            };
            let run = &self.cursors[place].run;
            let entry = match self.projection {
                Some(_) if run.place != FILTER && is_anti(entry) => continue,
                Some(projection) if run.place != FILTER => projection.apply(entry),
                _ => entry,
            };
            if self.done.is_none_or(|done| entry > done) {
                self.cursors[place].head = Some(entry);
                return Ok(());
            }
        }
    }

    /// The next entry of an input, as it is on flash. None at the end.
    fn read_entry(&mut self, place: usize) -> Result<Option<u64>, FlashError> {
        loop {
            let cursor = self.cursors[place];
            if cursor.unit >= cursor.run.used {
                return Ok(None);
            }
            let Some(reader) = cursor.reader else {
                self.load(place, 0)?;
                let window = self.window(place);
                let header = Header::parse(window)
                    .ok_or_else(|| self.reading.corrupt(&cursor.run, cursor.unit))?;
                self.cursors[place].reader = Some(UnitReader::new(header));
                continue;
            };
            if reader.is_done() {
                self.cursors[place].unit += 1;
                self.cursors[place].reader = None;
                continue;
            }
            return self.decode(place, reader).map(Some);
        }
    }

    fn decode(&mut self, place: usize, mut reader: UnitReader) -> Result<u64, FlashError> {
        let end = self.cursors[place].base + self.cursors[place].len;
        if reader.byte() + ENTRY_SIZE_MAX > end && end < self.reading.unit_size as usize {
            self.load(place, reader.byte())?;
        }
        let cursor = self.cursors[place];
        let window = &self.buffer[place * self.window..][..cursor.len];
        let shape = cursor.run.shape(self.reading.pointer_bits);
        let entry = reader.next(window, cursor.base, shape);
        self.cursors[place].reader = Some(reader);
        entry.map_err(|_| self.reading.corrupt(&cursor.run, cursor.unit))
    }

    /// Fill the window of an input, from byte `base` of its unit on.
    fn load(&mut self, place: usize, base: usize) -> Result<(), FlashError> {
        let len = self.window.min(self.reading.unit_size as usize - base);
        let window = &mut self.buffer[place * self.window..][..len];
        let cursor = &mut self.cursors[place];
        (cursor.base, cursor.len) = (base, len);
        self.reading.read(&cursor.run, cursor.unit, base, window)
    }

    fn window(&self, place: usize) -> &[u8] {
        &self.buffer[place * self.window..][..self.window]
    }

    fn least(&self) -> Option<u64> {
        self.cursors[..self.len].iter().filter_map(|cursor| cursor.head).min()
    }

    /// Skip `entry` in every input that has it next.
    fn pass(&mut self, entry: u64) -> Result<(), FlashError> {
        self.done = Some(entry);
        for place in 0..self.len {
            while self.cursors[place].head.is_some_and(|head| head <= entry) {
                self.advance(place)?;
            }
        }
        Ok(())
    }
}

impl<N: Nand> Source for Merge<'_, '_, '_, N> {
    fn peek(&mut self) -> Result<Option<u64>, FlashError> {
        while let Some(least) = self.least() {
            let is_cancelled = self.projection.is_none() && !is_anti(least) && {
                let anti = least | 1;
                self.cursors[..self.len].iter().any(|cursor| cursor.head == Some(anti))
            };
            if is_cancelled {
                self.pass(least | 1)?;
            } else if is_anti(least) && self.drops_antis {
                self.pass(least)?;
            } else {
                return Ok(Some(least));
            }
        }
        Ok(None)
    }

    fn pop(&mut self) -> Result<(), FlashError> {
        let least = self.least().expect("an entry was peeked");
        self.pass(least)
    }
}
