//! Wear levelling and scrubbing: blocks that rest are copied where others are worn more, and blocks
//! in which bits were corrected before there are too many.
//!
//! 1. A copy changes no row and no entry, only the block that both lie in.
//! 2. A commit of one page copies a page at most; longer transactions one for four that they
//!    programmed.

use flysch_nand::Nand;

use super::space::Claim;
use super::{Db, DbError};
use crate::media::{Copied, MediaError, Use};

/// Erases after which wear is looked at again.
const ERASES_BETWEEN: u32 = 8;
/// How much less a block is worn than another one before it is copied for that.
const WEAR_SPREAD: u8 = 10;
/// Pages that are programmed for each page that is copied.
const PAGES_A_COPY: u64 = 4;
/// Copies that may be owed.
const OWED_MAX: u64 = 64;

/// What levelling is at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levelling {
    /// Erases of the device's life when wear was last looked at.
    looked_at: u32,
    /// A block of which a page cannot be read: it is not copied again.
    unfit: Option<u32>,
    /// Pages that were programmed, and not followed by a copied one.
    programmed: u64,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Pay for a transaction that programmed so many pages, its record among them.
    pub(super) fn level_for(&mut self, programmed: u64) -> Result<(), DbError> {
        let level = &mut self.levelling;
        level.programmed = (level.programmed + programmed).min(OWED_MAX * PAGES_A_COPY);
        let most = if programmed <= 1 { 1 } else { programmed / PAGES_A_COPY };
        for _ in 0..most {
            if self.levelling.programmed < PAGES_A_COPY {
                break;
            }
            self.levelling.programmed -= PAGES_A_COPY;
            if !self.copy_step()? {
                break;
            }
        }
        Ok(())
    }

    /// Begin a copy, or copy the next page; false where there is nothing to copy. Cost: one erase,
    /// or one read and one program.
    pub(super) fn copy_step(&mut self) -> Result<bool, DbError> {
        debug_assert!(self.under_way.is_none(), "blocks are copied between transactions");
        if !self.media.is_copying() {
            let Some(block) = self.choose_copy() else { return Ok(false) };
            self.settle()?;
            return match self.media.begin_copy(block) {
                Ok(()) => Ok(true),
                Err(MediaError::Full) => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
        self.forget_frame();
        match self.media.copy_page(self.frame)? {
            Copied::Page | Copied::Nothing => {}
            Copied::Block => self.is_log_due = true,
            Copied::Unreadable(page) => {
                if page.space.holds_rows() && self.is_void(page)? {
                    self.media.pass_page();
                } else {
                    let block = self.media.numbers().block_of(page.number);
                    self.levelling.unfit = self.media.table.find(page.space, block);
                    self.media.drop_copy();
                }
            }
        }
        Ok(true)
    }

    /// The block that is to be copied: one in which bits were corrected, or one that is worn less
    /// than others by so much that what lies in it has not changed for long.
    fn choose_copy(&mut self) -> Option<u32> {
        // A copy takes a block until the record that lets the old one go.
        if self.check_space(Claim::Shrink).is_err() || self.media.has_given_up() {
            return None;
        }
        if let Some(block) = self.media.worn() {
            match self.media.table.at(block) {
                Use::Data(..) if self.may_copy(block) => return Some(block),
                Use::Data(..) if self.levelling.unfit != Some(block) => {}
                Use::Data(..) | Use::Free | Use::Bad | Use::Root | Use::Log => {
                    self.media.note_scrubbed(block);
                }
            }
        }
        let erases = self.media.erases;
        let is_time = erases.wrapping_sub(self.levelling.looked_at) >= ERASES_BETWEEN;
        if !is_time || self.media.free_count() < self.wanted_free() {
            return None;
        }
        self.levelling.looked_at = erases;
        self.least_worn()
    }

    fn least_worn(&self) -> Option<u32> {
        let table = &self.media.table;
        let counts = |block: &u32| !matches!(table.at(*block), Use::Bad | Use::Root);
        let most = (0..table.len()).filter(counts).map(|block| table.wear(block)).max()?;
        let least = (0..table.len()).filter(|block| self.may_copy(*block));
        let block = least.min_by_key(|block| table.wear(*block))?;
        (table.wear(block) + WEAR_SPREAD <= most).then_some(block)
    }

    /// Whether a block is whole: no head lies in it, and no record lets it go already.
    fn may_copy(&self, block: u32) -> bool {
        let Use::Data(space, number) = self.media.table.at(block) else { return false };
        self.levelling.unfit != Some(block)
            && !self.media.is_head(space, number)
            && self.compaction.gone != Some((space, number))
    }
}
