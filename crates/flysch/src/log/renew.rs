//! A new root, in the middle of a session: where the one in force has no page left for a name.
//!
//! It takes several operations, one at a commit: the erase of a block, the checkpoint, and the
//! confirm page. The root before stays in force until the last of them is done. Where a root block
//! failed, others are named first.

use flysch_nand::Nand;

use super::Log;
use super::root::{self, Seen};
use crate::media::{Media, MediaError};

impl Log<'_> {
    /// Do one operation towards a new root: those of [`Log::replace_failed`], the erase, the
    /// checkpoint, or the confirm page.
    pub(super) fn renew_root<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        debug_assert!(!self.root_has_base, "no record needs the state in the root that goes");
        let Some(erased) = self.root_next else {
            if self.replace_failed(media, frame)? {
                return Ok(());
            }
            for block in self.root_blocks().map(u32::from) {
                if media.erase_root(block)? {
                    self.epoch += 1;
                    let epoch = self.epoch;
                    self.root_next = Some(Seen { block, epoch, pages: 0, is_confirmed: false });
                    return Ok(());
                }
                self.moves.has_failed = true;
            }
            return Err(MediaError::Full);
        };
        self.root_next = None;
        if erased.pages > 0 {
            return self.confirm_next(media, &erased, frame);
        }
        let front = self.front(media, self.live, erased.block, false);
        let place = (erased.block, erased.epoch);
        match root::write(media, place, (&front, self.schema), None, frame) {
            Ok(root) => {
                self.root_next = Some(root);
                Ok(())
            }
            Err(MediaError::ProgramFailed(_)) => self.mark_root(media, erased.block),
            Err(error) => Err(error),
        }
    }

    /// Mark a root block in which a program failed, and have others named. Cost: none.
    fn mark_root<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        block: u32,
    ) -> Result<(), MediaError> {
        self.moves.has_failed = true;
        media.mark_bad(block)
    }

    /// Confirm the new root, which is in force from then on.
    fn confirm_next<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        root: &Seen,
        frame: &mut [u8],
    ) -> Result<(), MediaError> {
        match root::confirm(media, root, frame) {
            Ok(()) => {
                debug_assert!(root.epoch > self.root.epoch, "roots ascend");
                self.retire_failed(media)?;
                self.root = Seen { is_confirmed: true, ..*root };
                self.root_page = root.pages + 1;
                self.adopt_root(media, root.block);
                Ok(())
            }
            Err(MediaError::ProgramFailed(_)) => self.mark_root(media, root.block),
            Err(error) => Err(error),
        }
    }

    /// Mark the block of the root that is replaced, if a name page failed in it. Cost: none.
    pub(super) fn retire_failed<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
    ) -> Result<(), MediaError> {
        self.failed_root.take().map_or(Ok(()), |block| self.mark_root(media, block))
    }
}
