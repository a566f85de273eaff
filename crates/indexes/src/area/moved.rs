//! Copies the pages of a block whose next page cannot be programmed.

use flysch_nand::{BlockAddr, Nand, PageAddr};

use crate::flash::{Flash, FlashError, Tag};

/// Which pages of a block are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// How many of its first pages are copied.
    pub(super) pages: u32,
    /// A page that is only copied in part, because a program of its later sectors failed: its
    /// number, and how many bytes are copied.
    pub(super) torn: Option<(u32, u32)>,
}

/// Copy pages of the first block to the second. Pages that cannot be read are not copied; their
/// readers will find them missing.
pub(super) fn copy_pages<N: Nand>(
    flash: &mut Flash<'_, N>,
    (from, to): (BlockAddr, BlockAddr),
    kept: Kept,
    spare: &mut [u8],
) -> Result<(), FlashError> {
    let geometry = *flash.geometry();
    for page in 0..kept.pages {
        let torn = kept.torn.filter(|&(torn, _)| torn == page);
        let size = torn.map_or(geometry.page_size, |(_, bytes)| bytes);
        if size == 0 {
            continue;
        }
        let source = PageAddr(geometry.first_page(from).0 + page);
        let target = PageAddr(geometry.first_page(to).0 + page);
        if let Some(tag) = flash.tag(source)? {
            let tag = Tag { copy: tag.copy.wrapping_add(1), ..tag };
            copy_page(flash, (source, target), (tag, size), spare)?;
        }
    }
    Ok(())
}

fn copy_page<N: Nand>(
    flash: &mut Flash<'_, N>,
    (from, to): (PageAddr, PageAddr),
    (tag, size): (Tag, u32),
    spare: &mut [u8],
) -> Result<(), FlashError> {
    let chunk = spare.len().min(flash.geometry().page_size as usize);
    let spare = &mut spare[..chunk];
    for column in (0..size).step_by(chunk) {
        match flash.read(from, column, spare) {
            Ok(()) if column == 0 => flash.program(to, spare, tag)?,
            Ok(()) if is_erased(spare) => {}
            Ok(()) => flash.program_part(to, column, spare)?,
            Err(FlashError::Uncorrectable(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0xFF)
}
