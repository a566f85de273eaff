//! Formatting: root blocks are chosen among the first blocks, and a root is written to each.
//!
//! 1. All candidates are erased, so that no root of an earlier database is found there later.
//! 2. On partitions where root blocks move, two more candidates become anchors. The first anchor is
//!    written once all roots are, and once no anchor of an earlier database is left.
//! 3. Every root block gets a root. So a mount that sees none in a root block knows that an
//!    interrupted attempt may be there.
//! 4. Pages of an earlier database may lie anywhere, and have the same logical places as pages to
//!    come. The new database has another salt, so none of their seals is valid. That salt follows
//!    from the old one, so the newest old root is erased last: after a power cut, one of the two is
//!    found.

use flysch_nand::Nand;

use super::anchor::{ANCHORS, Anchor, has_anchors};
use super::body::NUMBER_MAX;
use super::front::{CELLS_MAX, Cells, Front};
use super::root::{self, CANDIDATES, Seen};
use super::settle::write_root;
use super::stream::{Reader, StreamError};
use super::table::pages_ahead;
use super::{Body, Log, Made, choose_list};
use crate::media::{Media, MediaError, Use, Wear};

/// The newest root of an earlier database on the chip.
struct Earlier {
    root: Seen,
    salt: u32,
    /// The anchor that led to the root; None where none did.
    anchor: Option<u32>,
}

/// Number of root blocks of a new database.
const CELLS: u8 = 4;
const _: () = assert!(CELLS as usize + ANCHORS <= CELLS_MAX, "a list of blocks takes all of them");
const _: () = assert!(CELLS as usize * 2 <= CELLS_MAX, "a root names the blocks of a move as well");

/// How many epochs must be left. A root with fewer left is no real one.
const EPOCHS_AHEAD: u32 = 1 << 20;

/// Choose the root blocks, and write a root into each: `log` becomes that of an empty database.
/// Cost: some twenty reads to see what was
/// there; an erase for each candidate, one more for each root block, a checkpoint's pages and a
/// confirm page.
#[inline(never)]
pub(crate) fn format<'s, N: Nand>(
    media: &mut Media<'_, N>,
    salt: u32,
    made: Made<'s>,
    body: &Body<'_>,
    (log, frame): (&mut Log<'s>, &mut [u8]),
) -> Result<(), MediaError> {
    let earlier = find_earlier(media, frame)?;
    let kept = earlier.as_ref().map(|earlier| earlier.root.block);
    let kept_anchor = earlier.as_ref().and_then(|earlier| earlier.anchor);
    for block in kept.into_iter().chain(kept_anchor) {
        // It counts as a block of the log, which is free once no list names it.
        media.table.set(block, Use::Log);
    }
    let (cells, anchors) = choose_cells(media, [kept, kept_anchor])?;
    // Salts of databases are odd, those of roots' seals are not: so they differ.
    media.salt = earlier.as_ref().map_or(salt, |earlier| earlier.salt.wrapping_add(2)) | 1;
    let root = Seen { block: u32::from(cells.blocks[0]), epoch: 0, pages: 0, is_confirmed: false };
    let list = choose_list(media, 0, Wear::Least)?;
    *log = Log::NONE;
    (log.cells, log.moves.anchors, log.root) = (cells, anchors, root);
    log.epoch = earlier.map_or(0, |earlier| earlier.root.epoch);
    log.go_to(&list, 0);
    (log.ahead, log.record_pages) = (pages_ahead(media), 1);
    log.page = u32::from(log.ahead);
    (log.salt, log.identity, log.schema) = (media.salt, made.identity, made.schema);
    for &block in cells.as_slice().iter().rev() {
        if !write_root(log, media, body, u32::from(block), frame)? {
            return Err(MediaError::Full);
        }
    }
    let_go(media, kept_anchor)?;
    log.write_first_anchor(media, frame)?;
    let_go(media, kept)?;
    log.begin_block(media)?;
    log.check(media);
    debug_assert!(media.salt & 1 == 1, "the salt of a database differs from that of roots' seals");
    Ok(())
}

/// Erase and free a block of the database that was here before, if it was kept until now.
fn let_go<N: Nand>(media: &mut Media<'_, N>, kept: Option<u32>) -> Result<(), MediaError> {
    if let Some(block) = kept
        && media.erase(block)?
    {
        media.table.set(block, Use::Free);
    }
    Ok(())
}

