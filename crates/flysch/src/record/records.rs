//! Appending rows: the tail, the pages that it becomes, and what a rollback leaves.
//!
//! 1. A row lies on one page, or begins one and goes on over the pages behind it, in one block.
//! 2. The last page of a block is its summary: what a scan must know, and the void spans.
//! 3. What a transaction spilled and took back lies in a void span, from the first page on that
//!    held a row of it. The committed rows of that page are in the tail again.

use flysch_nand::Nand;

use super::mark::{Mark, Marks};
use super::position::Position;
use super::summary::emit_summary;
use super::tail::Tail;
use crate::bytes::array;
use crate::media::{Kind, Label, Media, MediaError, Page, Space, Span, clear, note_first};
use crate::row::{Encoder, RowHead, SUMMARY_SIZE, Schema, Summary, Value, ValueError};

/// Bytes of the state of rows in a record.
pub(crate) const STATE_SIZE: usize = 2 + 2 * STREAM_SIZE;
/// Bytes of a stream of it.
const STREAM_SIZE: usize = 4 + 4 + SUMMARY_SIZE;

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

/// A page that the tail was to become, and the one that it became.
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
}

/// The rows of the database.
#[derive(Debug)]
pub(crate) struct Records<'ram> {
    pub(crate) tail: Tail<'ram>,
    /// New rows and moved ones.
    streams: [Stream; 2],
    /// A bit for each table of which a row was ever replaced, deleted or moved.
    pub(crate) changed: u16,
    /// The first page that holds a row of the transaction under way, and its committed bytes.
    spilled: Option<(u32, usize)>,
    /// Where the transaction under way may be taken back to.
    pub(crate) marks: Marks,
}

/// The spaces of rows.
pub(crate) const ROW_SPACES: [Space; 2] = [Space::Hot, Space::Cold];

impl<'ram> Records<'ram> {
    /// No rows. `memory` holds the payload of a page.
    pub(crate) const fn new(memory: &'ram mut [u8]) -> Self {
        let stream = Stream { block: Summary::EMPTY, mark: 0, first: 0 };
        Self {
            tail: Tail::new(memory),
            streams: [stream; 2],
            changed: 0,
            spilled: None,
            marks: Marks::new(),
        }
    }

    /// The pages of a space of rows.
    pub(crate) const fn stream(&self, space: Space) -> &Stream {
        &self.streams[space as usize]
    }

    /// The pages of a space of rows, to be changed.
    pub(crate) const fn stream_mut(&mut self, space: Space) -> &mut Stream {
        &mut self.streams[space as usize]
    }

    /// The state in a record.
    pub(crate) fn emit(&self) -> [u8; STATE_SIZE] {
        let mut bytes = [0; STATE_SIZE];
        bytes[..2].copy_from_slice(&self.changed.to_le_bytes());
        for (bytes, stream) in bytes[2..].chunks_exact_mut(STREAM_SIZE).zip(&self.streams) {
            bytes[..4].copy_from_slice(&stream.mark.to_le_bytes());
            bytes[4..8].copy_from_slice(&stream.first.to_le_bytes());
            bytes[8..].copy_from_slice(&stream.block.emit());
        }
        bytes
    }

    /// Take over the state of a record. False where it makes no sense.
    pub(crate) fn load<N: Nand>(&mut self, bytes: &[u8; STATE_SIZE], media: &Media<'_, N>) -> bool {
        self.changed = u16::from_le_bytes(array(&bytes[..2]));
        let numbers = media.numbers();
        let parts = bytes[2..].chunks_exact(STREAM_SIZE);
        for ((bytes, stream), space) in parts.zip(&mut self.streams).zip(ROW_SPACES) {
            let Some(block) = Summary::parse(&array(&bytes[8..])) else { return false };
            let mark = u32::from_le_bytes(array(&bytes[..4]));
            let first = u32::from_le_bytes(array(&bytes[4..8]));
            let behind = |page| numbers.distance(first, page);
            let is_sane = mark < numbers.page_count() && first < numbers.page_count();
            if !is_sane || behind(mark) > behind(media.head(space)) {
                return false;
            }
            *stream = Stream { block, mark, first };
        }
        true
    }

