//! Roots: a few blocks from which everything is found.
//!
//! ```text
//! root block   | checkpoint, 1 to n pages | confirm | name | name | …
//! checkpoint   "flysch" 6 | salt 4 | schema 4 | first block 4 | blocks 4 | root blocks 1 + 2 each
//!              ordinal 4 | list 1 + 2 each | has state and pages ahead 1 | body
//! name         the next list, then the list in use: each ordinal 4 | blocks 1 + 2 each
//! ```
//!
//! 1. A root whose confirm page is visible has a whole checkpoint.
//! 2. The newest visible root is believed. The newest confirmed root is never erased.
//! 3. The number of a checkpoint's pages is the root's epoch: it ascends.

use flysch_nand::Nand;

use super::body::{NUMBER_MAX, REST_MAX, rest_size};
use super::stream::{Place, Sink, Source, StreamError, part_of};
use super::table::{page_size, pages_ahead};
use crate::bytes::array;
use crate::media::{
    CELL_DATA, ENTRY_SIZE, HEADER_SIZE, Kind, Label, Layout, Media, MediaError, Name, Sight, Use,
    clear,
};

/// Greatest number of root blocks of a device.
pub(crate) const CELLS_MAX: usize = 8;
/// Greatest number of bytes of the state in a record, whatever RAM the session had that wrote it.
pub(crate) const STATE_MAX: usize = 4096;
/// Greatest number of log blocks of a list.
pub(crate) const LIST_MAX: usize = 16;
/// Blocks at the start of the partition among which the root blocks are chosen.
pub(crate) const CANDIDATES: u32 = 16;

pub(super) const MAGIC: [u8; 6] = *b"flysch";
pub(super) const NAME: Name = Name { used: Use::Root, life: 0 };
/// Payload of the smallest page.
const PAYLOAD_MIN: usize = CELL_DATA - HEADER_SIZE;
const _: () = assert!(FRONT_SIZE <= PAYLOAD_MIN, "the first page of a root has its whole front");
const _: () = assert!(2 * List::SIZE <= PAYLOAD_MIN, "a name page has both lists");

/// A list of log blocks. The block at place `n` has the ordinal `ordinal + n` among all blocks that
/// the log ever had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) ordinal: u32,
    pub(crate) blocks: [u16; LIST_MAX],
    pub(crate) len: u8,
}

impl List {
    pub(crate) const NONE: Self = Self { ordinal: 0, blocks: [0; LIST_MAX], len: 0 };
    /// Bytes of a list in a root or a name page.
    const SIZE: usize = 4 + 1 + 2 * LIST_MAX;

    pub(crate) fn as_slice(&self) -> &[u16] {
        &self.blocks[..usize::from(self.len)]
    }

    fn emit(&self) -> [u8; Self::SIZE] {
        let is_list = (1..=LIST_MAX).contains(&usize::from(self.len));
        debug_assert!(is_list, "a mount refuses other lists");
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&self.ordinal.to_le_bytes());
        bytes[4] = self.len;
        for (to, block) in bytes[5..].chunks_exact_mut(2).zip(self.blocks) {
            to.copy_from_slice(&block.to_le_bytes());
        }
        bytes
    }

    fn parse(bytes: &[u8; Self::SIZE], block_count: u32) -> Option<Self> {
        let ordinal = u32::from_le_bytes(array(&bytes[..4]));
        let mut list = Self { ordinal, len: bytes[4], ..Self::NONE };
        for (block, from) in list.blocks.iter_mut().zip(bytes[5..].chunks_exact(2)) {
            *block = u16::from_le_bytes(array(from));
        }
        let is_sane = (1..=LIST_MAX).contains(&usize::from(list.len))
            && ordinal <= NUMBER_MAX
            && list.as_slice().iter().all(|&block| u32::from(block) < block_count);
        is_sane.then_some(list)
    }
}

/// The root blocks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) blocks: [u16; CELLS_MAX],
    pub(crate) len: u8,
}

impl Cells {
    /// No root block.
    pub(crate) const NONE: Self = Self { blocks: [0; CELLS_MAX], len: 0 };

    pub(crate) fn as_slice(&self) -> &[u16] {
        &self.blocks[..usize::from(self.len)]
    }

    pub(crate) fn has(&self, block: u16) -> bool {
        self.as_slice().contains(&block)
    }

