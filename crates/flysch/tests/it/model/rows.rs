//! Rows: the streams `hot`, `cold` and `ring`, their tails, pages, summaries and void spans.
//!
//! 1. A row lies on consecutive pages of one block. What is left of a block is padding.
//! 2. Where a head jumps, the row that goes on in its tail is appended again as a whole.
//! 3. Entries of rows in a tail are in the memory table, and are renamed when a head jumps.

use std::rc::Rc;

use super::device::{Done, PAGES, Page, Seen, Stop};
use super::engine::{Engine, Mem, RING_SPACE};
use super::state::{
    CELL, COLD, Carry, Entry, HOT, Head, Place, Position, RING, Row, RowsPage, Span, Tail, UNITS,
};
use super::switches::Broken;

/// The page of the summary, which holds no rows.
pub(crate) const SUMMARY: u8 = PAGES - 1;

impl Engine {
    /// Where the rows that count as the tail's begin.
    pub(crate) fn tail_begin(&self, stream: usize) -> Place {
        let head = self.state.heads[stream];
        let begin = Place { number: head.number, page: head.page, unit: 0 };
        self.tails[stream].carry.map_or(begin, |carry| carry.begin)
    }

    pub(crate) fn tail_place(&self, stream: usize, offset: u16) -> Place {
        let head = self.state.heads[stream];
        let page = head.page + (offset / UNITS) as u8;
        Place { number: head.number, page, unit: (offset % UNITS) as u8 }
    }

    pub(crate) fn entries_of(&self, row: &Row, at: Position) -> [Mem; 2] {
        let code = row.key % self.config.code_count;
        let (is_shared, is_tombstone) = (row.is_shared, row.is_tombstone);
        let key = Entry { index: 0, code, at, is_shared, is_tombstone };
        let value = Entry { index: 1, code: row.value, ..key };
        [Mem { entry: key, id: row.id }, Mem { entry: value, id: row.id }]
    }

    pub(crate) fn append(&mut self, stream: usize, row: Row) -> Done {
        let room = u16::from(SUMMARY - self.state.heads[stream].page) * UNITS;
        if self.tails[stream].used + u16::from(row.len) > room {
            self.close_block(stream)?;
        }
        let offset = self.tails[stream].used;
        let entries = self.entries_of(&row, self.tail_place(stream, offset).position());
        let tail = &mut self.tails[stream];
        tail.rows.push((offset, row));
        tail.used += u16::from(row.len);
        let mem = match &mut self.open {
            Some(open) if stream != COLD => &mut open.mem,
            Some(_) | None => &mut self.mem,
        };
        mem.extend(&entries[..if row.is_tombstone { 1 } else { 2 }]);
        self.spill_full(stream)
    }

    fn spill_full(&mut self, stream: usize) -> Done {
        while self.tails[stream].used >= UNITS {
            self.spill(stream)?;
        }
        Ok(())
    }

    /// Pad and program the page at the head, where something is on it.
    pub(crate) fn pad(&mut self, stream: usize) -> Done {
        while self.tails[stream].used > 0 {
            self.tails[stream].used = self.tails[stream].used.next_multiple_of(UNITS);
            self.spill_full(stream)?;
        }
        Ok(())
    }

    fn close_block(&mut self, stream: usize) -> Done {
        let number = self.state.heads[stream].number;
        self.pad(stream)?;
        while self.state.heads[stream].number == number && self.block_of(0, number).is_some() {
            self.tails[stream].used = UNITS;
            self.spill_full(stream)?;
        }
        Ok(())
    }

    fn physical(&mut self, stream: usize) -> Done<u8> {
        match self.block_of(0, self.state.heads[stream].number) {
            Some(block) => Ok(block),
            None => self.take(stream),
        }
    }

    /// Program the first page of the tail.
    fn spill(&mut self, stream: usize) -> Done {
        self.wake()?;
        let block = self.physical(stream)?;
        let head = self.state.heads[stream];
        let tail = &self.tails[stream];
        let carry = tail.carry.map(|carry| (carry.row.id, carry.units.min(UNITS)));
        let on_page = tail.rows.iter().filter(|(offset, _)| *offset < UNITS);
        let rows = on_page.map(|(offset, row)| (*offset as u8, *row)).collect();
        let content = RowsPage { number: head.number, write: self.state.write, carry, rows };
        match self.device.program(block, head.page, Page::Rows(content)) {
            Ok(()) => self.advance(stream),
            Err(Stop::Bad) => {
                self.device.mark(block)?;
                self.displace(stream, PAGES);
                Ok(())
            }
            Err(stop) => Err(stop),
        }
    }