impl Log<'_> {
    /// Write the first anchor, where root blocks are to move.
    fn write_first_anchor<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        let Some(anchors) = self.moves.anchors else { return Ok(()) };
        let (epoch, salt, cells) = (self.root.epoch, self.salt, self.cells);
        for block in anchors {
            if (Anchor { block, epoch, salt, anchors, cells }).write(media, frame)? {
                self.moves.used = Some((block, epoch));
                return Ok(());
            }
        }
        Err(MediaError::Full)
    }
}

/// Erase all candidates except those that are kept, and choose the root blocks and the anchors
/// among them.
fn choose_cells<N: Nand>(
    media: &mut Media<'_, N>,
    kept: [Option<u32>; 2],
) -> Result<(Cells, Option<[u16; ANCHORS]>), MediaError> {
    let mut good = Cells::NONE;
    for block in (0..CANDIDATES.min(media.table.len())).filter(|&b| !kept.contains(&Some(b))) {
        if media.erase(block)? && usize::from(good.len) < usize::from(CELLS) + ANCHORS {
            good.push(block as u16);
        }
    }
    let may_move =
        has_anchors(media.table.len()) && usize::from(good.len) >= usize::from(CELLS) + ANCHORS;
    let anchors = may_move.then(|| core::array::from_fn(|at| good.blocks[at]));
    let mut cells = Cells::NONE;
    for &block in good.as_slice().iter().skip(if may_move { ANCHORS } else { 0 }) {
        if cells.len < CELLS {
            cells.push(block);
        }
    }
    let is_both = |block: &u16| cells.has(*block);
    debug_assert!(!anchors.iter().flatten().any(is_both), "an anchor is no root block");
    for &block in cells.as_slice().iter().chain(anchors.iter().flatten()) {
        media.table.set(u32::from(block), Use::Root);
    }
    if cells.len < CELLS { Err(MediaError::Full) } else { Ok((cells, anchors)) }
}

/// The newest visible root; None where there is none.
fn find_earlier<N: Nand>(
    media: &mut Media<'_, N>,
    frame: &mut [u8],
) -> Result<Option<Earlier>, MediaError> {
    let mut newest: Option<Earlier> = None;
    for block in 0..CANDIDATES.min(media.table.len()) {
        newer_on(media, (block, None), &mut newest, frame)?;
        let anchor = match Anchor::look(media, block, frame) {
            Err(MediaError::Version(_)) => None,
            seen => seen?,
        };
        for &cell in anchor.map_or(Cells::NONE, |anchor| anchor.cells).as_slice() {
            newer_on(media, (u32::from(cell), anchor), &mut newest, frame)?;
        }
    }
    Ok(newest)
}

/// Take the root on a block as `newest`, if it is newer. A root whose epoch is close to the
/// greatest number is ignored: no device comes so far, so its content cannot be true.
fn newer_on<N: Nand>(
    media: &mut Media<'_, N>,
    (block, anchor): (u32, Option<Anchor>),
    newest: &mut Option<Earlier>,
    frame: &mut [u8],
) -> Result<(), MediaError> {
    let salt = anchor.map(|anchor| anchor.salt);
    let seen = match root::look(media, block, salt, frame) {
        Err(MediaError::Version(_)) => None,
        seen => seen?,
    };
    // Of two sightings of the same root, the one that an anchor led to is kept.
    let is_newer = |root: &Seen| newest.as_ref().is_none_or(|old| old.root.epoch <= root.epoch);
    let Some(root) = seen.filter(is_newer) else { return Ok(()) };
    if root.epoch > NUMBER_MAX - EPOCHS_AHEAD {
        return Ok(());
    }
    let opened = Reader::open(root::place(block, root.epoch), frame, media);
    match opened.and_then(|mut reader| Front::read(&mut reader, media)) {
        Ok(front) => {
            let anchor = anchor.map(|anchor| u32::from(anchor.block));
            *newest = Some(Earlier { root, salt: front.salt, anchor });
            Ok(())
        }
        Err(StreamError::Broken | StreamError::Gone(_)) => Ok(()),
        Err(StreamError::Media(error)) => Err(error),
    }
}
