//! Appending rows: the tail, the pages that it becomes, and rollbacks.
//!
//! 1. A row lies on one page. One that is longer than a page begins on a page of its own and goes
//!    on over the next pages of the block.
//! 2. The last page of a block is its summary. It has what scans must know, and the void spans.
//! 3. Pages that a transaction programmed before its rollback are in a void span, from the first
//!    page on that had a row of it. The committed rows of that page are in the tail again.

use flysch_nand::Nand;

use super::mark::{Came, Mark, Marks, note_last};
use super::position::Position;
use super::summary::{BlockEnd, emit_summary};
use super::tail::{PART_SPACES, PARTS, Tail, part_of};
use crate::bytes::array;
use crate::media::{Kind, Label, Media, MediaError, Numbers, Page, Space, Span, clear, note_first};
use crate::row::{Encoder, RowHead, SUMMARY_SIZE, Schema, Summary, Value, ValueError};

/// Bytes that a record's state takes for one stream of rows.
const STREAM_SIZE: usize = 4 + 4 + SUMMARY_SIZE;
/// Bytes that the state takes besides for the stream of a ring.
const RING_SIZE: usize = 4 + 4 + 4;

/// Bytes of the state of rows in a record, with so many rings.
pub(crate) const fn state_size(rings: usize) -> usize {
    2 + 2 * STREAM_SIZE + rings * (STREAM_SIZE + RING_SIZE)
}

/// Why a row was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendError {
    /// The flash could not be read or written.
    Media(MediaError),
    /// The values do not make a row of the table.
    Value(ValueError),
}

impl From<MediaError> for AppendError {
    fn from(error: MediaError) -> Self {
        Self::Media(error)
    }
}

impl From<ValueError> for AppendError {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

/// What came of appending a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The row has this position.
    At(Position),
    /// Nothing was appended: the tail's part for this space has to be programmed first.
    NoRoom(Space),
    /// Nothing was appended: the row takes pages of its own.
    Long,
}

/// The page that a part of the tail was to become, and the one that it became instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: Page,
    pub(crate) to: Page,
}

/// A row to be appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRow<'v> {
    pub(crate) head: RowHead,
    pub(crate) values: &'v [Value<'v>],
    pub(crate) commit: u32,
}

/// The rows of one space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// The summary so far of the block in which the head lies.
    block: Summary,
    /// The flush mark: the first page whose entries are in no run of the state.
    pub(crate) mark: u32,
    /// The first page that was programmed and not let go.
    pub(crate) first: u32,
    /// For a ring, how far it has come.
    pub(crate) came: Came,
    /// For a ring, the last commit of which rows may be gone.
    pub(crate) floor: u32,
    /// The last commit that has rows on pages of this space, as far as this session knows.
    pub(crate) newest: u32,
}

/// All rows of the database.
#[derive(Debug)]
pub(crate) struct Records<'ram> {
    pub(crate) tail: Tail<'ram>,
    /// The streams of new rows, of moved rows, and of the rings.
    streams: [Stream; ROW_SPACES.len()],
    /// Number of rings.
    rings: usize,
    /// The time of the clock when a row of a ring was appended last, in microseconds.
    pub(crate) now: u64,
    /// How far each ring had come when the open transaction began.
    begun: [Came; Space::RINGS.len()],
    /// A bit for each table of which a row was ever replaced, deleted or moved.
    pub(crate) changed: u16,
    /// For each part the first page that has a row of the open transaction, and the number of
    /// committed bytes on it. None where no such page was programmed.
    spilled: [Option<(u32, usize)>; PARTS],
    /// Places in the open transaction to which it may be taken back.
    pub(crate) marks: Marks,
}

/// The spaces that hold rows.
pub(crate) const ROW_SPACES: [Space; 4] = [Space::Hot, Space::Cold, Space::RingA, Space::RingB];

impl<'ram> Records<'ram> {
    /// A database without rows. `memory` has the size of a page's payload.
    #[inline(never)]
    pub(crate) fn new(memory: &'ram mut [u8], schema: &Schema<'_>) -> Self {
        let stream = Stream {
            block: Summary::EMPTY,
            mark: 0,
            first: 0,
            came: Came::NONE,
            floor: 0,
            newest: 0,
        };
        Self {
            tail: Tail::new(memory, schema),
            streams: [stream; ROW_SPACES.len()],
            rings: schema.ring_count(),
            now: 0,
            begun: [Came::NONE; Space::RINGS.len()],
            changed: 0,
            spilled: [None; PARTS],
            marks: Marks::new(),
        }
    }