    pub(crate) fn push(&mut self, block: u16) {
        self.blocks[usize::from(self.len)] = block;
        self.len += 1;
    }

    /// The blocks that are not among `others`.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let mut left = Self::NONE;
        for &block in self.as_slice().iter().filter(|&&block| !others.has(block)) {
            left.push(block);
        }
        left
    }
}

/// The front of a root's checkpoint: facts about the database, and where its log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) salt: u32,
    pub(crate) schema: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) cells: Cells,
    /// Blocks that are leaving, besides the root blocks.
    pub(crate) leaving: Cells,
    /// Whether anchors name the root blocks.
    pub(crate) is_anchored: bool,
    pub(crate) list: List,
    /// Whether a body with the state follows.
    pub(crate) has_state: bool,
    /// Pages of the block table ahead of the first record of a log block.
    pub(crate) ahead: u8,
}

const FRONT_SIZE: usize = 6 + 4 + 4 + 4 + 4 + 1 + 2 * CELLS_MAX + List::SIZE + 1;

impl Front {
    pub(crate) fn emit(&self) -> [u8; FRONT_SIZE] {
        let mut bytes = [0; FRONT_SIZE];
        debug_assert!(self.cells.len >= 2, "one root is there while another is written");
        debug_assert!(self.ahead <= 0x7F, "seven bits have the number of pages");
        bytes[..6].copy_from_slice(&MAGIC);
        let words = [self.salt, self.schema, self.first, self.count];
        for (to, word) in bytes[6..22].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes[22] = self.cells.len | self.leaving.len << 4 | u8::from(self.is_anchored) << 7;
        let blocks = self.cells.as_slice().iter().chain(self.leaving.as_slice());
        for (to, block) in bytes[23..].chunks_exact_mut(2).zip(blocks) {
            to.copy_from_slice(&block.to_le_bytes());
        }
        let at = 23 + 2 * CELLS_MAX;
        bytes[at..at + List::SIZE].copy_from_slice(&self.list.emit());
        bytes[at + List::SIZE] = u8::from(self.has_state) | self.ahead << 1;
        bytes
    }

    fn parse(bytes: &[u8; FRONT_SIZE], block_count: u32) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(array(&bytes[at..at + 4]));
        let (cell_count, leaving_count) = (bytes[22] & 15, bytes[22] >> 4 & 7);
        if usize::from(cell_count + leaving_count) > CELLS_MAX {
            return None;
        }
        let (mut cells, mut leaving) = (Cells::NONE, Cells::NONE);
        let count = usize::from(cell_count + leaving_count);
        for (at, from) in bytes[23..].chunks_exact(2).take(count).enumerate() {
            let is_cell = at < usize::from(cell_count);
            let cells = if is_cell { &mut cells } else { &mut leaving };
            cells.push(u16::from_le_bytes(array(from)));
        }
        let at = 23 + 2 * CELLS_MAX;
        let front = Self {
            salt: word(6),
            schema: word(10),
            first: word(14),
            count: word(18),
            cells,
            leaving,
            is_anchored: bytes[22] >> 7 == 1,
            list: List::parse(&array(&bytes[at..at + List::SIZE]), block_count)?,
            has_state: bytes[at + List::SIZE] & 1 == 1,
            ahead: bytes[at + List::SIZE] >> 1,
        };
        // Versions 1 and 2 had eight root blocks, which did not move.
        let moves = front.is_anchored || leaving.len > 0;
        let is_sane = bytes[..6] == MAGIC
            && cells.len >= 2
            && (!moves || usize::from(cells.len) <= CELLS_MAX / 2)
            && cells
                .as_slice()
                .iter()
                .chain(leaving.as_slice())
                .all(|&block| u32::from(block) < block_count);
        is_sane.then_some(front)
    }

    /// The front in the first page of a checkpoint; None where the page is none.
    pub(super) fn on<N: Nand>(media: &Media<'_, N>, frame: &[u8]) -> Option<Self> {
        let mut bytes = [0; FRONT_SIZE];
        media.layout().take(frame, 0, &mut bytes);
        Self::parse(&bytes, media.table.len())
    }

    /// Read the front of a root's checkpoint. The reader then stands behind it.
    pub(crate) fn read<N: Nand>(
        reader: &mut dyn Source<N>,
        media: &mut Media<'_, N>,
    ) -> Result<Self, StreamError> {
        let mut bytes = [0; FRONT_SIZE];
        reader.take(media, &mut bytes)?;
        let front = Self::parse(&bytes, media.table.len()).ok_or(StreamError::Broken)?;
        // Only roots of version 1 have another number, 0.
        let is_sane = front.ahead == 0 || front.ahead == pages_ahead(media);
        if is_sane { Ok(front) } else { Err(StreamError::Broken) }
    }
}

