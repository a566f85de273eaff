//! Roots: a few blocks from which everything is found.
//!
//! ```text
//! root block   | checkpoint, 1 to n pages | confirm | name | name | …
//! checkpoint   front | body
//! name         the next list, then the list in use: each ordinal 4 | blocks 1 + 2 each
//! ```
//!
//! 1. A root whose confirm page is visible has a whole checkpoint.
//! 2. The newest visible root is believed. The newest confirmed root is never erased.
//! 3. The number of a checkpoint's pages is the root's epoch: it ascends.

use flysch_nand::Nand;

use super::body::{Body, NUMBER_MAX, REST_MAX, rest_size};
use super::front::{FRONT_SIZE, Front, LEN_SIZE, List};
use super::stream::{Place, Sink, part_of};
use super::table::page_size;
use crate::media::{
    CELL_DATA, ENTRY_SIZE, HEADER_SIZE, Kind, Label, Layout, Media, MediaError, Name, Sight, Use,
    clear,
};
use crate::row::Schema;

/// Greatest number of bytes of the state in a record, whatever RAM the session had that wrote it.
pub(crate) const STATE_MAX: usize = 4096;
/// Blocks at the start of the partition among which the root blocks are chosen.
pub(crate) const CANDIDATES: u32 = 16;

pub(super) const NAME: Name = Name { used: Use::Root, life: 0 };
/// Payload of the smallest page.
const PAYLOAD_MIN: usize = CELL_DATA - HEADER_SIZE;
const _: () =
    assert!(FRONT_SIZE + LEN_SIZE <= PAYLOAD_MIN, "the first page of a root has its whole front");
const _: () = assert!(2 * List::SIZE <= PAYLOAD_MIN, "a name page has both lists");

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

/// Greatest number of pages of a checkpoint with a description of so many bytes.
pub(super) fn pages_max<N: Nand>(media: &Media<'_, N>, described: u16) -> u32 {
    let payload = media.layout().payload_size();
    let size = FRONT_SIZE
        + LEN_SIZE
        + usize::from(described)
        + REST_MAX
        + payload
        + STATE_MAX
        + media.table.bytes().len();
    size.div_ceil(payload) as u32
}

/// Pages that a block needs at least: those of a root with a state of so many bytes and the longest
/// tail, with its confirm page; or those of a log block's first record, and of one behind it.
pub(crate) fn pages_needed(
    layout: Layout,
    blocks: u32,
    described: usize,
    (spaces, state): (usize, usize),
) -> u32 {
    let (payload, table) = (layout.payload_size(), blocks as usize * ENTRY_SIZE);
    let body = rest_size(spaces) + payload + state;
    let front = FRONT_SIZE + LEN_SIZE + described;
    let root = (front + body + table).div_ceil(payload) + 1;
    let page = page_size(layout);
    let record = table / page + (body + table % page).div_ceil(payload) + 1;
    root.max(record) as u32
}

/// The pages of a root block on which a checkpoint can end.
fn last_parts<N: Nand>(media: &Media<'_, N>, described: u16) -> core::ops::Range<u32> {
    let payload = media.layout().payload_size();
    let first = (media.table.bytes().len() / payload).max(1) as u32;
    first..pages_max(media, described).min(media.geometry().pages_per_block)
}

/// The number of pages of a checkpoint, found by its last one; None where that is not visible. The
/// pages between were programmed before it, and are read only where they are needed. Each page
/// holds some of the block table, so the last one lies behind as many as the table fills. Cost: two
/// reads as a rule.
fn find_last<N: Nand>(
    media: &mut Media<'_, N>,
    (block, epoch): (u32, u32),
    described: u16,
    frame: &mut [u8],
) -> Result<Option<u32>, MediaError> {
    for page in last_parts(media, described) {
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
    let described = Front::on(media, frame).and_then(|front| front.described).unwrap_or(0);
    let pages = if part_of(&header).0 {
        Some(1)
    } else {
        find_last(media, (block, epoch), described, frame)?
    };
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
    (block, epoch): (u32, u32),
    (front, schema): (&Front, &Schema<'_>),
    body: Option<&Body<'_>>,
    frame: &mut [u8],
) -> Result<Seen, MediaError> {
    debug_assert!(front.has_state == body.is_some(), "the front tells of the body");
    let mut sink = Sink::to(place(block, epoch), frame);
    front.put(schema, &mut sink, media)?;
    if let Some(body) = body {
        body.emit(&mut sink, media)?;
    }
    let pages = sink.finish(media)?;
    let described = front.described.unwrap_or(0);
    let is_found = pages == 1 || last_parts(media, described).contains(&(pages - 1));
    debug_assert!(is_found, "a mount seeks the last page where it is");
    Ok(Seen { block, epoch, pages, is_confirmed: false })
}