    /// The stream of a row space.
    pub(crate) const fn stream(&self, space: Space) -> &Stream {
        &self.streams[space.stream()]
    }

    /// The stream of a row space, to be changed.
    pub(crate) const fn stream_mut(&mut self, space: Space) -> &mut Stream {
        &mut self.streams[space.stream()]
    }

    /// Bytes of the state of rows in a record.
    pub(crate) const fn state_size(&self) -> usize {
        state_size(self.rings)
    }

    /// Write the state of rows for a record.
    pub(crate) fn emit(&self, out: &mut [u8]) {
        debug_assert_eq!(out.len(), self.state_size(), "the state has its bytes");
        let (changed, mut rest) = out.split_at_mut(2);
        changed.copy_from_slice(&self.changed.to_le_bytes());
        for (stream, space) in self.streams.iter().zip(ROW_SPACES).take(2 + self.rings) {
            let size = STREAM_SIZE + if space.is_ring() { RING_SIZE } else { 0 };
            let (bytes, behind) = rest.split_at_mut(size);
            bytes[..4].copy_from_slice(&stream.mark.to_le_bytes());
            bytes[4..8].copy_from_slice(&stream.first.to_le_bytes());
            bytes[8..STREAM_SIZE].copy_from_slice(&stream.block.emit());
            if space.is_ring() {
                let of_ring = [stream.came.rows, stream.floor, stream.came.last];
                for (word, value) in bytes[STREAM_SIZE..].chunks_exact_mut(4).zip(of_ring) {
                    word.copy_from_slice(&value.to_le_bytes());
                }
            }
            rest = behind;
        }
    }

    /// Take over the state from a record; false where it is not valid.
    #[inline(never)]
    pub(crate) fn load<N: Nand>(&mut self, bytes: &[u8], media: &Media<'_, N>) -> bool {
        debug_assert_eq!(bytes.len(), self.state_size(), "the state has its bytes");
        let (changed, mut rest) = bytes.split_at(2);
        self.changed = u16::from_le_bytes(array(changed));
        let numbers = media.numbers();
        for (stream, space) in self.streams.iter_mut().zip(ROW_SPACES).take(2 + self.rings) {
            let size = STREAM_SIZE + if space.is_ring() { RING_SIZE } else { 0 };
            let (bytes, behind) = rest.split_at(size);
            rest = behind;
            let Some(block) = Summary::parse(&array(&bytes[8..STREAM_SIZE])) else { return false };
            let mark = u32::from_le_bytes(array(&bytes[..4]));
            let first = u32::from_le_bytes(array(&bytes[4..8]));
            let behind = |page| numbers.distance(first, page);
            let is_sane = mark < numbers.page_count() && first < numbers.page_count();
            if !is_sane || behind(mark) > behind(media.head(space)) {
                return false;
            }
            let (mut came, mut floor) = (Came::NONE, 0);
            if space.is_ring() {
                let word = |at| u32::from_le_bytes(array(&bytes[STREAM_SIZE + at..][..4]));
                (came, floor) = (Came { rows: word(0), last: word(8) }, word(4));
            }
            if came.last >= numbers.page_count() {
                return false;
            }
            *stream = Stream { block, mark, first, came, floor, newest: 0 };
        }
        self.begun = self.came();
        true
    }

    /// How far each ring has come.
    pub(crate) fn came(&self) -> [Came; Space::RINGS.len()] {
        Space::RINGS.map(|space| self.stream(space).came)
    }

    fn set_came(&mut self, came: [Came; Space::RINGS.len()]) {
        for (space, came) in Space::RINGS.into_iter().zip(came) {
            self.stream_mut(space).came = came;
        }
    }

    /// Whether committed rows of a ring lie behind one of its blocks. Only then may the block go,
    /// for void pages may fill all blocks behind it.
    pub(crate) fn has_rows_behind(&self, space: Space, block: u32, numbers: Numbers) -> bool {
        let is_behind = numbers.block_of(self.stream(space).came.last) != block;
        is_behind || self.tail.committed_of(space) > 0
    }

    /// Note that pages of a space have rows of commits up to this one.
    pub(crate) fn note_newest(&mut self, space: Space, commit: u32) {
        let stream = self.stream_mut(space);
        stream.newest = stream.newest.max(commit);
    }

    fn count_row(&mut self, space: Space) {
        let stream = self.stream_mut(space);
        stream.came.rows = stream.came.rows.wrapping_add(1);
    }

