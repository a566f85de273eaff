//! Appending rows: the tail, the pages that it becomes, and what a rollback leaves.
//!
//! 1. A row lies on one page, or begins one and goes on over the pages behind it, in one block.
//! 2. The last page of a block is its summary: what a scan must know, and the void spans.
//! 3. What a transaction spilled and took back lies in a void span, from the first page on that
//!    held a row of it. The committed rows of that page are in the tail again.

use flysch_nand::Nand;

use super::mark::{Came, Mark, Marks, note_last};
use super::position::Position;
use super::summary::{BlockEnd, emit_summary};
use super::tail::{PART_SPACES, PARTS, Tail, part_of};
use crate::bytes::array;
use crate::media::{Kind, Label, Media, MediaError, Numbers, Page, Space, Span, clear, note_first};
use crate::row::{Encoder, RowHead, SUMMARY_SIZE, Schema, Summary, Value, ValueError};

/// Bytes of a stream of the state of rows in a record.
const STREAM_SIZE: usize = 4 + 4 + SUMMARY_SIZE;
/// Bytes that follow where the stream is a ring's.
const RING_SIZE: usize = 4 + 4 + 4;

/// Bytes of the state of rows in a record.
pub(crate) const fn state_size(rings: usize) -> usize {
    2 + 2 * STREAM_SIZE + rings * (STREAM_SIZE + RING_SIZE)
}

/// Why a row was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendError {
    /// The flash says no.
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

/// What became of a row to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// It lies here.
    At(Position),
    /// The rows of this space have to be programmed first.
    NoRoom(Space),
}

/// A page that a part of the tail was to become, and the one that it became.
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

/// The pages of rows of one space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// What a scan must know of the pages of the head's block.
    block: Summary,
    /// The first page whose rows are in no run of the state.
    pub(crate) mark: u32,
    /// The first page that was ever programmed and is still there.
    pub(crate) first: u32,
    /// How far a ring has come.
    pub(crate) came: Came,
    /// The commit up to which rows of a ring may be gone.
    pub(crate) floor: u32,
    /// The greatest commit of a row on pages, as far as the session knows.
    pub(crate) newest: u32,
}

/// The rows of the database.
#[derive(Debug)]
pub(crate) struct Records<'ram> {
    pub(crate) tail: Tail<'ram>,
    /// New rows, moved ones, and those of the rings.
    streams: [Stream; ROW_SPACES.len()],
    /// Rings.
    rings: usize,
    /// The clock's time when a row of a ring was appended last.
    pub(crate) now: u64,
    /// How far each ring had come when the transaction under way began.
    begun: [Came; Space::RINGS.len()],
    /// A bit for each table of which a row was ever replaced, deleted or moved.
    pub(crate) changed: u16,
    /// Of each part the first page that holds a row of the transaction under way, and its
    /// committed bytes.
    spilled: [Option<(u32, usize)>; PARTS],
    /// Where the transaction under way may be taken back to.
    pub(crate) marks: Marks,
}

/// The spaces of rows.
pub(crate) const ROW_SPACES: [Space; 4] = [Space::Hot, Space::Cold, Space::RingA, Space::RingB];

impl<'ram> Records<'ram> {
    /// No rows. `memory` holds the payload of a page.
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

    /// The pages of a space of rows.
    pub(crate) const fn stream(&self, space: Space) -> &Stream {
        &self.streams[space.stream()]
    }

    /// The pages of a space of rows, to be changed.
    pub(crate) const fn stream_mut(&mut self, space: Space) -> &mut Stream {
        &mut self.streams[space.stream()]
    }

    /// Bytes of the state in a record.
    pub(crate) const fn state_size(&self) -> usize {
        state_size(self.rings)
    }

    /// The state in a record.
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

    /// Take over the state of a record. False where it makes no sense.
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

    /// Whether rows of a ring that are committed lie behind one of its blocks: the oldest goes
    /// only then. Void pages may fill all that comes behind it.
    pub(crate) fn has_rows_behind(&self, space: Space, block: u32, numbers: Numbers) -> bool {
        let is_behind = numbers.block_of(self.stream(space).came.last) != block;
        is_behind || self.tail.committed_of(space) > 0
    }

    /// Rows of commits up to this one are on pages of a space.
    pub(crate) fn note_newest(&mut self, space: Space, commit: u32) {
        let stream = self.stream_mut(space);
        stream.newest = stream.newest.max(commit);
    }

    fn count_row(&mut self, space: Space) {
        let stream = self.stream_mut(space);
        stream.came.rows = stream.came.rows.wrapping_add(1);
    }

