//! Formatting: root blocks are chosen among the first blocks, and each gets a root.
//!
//! 1. Whatever lay in the candidates is erased: no root of an earlier database may be found there.
//! 2. Every root block gets a root, so that a mount that sees none in one knows that an attempt may
//!    be there.

use flysch_nand::Nand;

use super::mount::write_root;
use super::root::{CANDIDATES, CELLS_MAX, Cells, List, Seen};
use super::{Body, Log, Next, choose_list};
use crate::media::{Media, MediaError, Use};

/// Choose root blocks, and write a root into each. Cost: for each root block two erases, a
/// checkpoint's pages and a confirm page.
pub(crate) fn format<N: Nand>(
    media: &mut Media<'_, N>,
    (salt, schema): (u32, u32),
    body: &Body<'_>,
    frame: &mut [u8],
) -> Result<Log, MediaError> {
    let wanted = if media.table.len() >= 512 { CELLS_MAX } else { 4 };
    let mut cells = Cells { blocks: [0; CELLS_MAX], len: 0 };
    for block in 0..CANDIDATES.min(media.table.len()) {
        // Every candidate is erased: no root of an earlier database may be found there.
        if media.erase(block)? && usize::from(cells.len) < wanted {
            cells.blocks[usize::from(cells.len)] = block as u16;
            cells.len += 1;
            media.table.set(block, Use::Root);
        }
    }
    if cells.len < 4 {
        return Err(MediaError::Full);
    }
    media.salt = salt;
    let root = Seen { block: u32::from(cells.blocks[0]), epoch: 0, pages: 0, is_confirmed: false };
    let mut log = Log {
        cells,
        root,
        epoch: 0,
        root_page: 0,
        root_has_base: false,
        root_next: None,
        list: List::NONE,
        live: List::NONE,
        at: 0,
        page: 0,
        number: 0,
        chain: 0,
        logged: 0,
        is_fresh: true,
        next: Next::NONE,
        salt,
        schema,
    };
    log.list = choose_list(media, 0)?;
    log.live = log.list;
    let cells = log.cells;
    for &block in cells.as_slice().iter().rev() {
        if !write_root(&mut log, media, body, u32::from(block), frame)? {
            return Err(MediaError::Full);
        }
    }
    log.begin_block(media)?;
    Ok(log)
}