    /// Append a row to the tail, if there is room. Cost: none.
    #[inline(never)]
    pub(crate) fn append<N: Nand>(
        &mut self,
        media: &Media<'_, N>,
        row: NewRow<'_>,
        schema: &Schema<'_>,
    ) -> Result<Appended, AppendError> {
        let payload = media.layout().payload_size();
        let space = self.tail.space_of(row.head.table);
        let delta = i64::from(row.commit) - i64::from(self.tail.base_for(row.commit));
        let mut encoder = Encoder::new(schema, row.head, delta, row.values)?;
        if encoder.remaining() > payload {
            encoder.check_keys(&schema.tables[usize::from(row.head.table)], payload)?;
            let is_first = self.tail.len_of(space) == 0;
            return Ok(if is_first { Appended::Long } else { Appended::NoRoom(space) });
        }
        if encoder.remaining() > self.tail.room() {
            return Ok(Appended::NoRoom(self.tail.longest()));
        }
        let at = self.tail.push(&mut encoder, row.commit, space);
        self.count_row(space);
        let cell = media.layout().place(at).0 as u32;
        Ok(Appended::At(Position { page: tail_page(media, space), cell }))
    }

    /// Program the part of the tail that goes to a space. Cost: one program, one more where a block
    /// ends, and one more for each program that fails.
    pub(crate) fn spill<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (schema, space): (&Schema<'_>, Space),
        frame: &mut [u8],
    ) -> Result<Move, MediaError> {
        assert!(self.tail.len_of(space) > 0, "there are rows to be programmed");
        let from = tail_page(media, space);
        let to = loop {
            self.end_block(media, space, frame)?;
            let parts = (schema, space);
            let (summary, newest) = self.tail.compose(frame, media.layout(), parts);
            let label = Label {
                kind: Kind::Rows,
                owner: (summary.tables | summary.tables >> 8) as u8,
                used: self.tail.len_of(space) as u16,
                commit: self.tail.base(),
                rows: summary.row_count,
            };
            match media.append(space, label, frame) {
                Ok(page) => {
                    self.note(space, &summary);
                    self.note_newest(space, newest);
                    break page;
                }
                Err(MediaError::ProgramFailed(_)) => self.leave(space),
                Err(error) => return Err(error),
            }
        };
        let (part, committed) = (part_of(space), self.tail.committed_of(space));
        debug_assert!(committed <= self.tail.len_of(space), "what is committed is there");
        let has_open = committed < self.tail.len_of(space);
        if has_open && self.spilled[part].is_none() {
            self.spilled[part] = Some((to.number, committed));
        }
        self.stream_mut(space).came.last = to.number;
        if !has_open {
            note_last(&mut self.begun, part, to.number);
        }
        self.marks.note_page(part, to.number, has_open);
        self.tail.remove(space);
        Ok(Move { from, to })
    }

    /// The first page of a space that has rows of the open transaction; None where it programmed
    /// none. Committed rows of that page count as rows of the tail.
    pub(crate) fn open_page(&self, space: Space) -> Option<u32> {
        self.spilled[part_of(space)].map(|(page, _)| page)
    }

    /// Where the rows of the open transaction in a space begin: the page, or None for the tail, and
    /// the byte.
    pub(crate) fn open_start(&self, space: Space) -> (Option<u32>, usize) {
        let in_tail = (None, self.tail.committed_of(space));
        self.spilled[part_of(space)].map_or(in_tail, |(page, committed)| (Some(page), committed))
    }

    /// Take the open transaction back to a mark. `moves` get new pages of the tail's parts, where
    /// pages had been programmed since. Cost: nothing, or one read for each part.
    pub(crate) fn roll_back_to<N: Nand>(
        &mut self,
        mark: Mark,
        media: &mut Media<'_, N>,
        (frame, moves): (&mut [u8], &mut [Option<Move>; PARTS]),
    ) -> Result<(), MediaError> {
        self.set_came(mark.came);
        let mut kept = mark.lens.map(usize::from);
        for (kept, _) in kept.iter_mut().zip(mark.first).filter(|(_, first)| first.is_some()) {
            *kept = 0;
        }
        self.tail.retain(kept);
        for (part, first) in mark.first.into_iter().enumerate() {
            let Some(first) = first else { continue };
            let len = usize::from(mark.lens[part]);
            let spilled = self.spilled[part].filter(|(page, _)| *page == first);
            let committed = spilled.map_or(0, |(_, committed)| committed).min(len);
            moves[part] = Some(self.restore(media, (part, first), (len, committed), frame)?);
            if spilled.is_some() {
                self.spilled[part] = None;
            }
            self.marks.forget_page(part, first);
        }
        Ok(())
    }