    /// The first page of the tail is on flash.
    fn advance(&mut self, stream: usize) -> Done {
        let head = self.state.heads[stream];
        self.state.write += 1;
        self.is_moved = true;
        if stream == HOT {
            self.tail_base = None;
        }
        let old = std::mem::take(&mut self.tails[stream]);
        if stream == RING && (old.carry.is_some() || !old.rows.is_empty()) {
            self.state.ring_last = head.number;
        }
        let mut carry = old.carry.filter(|carry| carry.units > UNITS);
        if let Some(carry) = &mut carry {
            carry.units -= UNITS;
        }
        let mut rows = Vec::with_capacity(4);
        for (offset, row) in old.rows {
            let end = offset + u16::from(row.len);
            if offset >= UNITS {
                rows.push((offset - UNITS, row));
            } else if end > UNITS {
                let begin = Place { number: head.number, page: head.page, unit: offset as u8 };
                carry = Some(Carry { row, begin, units: end - UNITS });
            }
        }
        self.tails[stream] = Tail { carry, rows, used: old.used - UNITS };
        self.state.heads[stream].page += 1;
        if head.page + 1 == SUMMARY { self.summarise(stream) } else { Ok(()) }
    }

    /// Program the summary, which takes the block's void spans over when the next record is there.
    fn summarise(&mut self, stream: usize) -> Done {
        self.wake()?;
        let number = self.state.heads[stream].number;
        let block = self.physical(stream)?;
        let spans = self.state.spans.iter().filter(|span| span.number == number);
        let spans = spans.map(|span| (span.from, span.to)).collect();
        match self.device.program(block, SUMMARY, Page::Summary { number, spans }) {
            Ok(()) => self.summarised.push(number),
            Err(Stop::Bad) => {
                self.device.mark(block)?;
                self.state.spans.push(Span { number, from: SUMMARY, to: PAGES });
            }
            Err(stop) => return Err(stop),
        }
        self.next_block(stream);
        Ok(())
    }

    fn next_block(&mut self, stream: usize) {
        let space = if stream == RING { RING_SPACE } else { 0 };
        let number = self.give_number(space).expect("more numbers than blocks");
        self.state.heads[stream] = Head { number, page: 0 };
        self.state.marks[stream].blocks.push(number);
        if stream != COLD && !self.is(Broken::TailNotFrozen) {
            self.note_tail_block(stream, number);
        }
    }

    /// The head jumps to page `to`: what lies between is void, and the tail moves.
    pub(crate) fn displace(&mut self, stream: usize, to: u8) {
        let Head { number, page: from } = self.state.heads[stream];
        if let Some(carry) = self.tails[stream].carry
            && !self.is(Broken::RowsCrossSpans)
        {
            let tail = &mut self.tails[stream];
            tail.carry = None;
            let grown = u16::from(carry.row.len) - carry.units;
            for (offset, _) in &mut tail.rows {
                *offset += grown;
            }
            tail.rows.insert(0, (0, carry.row));
            tail.used += grown;
        }
        let room = u16::from(SUMMARY.saturating_sub(to)) * UNITS;
        let leaves = to >= SUMMARY || self.tails[stream].used > room;
        let to = if leaves { PAGES } else { to };
        if !self.is(Broken::NoSpans) {
            self.add_span(Span { number, from, to });
        }
        if leaves {
            self.next_block(stream);
        } else {
            self.state.heads[stream].page = to;
        }
        if stream == HOT {
            self.tail_base = None;
        }
        self.is_moved = true;
        self.rename(stream);
    }

    fn add_span(&mut self, span: Span) {
        let spans = &mut self.state.spans;
        if span.from < span.to {
            match spans.iter_mut().find(|old| old.number == span.number && old.to == span.from) {
                Some(old) => old.to = span.to,
                None => spans.push(span),
            }
        }
    }

    /// Give the entries of the rows in a tail their positions.
    pub(crate) fn rename(&mut self, stream: usize) {
        for at in 0..self.tails[stream].rows.len() {
            let (offset, row) = self.tails[stream].rows[at];
            let position = self.tail_place(stream, offset).position();
            let open = self.open.iter_mut().flat_map(|open| open.mem.iter_mut());
            for mem in self.mem.iter_mut().chain(open).filter(|mem| mem.id == row.id) {
                mem.entry.at = position;
            }
        }
    }

