//! The lists that name the blocks of the log in their order.

use flysch_nand::Nand;

use super::front::{LIST_MAX, List};
use crate::media::{Media, MediaError, Wear};

/// Number of log blocks in a list, by the size of the device, so that root blocks do not wear out
/// before the others.
///
/// A root block takes some 60 names; with `n` root blocks each is erased once in `60 n` lists, and
/// the mean block once in `blocks` log blocks.
pub(crate) fn list_len(blocks: u32) -> u8 {
    (blocks / 128).clamp(1, LIST_MAX as u32) as u8
}

/// Choose free blocks for a list. They are not erased yet.
pub(super) fn choose_list<N: Nand>(
    media: &mut Media<'_, N>,
    ordinal: u32,
    wanted: Wear,
) -> Result<List, MediaError> {
    let count = list_len(media.partition().count);
    let mut list = List { ordinal, ..List::NONE };
    while list.len < count {
        match media.choose(wanted) {
            Ok(block) => list.blocks[usize::from(list.len)] = block as u16,
            Err(MediaError::Full) if list.len > 0 => break,
            Err(error) => return Err(error),
        }
        list.len += 1;
    }
    Ok(list)
}

/// Free the blocks of a list.
pub(super) fn release<N: Nand>(media: &mut Media<'_, N>, list: &List) {
    for &block in list.as_slice() {
        media.release_log(u32::from(block));
    }
}