    /// Append a row, if the tail has room for it; give its position. Cost: nothing where the row
    /// fits the tail. A row that is longer than a page takes its pages at once.
    #[inline(never)]
    pub(crate) fn append<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        row: NewRow<'_>,
        schema: &Schema<'_>,
        frame: &mut [u8],
    ) -> Result<Appended, AppendError> {
        let payload = media.layout().payload_size();
        let space = self.tail.space_of(row.head.table);
        let delta = i64::from(row.commit) - i64::from(self.tail.base_for(row.commit));
        let mut encoder = Encoder::new(schema, row.head, delta, row.values)?;
        if encoder.remaining() > payload {
            encoder.check_keys(&schema.tables[usize::from(row.head.table)], payload)?;
            if self.tail.len_of(space) > 0 {
                return Ok(Appended::NoRoom(space));
            }
            let page = self.append_long(media, (row, space), schema, frame)?;
            self.note_newest(space, row.commit);
            self.count_row(space);
            return Ok(Appended::At(Position { page, cell: 0 }));
        }
        if encoder.remaining() > self.tail.room() {
            return Ok(Appended::NoRoom(self.tail.longest()));
        }
        let at = self.tail.push(&mut encoder, row.commit, space);
        self.count_row(space);
        let cell = media.layout().place(at).0 as u32;
        Ok(Appended::At(Position { page: tail_page(media, space), cell }))
    }

    /// Program the rows of the tail that go to a space as a page. Cost: one program, one more where
    /// a block ends, and for each program that fails one more.
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

    /// The first page of a space of the transaction under way; its committed rows count as the
    /// tail's.
    pub(crate) fn open_page(&self, space: Space) -> Option<u32> {
        self.spilled[part_of(space)].map(|(page, _)| page)
    }

    /// Where the rows of the transaction under way in a space begin: the page, none for the tail,
    /// and the byte in it.
    pub(crate) fn open_start(&self, space: Space) -> (Option<u32>, usize) {
        let in_tail = (None, self.tail.committed_of(space));
        self.spilled[part_of(space)].map_or(in_tail, |(page, committed)| (Some(page), committed))
    }

    /// Take the transaction under way back to a mark. Gives the moves of the tail's rows where
    /// pages had been programmed since. Cost: nothing, or one read for each part.
    pub(crate) fn roll_back_to<N: Nand>(
        &mut self,
        mark: Mark,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<[Option<Move>; PARTS], MediaError> {
        self.set_came(mark.came);
        let mut kept = mark.lens;
        for (kept, _) in kept.iter_mut().zip(mark.first).filter(|(_, first)| first.is_some()) {
            *kept = 0;
        }
        self.tail.retain(kept);
        let mut moves = [None; PARTS];
        for (part, first) in mark.first.into_iter().enumerate() {
            let Some(first) = first else { continue };
            let len = mark.lens[part];
            let spilled = self.spilled[part].filter(|(page, _)| *page == first);
            let committed = spilled.map_or(0, |(_, committed)| committed).min(len);
            moves[part] = Some(self.restore(media, (part, first), (len, committed), frame)?);
            if spilled.is_some() {
                self.spilled[part] = None;
            }
            self.marks.forget_page(part, first);
        }
        Ok(moves)
    }

    /// Put the first rows of a page into the tail again, and void the page and all behind it.
    fn restore<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (part, first): (usize, u32),
        (len, committed): (usize, usize),
        frame: &mut [u8],
    ) -> Result<Move, MediaError> {
        let space = PART_SPACES[part];
        let from = Page { space, number: first };
        if len > 0 {
            let (stretch, header) = super::page::read_page(media, from, frame)?;
            let bytes = stretch.bytes().get(..len).ok_or(MediaError::Missing(from))?;
            if !self.tail.put_back(bytes, header.commit, committed) {
                return Err(MediaError::Missing(from));
            }
        }
        media.void(space, first)?;
        Ok(Move { from, to: tail_page(media, space) })
    }

    /// A page with rows of this summary was programmed.
    pub(super) fn note(&mut self, space: Space, summary: &Summary) {
        let block = &mut self.stream_mut(space).block;
        *block = block.merge(summary);
    }

    /// The head of a space goes on in another block.
    pub(super) const fn leave(&mut self, space: Space) {
        self.stream_mut(space).block = Summary::EMPTY;
    }

    /// Everything is committed. Spans that the summaries of their blocks have taken over are
    /// forgotten: until now a rollback could have made those summaries void.
    pub(crate) fn commit<N: Nand>(&mut self, media: &mut Media<'_, N>) {
        self.tail.commit();
        self.spilled = [None; PARTS];
        self.begun = self.came();
        self.marks = Marks::new();
        let numbers = media.numbers();
        let spans = media.spans.clone();
        let has_summary = |span: &Span| {
            let first = self.stream(span.space).first;
            let behind = numbers.distance(first, media.head(span.space));
            let number = numbers.next_block(span.from) + numbers.page_count() - 1;
            let last = Page { space: span.space, number: number % numbers.page_count() };
            numbers.distance(first, last.number) < behind && spans.find(last, numbers).is_none()
        };
        let mut kept = spans.clone();
        kept.retain(|span| !has_summary(span));
        media.spans = kept;
    }

    /// Take back the transaction under way. Gives the moves of the committed rows of the tail where
    /// pages had been programmed. Cost: nothing, or one read for each part.
    pub(crate) fn roll_back<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<[Option<Move>; PARTS], MediaError> {
        self.marks = Marks::new();
        self.set_came(self.begun);
        self.tail.roll_back();
        let mut moves = [None; PARTS];
        for (part, moved) in moves.iter_mut().enumerate() {
            if let Some((first, len)) = self.spilled[part].take() {
                *moved = Some(self.restore(media, (part, first), (len, len), frame)?);
            }
        }
        Ok(moves)
    }

    /// After a mount: nothing from the head of a space up to `end` is believed.
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

    /// Program the summary where only its page is left of the block. Cost: nothing, or one program.
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

    /// Program a row that is longer than a page, on pages of its own in one block.
    fn append_long<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (row, space): (NewRow<'_>, Space),
        schema: &Schema<'_>,
        frame: &mut [u8],
    ) -> Result<Page, AppendError> {
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
        Ok(page)
    }

    /// Program the pages of a row that is longer than a page, in one block; where one fails, all of
    /// them in the next one. `compose` fills the frame of a page, the first one as often as the row
    /// is begun.
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
                    // The zone is not looked for in long rows: too much is said rather than too
                    // little.
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

    /// See that the block has room for so many pages, its summary apart. Pages that are left are
    /// programmed empty: a mount finds the end of a block by its first blank page.
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

/// Whether a page of rows is the last of its block, which is for the summary.
fn is_last<N: Nand>(media: &Media<'_, N>, page: u32) -> bool {
    media.numbers().page_in_block(page) + 1 == media.geometry().pages_per_block
}