    /// Put the first rows of a page back into the tail, and make the page and all pages behind it
    /// void.
    fn restore<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (part, first): (usize, u32),
        (len, committed): (usize, usize),
        frame: &mut [u8],
    ) -> Result<Move, MediaError> {
        let space = PART_SPACES[part];
        let from = Page { space, number: first };
        let mut kept = (&[][..], 0);
        if len > 0 {
            let (stretch, header) = super::page::read_page(media, from, frame)?;
            let bytes = stretch.bytes().get(..len).ok_or(MediaError::Missing(from))?;
            kept = (bytes, header.commit);
        }
        // Nothing has changed where this fails, so that it can be tried again.
        media.void(space, first)?;
        if !self.tail.put_back(kept.0, kept.1, committed) {
            return Err(MediaError::Missing(from));
        }
        Ok(Move { from, to: tail_page(media, space) })
    }

    /// Note that a page with rows of this summary was programmed.
    pub(super) fn note(&mut self, space: Space, summary: &Summary) {
        let block = &mut self.stream_mut(space).block;
        *block = block.merge(summary);
    }

    /// Note that the head of a space goes on in another block.
    pub(super) const fn leave(&mut self, space: Space) {
        self.stream_mut(space).block = Summary::EMPTY;
    }

    /// Make all rows committed. Void spans that were written to the summaries of their blocks are
    /// forgotten: until now a rollback could have made those summaries void too.
    pub(crate) fn commit<N: Nand>(&mut self, media: &mut Media<'_, N>) {
        self.tail.commit();
        self.spilled = [None; PARTS];
        self.begun = self.came();
        self.marks = Marks::new();
        let numbers = media.numbers();
        let has_summary = |span: &Span| {
            let first = self.stream(span.space).first;
            let behind = numbers.distance(first, media.head(span.space));
            let last =
                Page { space: span.space, number: numbers.last_page(numbers.block_of(span.from)) };
            let is_void = media.spans.find(last, numbers).is_some();
            numbers.distance(first, last.number) < behind && !is_void
        };
        // All of them are asked before one of them goes.
        let spans = (0..).zip(media.spans.as_slice());
        let mut goes =
            spans.fold(0_u32, |goes, (at, span)| goes | u32::from(has_summary(span)) << at);
        media.spans.retain(|_| {
            let stays = goes & 1 == 0;
            goes >>= 1;
            stays
        });
    }

    /// Take the open transaction back. `moves` get new pages of the tail's parts, where pages had
    /// been programmed. Where a page cannot be read, its part is left for the next call. Cost:
    /// nothing, or one read for each part.
    pub(crate) fn roll_back<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
        moves: &mut [Option<Move>; PARTS],
    ) -> Result<(), MediaError> {
        self.marks = Marks::new();
        self.set_came(self.begun);
        self.tail.roll_back();
        for (part, moved) in moves.iter_mut().enumerate() {
            if let Some((first, len)) = self.spilled[part] {
                *moved = Some(self.restore(media, (part, first), (len, len), frame)?);
                self.spilled[part] = None;
            }
        }
        Ok(())
    }

    /// After a mount: make the pages from the head of a space up to `end` void.
    pub(crate) fn skip<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        space: Space,
        end: u32,
    ) -> Result<(), MediaError> {
        let head = media.head(space);
        if media.numbers().page_in_block(end) == 0 {
            self.leave(space);
        }
        media.skip(space, head, end)
    }

    /// Program the summary of a block of which only the summary page is left. Cost: nothing, or one
    /// program.
    pub(crate) fn end_block<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        space: Space,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        while is_last(media, media.head(space)) {
            let block = media.numbers().block_of(media.head(space));
            let stream = *self.stream(space);
            let end = BlockEnd { time: self.now, rows: stream.came.rows, commit: stream.newest };
            let end = Some(end).filter(|_| space.is_ring());
            let len = emit_summary((&stream.block, end), media, (space, block), frame);
            let label = Label { kind: Kind::Summary, owner: 0, used: len, commit: 0, rows: 0 };
            match media.append(space, label, frame) {
                Ok(_) | Err(MediaError::ProgramFailed(_)) => self.leave(space),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Append a row that is longer than a page, on pages of its own in one block. The tail has no
    /// row for their space. Cost: a program for each page, and more where a block ends or a program
    /// fails.
    pub(crate) fn append_long<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        row: NewRow<'_>,
        schema: &Schema<'_>,
        frame: &mut [u8],
    ) -> Result<Position, AppendError> {
        let space = self.tail.space_of(row.head.table);
        debug_assert!(self.tail.len_of(space) == 0, "earlier rows are programmed first");
        let (layout, payload) = (media.layout(), media.layout().payload_size());
        let mut encoder = Encoder::new(schema, row.head, 0, row.values)?;
        let again = encoder.clone();
        let pages = encoder.remaining().div_ceil(payload) as u32;
        if pages >= media.geometry().pages_per_block {
            return Err(ValueError::TooLong.into());
        }
        let at = (space, pages, row.head.table);
        let page = self.program_long(media, at, frame, |_, page, frame| {
            if page == 0 {
                encoder = again.clone();
            }
            clear(frame);
            let mut used = 0;
            while used < payload && encoder.remaining() > 0 {
                let mut bytes = [0; 64];
                let room = (payload - used).min(bytes.len());
                let count = encoder.fill(&mut bytes[..room]);
                layout.put(frame, used, &bytes[..count]);
                used += count;
            }
            if page == 0 {
                note_first(&mut frame[..crate::media::CELL_SIZE], layout.place(0).1);
            }
            let kind = if page == 0 { Kind::Rows } else { Kind::More };
            let (owner, rows) = (1 << (row.head.table % 8), u16::from(page == 0));
            Ok(Label { kind, owner, used: used as u16, commit: row.commit, rows })
        })?;
        let part = part_of(space);
        self.stream_mut(space).came.last = page.number;
        if self.spilled[part].is_none() {
            self.spilled[part] = Some((page.number, 0));
        }
        self.marks.note_page(part, page.number, true);
        self.note_newest(space, row.commit);
        self.count_row(space);
        Ok(Position { page, cell: 0 })
    }

    /// Program the pages of a row that is longer than a page, all in one block. Where a program
    /// fails, all of them are programmed again in the next block. `compose` fills the frame with
    /// the content of a page.
    pub(crate) fn program_long<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (space, pages, table): (Space, u32, u8),
        frame: &mut [u8],
        mut compose: impl FnMut(&mut Media<'_, N>, u32, &mut [u8]) -> Result<Label, MediaError>,
    ) -> Result<Page, MediaError> {
        loop {
            self.make_room(media, (space, pages), frame)?;
            let first = media.head(space);
            let done = (0..pages).try_for_each(|page| {
                let label = compose(media, page, frame)?;
                media.append(space, label, frame).map(|_| ())
            });
            match done {
                Ok(()) => {
                    // A long row's zone value is not looked up: the summary then claims every
                    // value.
                    let block = &mut self.stream_mut(space).block;
                    block.add(table, Some(i64::MIN));
                    block.add(table, Some(i64::MAX));
                    return Ok(Page { space, number: first });
                }
                Err(MediaError::ProgramFailed(_)) => {
                    self.leave(space);
                    let end = media.head(space);
                    let block = media.numbers().block_of(first) * media.numbers().pages_per_block;
                    debug_assert!(end != block, "a failure goes on in another block");
                    if first != media.spans.as_slice().last().map_or(end, |span| span.from) {
                        media.skip(space, first, end)?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Go to a block that has room for so many pages besides its summary. The pages that are left
    /// over are programmed empty, because a mount takes the first blank page for the end of what
    /// was programmed.
    fn make_room<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (space, pages): (Space, u32),
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        loop {
            self.end_block(media, space, frame)?;
            let at = media.numbers().page_in_block(media.head(space));
            if at + pages < media.geometry().pages_per_block {
                return Ok(());
            }
            clear(frame);
            let label = Label { kind: Kind::More, owner: 0, used: 0, commit: 0, rows: 0 };
            match media.append(space, label, frame) {
                Ok(_) => {}
                Err(MediaError::ProgramFailed(_)) => self.leave(space),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The page that a part of the tail will become, if no program fails.
pub(crate) fn tail_page<N: Nand>(media: &Media<'_, N>, space: Space) -> Page {
    let head = media.head(space);
    let number = if is_last(media, head) { media.numbers().next_block(head) } else { head };
    Page { space, number }
}

/// Whether only the summary page is left of a head's block, and void spans are to go there.
pub(crate) fn has_spans_to_tell<N: Nand>(media: &Media<'_, N>, space: Space) -> bool {
    let (head, numbers) = (media.head(space), media.numbers());
    let mut spans = media.spans.of_block(space, numbers.block_of(head), numbers);
    is_last(media, head) && spans.next().is_some()
}

/// Whether a page of rows is the last of its block, which is kept for the summary.
fn is_last<N: Nand>(media: &Media<'_, N>, page: u32) -> bool {
    media.numbers().page_in_block(page) + 1 == media.geometry().pages_per_block
}