/// Where the checkpoint of a root lies.
pub(crate) const fn place(block: u32, epoch: u32) -> Place {
    Place { block, page: 0, name: NAME, kind: Kind::Root, number: epoch }
}

/// A root that was seen in a root block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) block: u32,
    pub(crate) epoch: u32,
    /// Pages of the checkpoint.
    pub(crate) pages: u32,
    pub(crate) is_confirmed: bool,
}

/// Greatest number of pages of a checkpoint.
pub(super) fn pages_max<N: Nand>(media: &Media<'_, N>) -> u32 {
    let payload = media.layout().payload_size();
    let size = FRONT_SIZE + REST_MAX + payload + STATE_MAX + media.table.bytes().len();
    size.div_ceil(payload) as u32
}

/// Pages that a block needs at least: those of a root with a state of so many bytes and the longest
/// tail, with its confirm page; or those of a log block's first record, and of one behind it.
pub(crate) fn pages_needed(layout: Layout, blocks: u32, (spaces, state): (usize, usize)) -> u32 {
    let (payload, table) = (layout.payload_size(), blocks as usize * ENTRY_SIZE);
    let body = rest_size(spaces) + payload + state;
    let root = (FRONT_SIZE + body + table).div_ceil(payload) + 1;
    let page = page_size(layout);
    let record = table / page + (body + table % page).div_ceil(payload) + 1;
    root.max(record) as u32
}

/// The pages of a root block on which a checkpoint can end.
fn last_parts<N: Nand>(media: &Media<'_, N>) -> core::ops::Range<u32> {
    let payload = media.layout().payload_size();
    let first = (media.table.bytes().len() / payload).max(1) as u32;
    first..pages_max(media).min(media.geometry().pages_per_block)
}

/// The number of pages of a checkpoint, found by its last one; None where that is not visible. The
/// pages between were programmed before it, and are read only where they are needed. Each page
/// holds some of the block table, so the last one lies behind as many as the table fills. Cost: two
/// reads as a rule.
fn find_last<N: Nand>(
    media: &mut Media<'_, N>,
    block: u32,
    epoch: u32,
    frame: &mut [u8],
) -> Result<Option<u32>, MediaError> {
    for page in last_parts(media) {
        let Sight::Page(header) = media.look(block, page, NAME, frame)? else { return Ok(None) };
        let (is_last, part) = part_of(&header);
        if header.kind != Kind::Root || header.commit != epoch || part != page {
            return Ok(None);
        }
        if is_last {
            return Ok(Some(page + 1));
        }
    }
    Ok(None)
}

/// Look at a root block; None where no whole checkpoint is visible, or only one of another salt.
/// Cost: one read, those of [`find_last`], and one of the confirm page.
pub(crate) fn look<N: Nand>(
    media: &mut Media<'_, N>,
    block: u32,
    salt: Option<u32>,
    frame: &mut [u8],
) -> Result<Option<Seen>, MediaError> {
    let Sight::Page(header) = media.look(block, 0, NAME, frame)? else { return Ok(None) };
    if header.kind != Kind::Root || part_of(&header).1 != 0 || header.commit > NUMBER_MAX {
        return Ok(None);
    }
    let epoch = header.commit;
    let is_other = |salt| Front::on(media, frame).is_none_or(|front| front.salt != salt);
    if salt.is_some_and(is_other) {
        return Ok(None);
    }
    let pages = if part_of(&header).0 { Some(1) } else { find_last(media, block, epoch, frame)? };
    let Some(pages) = pages.filter(|&pages| pages < media.geometry().pages_per_block) else {
        return Ok(None);
    };
    let confirm = media.look(block, pages, NAME, frame)?;
    let is_confirmed = matches!(confirm, Sight::Page(header)
        if header.kind == Kind::Confirm && header.commit == epoch);
    Ok(Some(Seen { block, epoch, pages, is_confirmed }))
}