    /// Whether a page lies before its head and in no span that the state knows.
    fn is_believed(&self, number: u8, page: u8) -> bool {
        let heads = &self.state.heads[..3];
        let is_before = heads.iter().all(|head| head.number != number || page < head.page);
        let is_void = |span: &Span| span.number == number && span.from <= page && page < span.to;
        is_before && page < SUMMARY && !self.state.spans.iter().any(is_void)
    }

    /// Whether a page is void, or not yet part of its stream.
    pub(crate) fn is_void(&mut self, number: u8, page: u8) -> Done<bool> {
        Ok(!self.is_believed(number, page) || self.is_void_in_summary(number, page)?)
    }

    /// Whether the summary of a whole block holds the page void.
    fn is_void_in_summary(&mut self, number: u8, page: u8) -> Done<bool> {
        let is_open = self.state.heads[..3].iter().any(|head| head.number == number);
        let has_none =
            self.state.spans.iter().any(|span| span.number == number && span.to == PAGES);
        let Some(block) = self.block_of(0, number).filter(|_| !is_open && !has_none) else {
            return Ok(false);
        };
        if let Seen::Page(content) = self.device.try_read(block, SUMMARY)?
            && let Page::Summary { number: written, spans } = &*content
            && *written == number
        {
            return Ok(spans.iter().any(|(from, to)| (*from..*to).contains(&page)));
        }
        Err(Stop::Breach("a summary is not there"))
    }

    /// A page of rows: none where it is not believed. `is_deep` asks the summary too.
    pub(crate) fn rows_page(
        &mut self,
        number: u8,
        page: u8,
        is_deep: bool,
    ) -> Done<Option<Rc<Page>>> {
        if !self.is_believed(number, page) {
            return Ok(None);
        }
        let Some(block) = self.block_of(0, number) else { return Ok(None) };
        if is_deep && self.is_void_in_summary(number, page)? {
            return Ok(None);
        }
        if let Seen::Page(content) = self.device.try_read(block, page)?
            && let Page::Rows(rows) = &*content
            && rows.number == number
        {
            return Ok(Some(content));
        }
        Ok(None)
    }

    /// Whether the row that begins at `place` goes on as it should.
    pub(crate) fn is_whole(&mut self, place: Place, row: &Row, is_deep: bool) -> Done<bool> {
        let is_in_tail = |head: &Head| head.number == place.number && head.page <= place.page;
        if self.state.heads[..3].iter().any(is_in_tail) {
            return Ok(true);
        }
        let mut left = u16::from(place.unit) + u16::from(row.len);
        let mut page = place.page;
        while left > UNITS {
            left -= UNITS;
            page += 1;
            for stream in 0..3 {
                if self.state.heads[stream] == (Head { number: place.number, page }) {
                    let carry = self.tails[stream].carry;
                    return Ok(carry.is_some_and(|carry| carry.row.id == row.id));
                }
            }
            let Some(content) = self.rows_page(place.number, page, is_deep)? else {
                return Ok(false);
            };
            if !matches!(&*content, Page::Rows(rows) if rows.carry == Some((row.id, left.min(UNITS))))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows that begin in a cell, in order.
    pub(crate) fn cell_rows(&mut self, at: Position, is_deep: bool) -> Done<Vec<(Place, Row)>> {
        for stream in 0..3 {
            let head = self.state.heads[stream];
            if head.number == at.number && at.page >= head.page {
                let rows = self.tails[stream].rows.iter();
                let placed = rows.map(|(offset, row)| (self.tail_place(stream, *offset), *row));
                return Ok(placed.filter(|(place, _)| place.position() == at).collect());
            }
        }
        let Some(content) = self.rows_page(at.number, at.page, is_deep)? else {
            return Ok(Vec::new());
        };
        let Page::Rows(page) = &*content else { return Ok(Vec::new()) };
        let in_cell = page.rows.iter().filter(|(unit, _)| unit / CELL == at.cell);
        let place = |unit| Place { number: at.number, page: at.page, unit };
        Ok(in_cell.map(|(unit, row)| (place(*unit), *row)).collect())
    }
}
