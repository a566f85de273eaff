//! Wear levelling and scrubbing. Both copy whole blocks. Levelling copies a block whose content
//! does not change, once other blocks are worn more. Scrubbing copies a block in which ECC
//! corrected bits, before there are too many to correct.
//!
//! 1. A copy changes no row and no entry, only the physical block in which they lie.
//! 2. A commit of one page copies at most one page. A longer transaction copies one for each four
//!    that it programmed.

use flysch_nand::Nand;

use super::commit::PROGRAMS_AT_ONCE;
use super::space::Claim;
use super::{Db, DbError};
use crate::log::PROGRAMS_MAX;
use crate::media::{Copied, MediaError, Use};

/// Erases after which the wear of all blocks is compared again.
const ERASES_BETWEEN: u32 = 8;
/// How much less than a free one a block must be worn to be copied, in the block table's units.
const WEAR_SPREAD: u8 = 7;
/// Dead sixteenths of a block that are worth a unit of wear: compaction may free the block, so that
/// nothing need be copied.
const DEAD_A_UNIT: u8 = 8;
/// Programmed pages for which one page is copied.
const PAGES_A_COPY: u64 = 4;
/// Greatest number of copies that may be postponed.
const OWED_MAX: u64 = 64;

/// The state of wear levelling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levelling {
    /// Erases of the device's life when wear was compared last.
    looked_at: u32,
    /// A block with a page that cannot be read: no copy of it is tried again.
    unfit: Option<u32>,
    /// Programmed pages for which none was copied yet.
    programmed: u64,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Copy pages in return for a transaction that programmed so many, its log record included.
    pub(super) fn level_for(&mut self, programmed: u64) -> Result<(), DbError> {
        let level = &mut self.levelling;
        level.programmed = (level.programmed + programmed).min(OWED_MAX * PAGES_A_COPY);
        // A call that commits a row programs as much as its documentation says. A copy begins with
        // an erase, of which such a call does one.
        let has_programmed = self.programs_of_call() >= PROGRAMS_MAX;
        let has_erased = self.has_erased() && !self.media.is_copying();
        if programmed <= PROGRAMS_AT_ONCE && (has_programmed || has_erased) {
            return Ok(());
        }
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

    /// Begin a copy of a block, or copy its next page; false where no block needs it. Cost: one
    /// erase, or one read and one program.
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
        debug_assert!(self.doubt.is_none(), "a copy was begun in this session");
        self.forget_frame();
        match self.media.copy_page(self.frame)? {
            Copied::Page | Copied::Nothing => {}
            Copied::Block => {
                debug_assert!(self.media.has_given_up(), "the old block waits for the record");
                self.is_log_due = true;
            }
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

    /// The block to copy: one in which bits were corrected, or one that is worn so much less than
    /// others that its content has not changed for long. None where no block needs it.
    fn choose_copy(&mut self) -> Option<u32> {
        // A copy takes a second block until a record lets the old one go.
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

    /// The block that is worn least, if the block to which it would be copied is worn much more.
    fn least_worn(&self) -> Option<u32> {
        let table = &self.media.table;
        let wear = |block: u32| table.wear(block) + table.dead(block) / DEAD_A_UNIT;
        let blocks = (0..table.len()).filter(|block| self.may_copy(*block));
        let block = blocks.min_by_key(|block| wear(*block))?;
        (wear(block) + WEAR_SPREAD <= table.greatest_free_wear()).then_some(block)
    }

    /// Whether a block may be copied: no head lies in it, and the next record does not let it go.
    fn may_copy(&self, block: u32) -> bool {
        let Use::Data(space, number) = self.media.table.at(block) else { return false };
        self.levelling.unfit != Some(block)
            && !self.media.is_head(space, number)
            && self.compaction.gone != Some((space, number))
    }
}
