//! Was a root lost, one that was confirmed and newer than the newest visible one?
//!
//! A root that an interrupted mount began is not whole, and giving way to an older one is right. A
//! root that was confirmed and cannot be read any more is another matter: what was committed since
//! would be gone in silence. Two things tell that one was there:
//! 1. a name page of a later epoch, on a block whose checkpoint cannot be read: names are
//!    programmed behind a confirmed root only;
//! 2. a record in the very log block that this mount would take next. What a mount takes follows
//!    from the state that it finds, and its log begins when its root is certain.

use flysch_nand::Nand;

use super::front::{Front, LIST_MAX};
use super::list::choose_list;
use super::root::{self, Seen};
use super::sight::Sights;
use super::table::pages_ahead;
use super::{Log, name_of};
use crate::media::{Kind, Media, MediaError, Sight, Wear};

/// Whether a root block without a visible root has a name page of a later epoch than the newest
/// visible root. Cost: one read for each page of a block without a root, up to the first one that
/// is blank or of an older root.
#[inline(never)]
pub(super) fn has_newer_name<N: Nand>(
    media: &mut Media<'_, N>,
    (front, sights): (&Front, &Sights),
    newest: &Seen,
    frame: &mut [u8],
) -> Result<bool, MediaError> {
    let last = first_name_max(media, front.described);
    let blank = sights.iter().filter(|(_, seen)| seen.is_none());
    for (block, _) in blank.filter(|(block, _)| front.cells.has(*block)) {
        // The first page is that of a checkpoint, and shows none.
        for page in 1..=last {
            match media.look(u32::from(block), page, root::NAME, frame)? {
                // No name goes behind one that failed, so nothing lies behind a blank page.
                Sight::Blank => break,
                // All pages of a block have the epoch of its root.
                Sight::Page(header) if header.commit <= newest.epoch => break,
                Sight::Page(header) if header.kind == Kind::Name => return Ok(true),
                Sight::Page(_) | Sight::Unreadable => {}
            }
        }
    }
    Ok(false)
}

/// The greatest number of the first name page of a root. Name pages begin behind the checkpoint and
/// its confirm page.
pub(super) fn first_name_max<N: Nand>(media: &Media<'_, N>, described: Option<u16>) -> u32 {
    (root::pages_max(media, described.unwrap_or(0)) + 1).min(media.geometry().pages_per_block - 1)
}

impl Log<'_> {
    /// The ordinal of the first block of the list that a mount takes. No mount used a log block of
    /// this or a later ordinal before.
    pub(super) fn ordinal_of_mount(&self) -> u32 {
        let named = self.next.list.map_or(0, |list| list.ordinal);
        self.next.ordinal.max(named).max(self.list.ordinal) + 2 * LIST_MAX as u32
    }

    /// Whether a mount already took its list from this very state. Cost: one read, three where the
    /// list's first block is bad.
    pub(super) fn is_succeeded<N: Nand>(
        &self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<bool, MediaError> {
        let next = media.next;
        let free = media.free_count();
        let list = match choose_list(media, self.ordinal_of_mount(), Wear::Any) {
            Ok(list) => list,
            Err(MediaError::Full) => return Ok(false),
            Err(error) => return Err(error),
        };
        media.next = next;
        let mut is_taken = false;
        for (at, &block) in (0..).zip(list.as_slice()) {
            media.release_log(u32::from(block));
            let is_in_turn = at == 0 || at == 1 && media.is_bad(u32::from(list.blocks[0]))?;
            if is_in_turn && !is_taken {
                let first = u32::from(pages_ahead(media));
                let name = name_of(list.ordinal + at);
                let sight = media.look(u32::from(block), first, name, frame)?;
                is_taken = matches!(sight, Sight::Page(header) if header.kind == Kind::Record);
            }
        }
        debug_assert!(media.free_count() == free, "what was tried is free again");
        Ok(is_taken)
    }
}
