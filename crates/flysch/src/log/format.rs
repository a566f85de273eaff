//! Formatting: root blocks are chosen among the first blocks, and each gets a root.
//!
//! 1. Whatever lay in the candidates is erased: no root of an earlier database may be found there.
//! 2. Every root block gets a root, so that a mount that sees none in one knows that an attempt may
//!    be there.
//! 3. Pages of an earlier database may lie anywhere, and bear the same names as those to come. The
//!    new one has another salt, so that none of their seals is right. The salt follows from the old
//!    one, so the newest old root is erased last: a format that is cut finds one of the two.

use flysch_nand::Nand;

use super::body::NUMBER_MAX;
use super::root::{self, CANDIDATES, CELLS_MAX, Cells, Front, Seen};
use super::settle::write_root;
use super::stream::{Reader, StreamError};
use super::table::pages_ahead;
use super::{Body, Log, Next, choose_list};
use crate::media::{Media, MediaError, Use};

/// The newest root of an earlier database.
struct Earlier {
    root: Seen,
    salt: u32,
}

/// Epochs that a database must have before it.
const EPOCHS_AHEAD: u32 = 1 << 20;

/// Choose root blocks, and write a root into each. Cost: some twenty reads to see what was there;
/// an erase for each candidate, one more for each root block, a checkpoint's pages and a confirm
/// page.
#[inline(never)]
pub(crate) fn format<N: Nand>(
    media: &mut Media<'_, N>,
    (salt, schema): (u32, u32),
    body: &Body<'_>,
    frame: &mut [u8],
) -> Result<Log, MediaError> {
    let earlier = find_earlier(media, frame)?;
    let kept = earlier.as_ref().map(|earlier| earlier.root.block);
    if let Some(block) = kept {
        // As one of the log's, which is free where no list names it.
        media.table.set(block, Use::Log);
    }
    let cells = choose_cells(media, kept)?;
    // Salts are odd, so that none is that of the roots.
    media.salt = earlier.as_ref().map_or(salt, |earlier| earlier.salt.wrapping_add(2)) | 1;
    let root = Seen { block: u32::from(cells.blocks[0]), epoch: 0, pages: 0, is_confirmed: false };
    let list = choose_list(media, 0)?;
    let mut log = Log {
        cells,
        root,
        epoch: earlier.map_or(0, |earlier| earlier.root.epoch),
        root_page: 0,
        root_has_base: false,
        root_next: None,
        list,
        live: list,
        at: 0,
        page: 0,
        ahead: pages_ahead(media),
        record_pages: 1,
        number: 0,
        chain: 0,
        logged: 0,
        is_fresh: true,
        next: Next::NONE,
        salt: media.salt,
        schema,
    };
    for &block in cells.as_slice().iter().rev() {
        if !write_root(&mut log, media, body, u32::from(block), frame)? {
            return Err(MediaError::Full);
        }
    }
    if let Some(block) = kept
        && media.erase(block)?
    {
        media.table.set(block, Use::Free);
    }
    log.begin_block(media)?;
    Ok(log)
}

/// Erase the candidates but `kept`, and choose the root blocks among them.
fn choose_cells<N: Nand>(media: &mut Media<'_, N>, kept: Option<u32>) -> Result<Cells, MediaError> {
    let wanted = if media.table.len() >= 512 { CELLS_MAX } else { 4 };
    let mut cells = Cells { blocks: [0; CELLS_MAX], len: 0 };
    for block in (0..CANDIDATES.min(media.table.len())).filter(|&block| kept != Some(block)) {
        if media.erase(block)? && usize::from(cells.len) < wanted {
            cells.blocks[usize::from(cells.len)] = block as u16;
            cells.len += 1;
            media.table.set(block, Use::Root);
        }
    }
    if cells.len < 4 { Err(MediaError::Full) } else { Ok(cells) }
}

/// The newest root that is visible. One whose epochs are nearly used up is no root: it lies.
fn find_earlier<N: Nand>(
    media: &mut Media<'_, N>,
    frame: &mut [u8],
) -> Result<Option<Earlier>, MediaError> {
    let mut newest: Option<Earlier> = None;
    for block in 0..CANDIDATES.min(media.table.len()) {
        let seen = match root::look(media, block, frame) {
            Err(MediaError::Version(_)) => None,
            seen => seen?,
        };
        let is_newer = |root: &Seen| newest.as_ref().is_none_or(|old| old.root.epoch < root.epoch);
        let Some(root) = seen.filter(is_newer) else { continue };
        if root.epoch > NUMBER_MAX - EPOCHS_AHEAD {
            continue;
        }
        let opened = Reader::open(root::place(block, root.epoch), frame, media);
        match opened.and_then(|mut reader| Front::read(&mut reader, media)) {
            Ok(front) => newest = Some(Earlier { root, salt: front.salt }),
            Err(StreamError::Broken | StreamError::Gone(_)) => {}
            Err(StreamError::Media(error)) => return Err(error),
        }
    }
    Ok(newest)
}