/// The root block to which a mount may write, among those that `takes` allows: one on which nothing
/// is visible, else the newest unconfirmed one, else the oldest. It is never the newest confirmed
/// one, which must be kept, nor a bad one. A root on a bad block is not believed, so it does not
/// count as the newest.
pub(crate) fn target(seen: &[Option<Seen>], is_bad: &[bool], takes: &[bool]) -> Option<usize> {
    let good = || (0..seen.len()).filter(|&at| !is_bad[at]);
    if let Some(at) = good().find(|&at| takes[at] && seen[at].is_none()) {
        return Some(at);
    }
    let visible = || good().filter_map(|at| seen[at].map(|seen| (at, seen)));
    let confirmed = visible().filter(|(_, seen)| seen.is_confirmed);
    let newest = confirmed.max_by_key(|(_, seen)| seen.epoch);
    let kept = newest.or_else(|| visible().min_by_key(|(_, seen)| seen.epoch));
    let others = || {
        let other = |&(at, _): &(usize, Seen)| takes[at] && kept.is_none_or(|kept| at != kept.0);
        visible().filter(other)
    };
    let doubtful = others().filter(|(_, seen)| !seen.is_confirmed);
    let chosen = doubtful.max_by_key(|(_, seen)| seen.epoch);
    chosen.or_else(|| others().min_by_key(|(_, seen)| seen.epoch)).map(|(at, _)| at)
}

/// Program the confirm page of a root. Cost: one program.
pub(crate) fn confirm<N: Nand>(
    media: &mut Media<'_, N>,
    root: &Seen,
    frame: &mut [u8],
) -> Result<(), MediaError> {
    debug_assert!(!root.is_confirmed, "a confirm page is programmed once");
    debug_assert!(root.pages > 0, "what is confirmed was written");
    clear(frame);
    let label = Label { kind: Kind::Confirm, owner: 0, used: 0, commit: root.epoch, rows: 0 };
    media.program(root.block, root.pages, NAME, label, frame)
}

/// Program a name page. Cost: one program.
pub(crate) fn name<N: Nand>(
    media: &mut Media<'_, N>,
    root: &Seen,
    page: u32,
    lists: [&List; 2],
    frame: &mut [u8],
) -> Result<(), MediaError> {
    debug_assert!(page > root.pages, "the page behind the checkpoint is the confirm page");
    clear(frame);
    for (number, list) in lists.into_iter().enumerate() {
        media.layout().put(frame, number * List::SIZE, &list.emit());
    }
    let used = 2 * List::SIZE as u16;
    let label = Label { kind: Kind::Name, owner: 0, used, commit: root.epoch, rows: 0 };
    media.program(root.block, page, NAME, label, frame)
}

/// The lists on a name page of a root; None where there are none. Cost: one read.
pub(crate) fn read_name<N: Nand>(
    media: &mut Media<'_, N>,
    root: &Seen,
    page: u32,
    frame: &mut [u8],
) -> Result<Named, MediaError> {
    match media.look(root.block, page, NAME, frame)? {
        Sight::Blank => Ok(Named::Blank),
        Sight::Page(header) if header.kind == Kind::Name && header.commit == root.epoch => {
            let list = |number: usize| {
                let mut bytes = [0; List::SIZE];
                media.layout().take(frame, number * List::SIZE, &mut bytes);
                List::parse(&bytes, media.table.len())
            };
            let lists = list(0).zip(list(1));
            Ok(lists.map_or(Named::Unreadable, |(next, used)| Named::Lists([next, used])))
        }
        Sight::Page(_) | Sight::Unreadable => Ok(Named::Unreadable),
    }
}

/// What was seen where a name page may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Blank,
    Unreadable,
    Lists([List; 2]),
}

/// Write a root's checkpoint: its front and, where there is one, its body. The block is erased.
/// Cost: one program for each page.
pub(crate) fn write<N: Nand>(
    media: &mut Media<'_, N>,
    block: u32,
    epoch: u32,
    frame: &mut [u8],
    emit: impl FnOnce(&mut Sink<'_>, &mut Media<'_, N>) -> Result<(), MediaError>,
) -> Result<Seen, MediaError> {
    let mut sink = Sink::to(place(block, epoch), frame);
    emit(&mut sink, media)?;
    let pages = sink.finish(media)?;
    let is_found = pages == 1 || last_parts(media).contains(&(pages - 1));
    debug_assert!(is_found, "a mount seeks the last page where it is");
    Ok(Seen { block, epoch, pages, is_confirmed: false })
}