    /// Append a row; give its position, and what became of the tail where a page was programmed.
    /// Cost: nothing while the row fits the tail, else one program, and one more where a block
    /// ends. A row that is longer than a page takes its pages at once.
    pub(crate) fn append<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        row: NewRow<'_>,
        schema: &Schema<'_>,
        frame: &mut [u8],
    ) -> Result<(Position, Option<Move>), AppendError> {
        let payload = media.layout().payload_size();
        let mut moved = None;
        loop {
            let delta = i64::from(row.commit) - i64::from(self.tail.base_for(row.commit));
            let mut encoder = Encoder::new(schema, row.head, delta, row.values)?;
            if encoder.remaining() > payload {
                encoder.check_keys(&schema.tables[usize::from(row.head.table)], payload)?;
                if !self.tail.rows().is_empty() {
                    moved = Some(self.spill(media, schema, frame)?);
                }
                let page = self.append_long(media, row, schema, frame)?;
                return Ok((Position { page, cell: 0 }, moved));
            }
            if encoder.remaining() <= self.tail.room() {
                let at = self.tail.push(&mut encoder, row.commit);
                let cell = media.layout().place(at).0 as u32;
                return Ok((Position { page: tail_page(media), cell }, moved));
            }
            moved = Some(self.spill(media, schema, frame)?);
        }
    }

    /// Program the tail as a page. Cost: one program, one more where a block ends, and for each
    /// program that fails one more.
    pub(crate) fn spill<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        schema: &Schema<'_>,
        frame: &mut [u8],
    ) -> Result<Move, MediaError> {
        assert!(!self.tail.rows().is_empty(), "there are rows to be programmed");
        let from = tail_page(media);
        let to = loop {
            self.end_block(media, Space::Hot, frame)?;
            let summary = self.tail.compose(frame, media.layout(), schema);
            let label = Label {
                kind: Kind::Rows,
                owner: (summary.tables | summary.tables >> 8) as u8,
                used: self.tail.rows().len() as u16,
                commit: self.tail.base(),
                rows: summary.row_count,
            };
            match media.append(Space::Hot, label, frame) {
                Ok(page) => {
                    self.note(Space::Hot, &summary);
                    break page;
                }
                Err(MediaError::ProgramFailed(_)) => self.leave(Space::Hot),
                Err(error) => return Err(error),
            }
        };
        let has_open = self.tail.committed().len() < self.tail.rows().len();
        if has_open && self.spilled.is_none() {
            self.spilled = Some((to.number, self.tail.committed().len()));
        }
        self.marks.note_page(to.number, has_open);
        self.tail.empty();
        Ok(Move { from, to })
    }

    /// The first page of the transaction under way; its committed rows count as the tail's.
    pub(crate) fn open_page(&self) -> Option<u32> {
        self.spilled.map(|(page, _)| page)
    }

    /// Where the rows of the transaction under way begin: the page, none for the tail, and the byte
    /// in it.
    pub(crate) fn open_start(&self) -> (Option<u32>, usize) {
        let in_tail = (None, self.tail.committed().len());
        self.spilled.map_or(in_tail, |(page, committed)| (Some(page), committed))
    }

    /// Take the transaction under way back to a mark. Gives the move of the tail's rows where pages
    /// had been programmed since. Cost: nothing, or one read.
    pub(crate) fn roll_back_to<N: Nand>(
        &mut self,
        mark: Mark,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<Option<Move>, MediaError> {
        let len = usize::from(mark.tail_len);
        let Some(first) = mark.first else {
            self.tail.truncate(len);
            return Ok(None);
        };
        let committed = self.spilled.filter(|(page, _)| *page == first).map(|(_, len)| len);
        let moved = self.restore(media, (first, len), frame)?;
        self.tail.uncommit(committed.unwrap_or(0).min(len));
        if committed.is_some() {
            self.spilled = None;
        }
        self.marks.forget_page(first);
        Ok(Some(moved))
    }

    /// Put the first rows of a page into the tail again, and void the page and all behind it.
    fn restore<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        (first, len): (u32, usize),
        frame: &mut [u8],
    ) -> Result<Move, MediaError> {
        let from = Page { space: Space::Hot, number: first };
        self.tail.empty();
        if len > 0 {
            let (stretch, header) = super::page::read_page(media, from, frame)?;
            let bytes = stretch.bytes().get(..len).ok_or(MediaError::Missing(from))?;
            self.tail.memory()[..len].copy_from_slice(bytes);
            if !self.tail.restore(len, header.commit) {
                return Err(MediaError::Missing(from));
            }
        }
        media.void(Space::Hot, first)?;
        Ok(Move { from, to: tail_page(media) })
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
        self.spilled = None;
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

    /// Take back the transaction under way. Gives the move of the committed rows of the tail where
    /// pages had been programmed. Cost: nothing, or one read.
    pub(crate) fn roll_back<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<Option<Move>, MediaError> {
        self.marks = Marks::new();
        let Some((first, committed)) = self.spilled.take() else {
            self.tail.roll_back();
            return Ok(None);
        };
        self.restore(media, (first, committed), frame).map(Some)
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
            let len = emit_summary(&self.stream(space).block, media, (space, block), frame);
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
        row: NewRow<'_>,
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
        let at = (Space::Hot, pages, row.head.table);
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
        if self.spilled.is_none() {
            self.spilled = Some((page.number, 0));
        }
        self.marks.note_page(page.number, true);
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

/// The page that the tail will become, if no program fails.
pub(crate) fn tail_page<N: Nand>(media: &Media<'_, N>) -> Page {
    let head = media.head(Space::Hot);
    let number = if is_last(media, head) { media.numbers().next_block(head) } else { head };
    Page { space: Space::Hot, number }
}

/// Whether a page of rows is the last of its block, which is for the summary.
fn is_last<N: Nand>(media: &Media<'_, N>, page: u32) -> bool {
    media.numbers().page_in_block(page) + 1 == media.geometry().pages_per_block
}
