//! What happens when no fastmap can be written: none of those on flash may be used any more,
//! whenever power is cut.

use super::super::{Ubi, UbiError};
use super::format::ANCHORS_END;
use crate::mtd::MtdError;

impl Ubi {
    /// Stop writing fastmaps. A new anchor without a fastmap behind it takes the place of the
    /// current one, so that the next attach scans all PEBs. If no free PEB can take it, the current
    /// anchor is erased at once.
    pub(in crate::ubi) fn abandon_fastmap(&mut self) -> Result<(), UbiError> {
        if let Some(fake) = self.write_fake_anchor()? {
            return self.abandon_behind(fake);
        }
        while self.erase_one()? {}
        let anchor = self.fastmap.as_ref().and_then(|fastmap| fastmap.blocks.first().copied());
        if let Some(anchor) = anchor {
            return self.abandon_behind(anchor);
        }
        self.release();
        Ok(())
    }

    /// Stop writing fastmaps, given that `anchor` is the newest and that no attach accepts it. The
    /// older ones are erased first, so that none of them is ever the newest.
    pub(super) fn abandon_behind(&mut self, anchor: u32) -> Result<(), UbiError> {
        for peb in self.release().into_iter().filter(|&peb| peb != anchor) {
            self.schedule_erase(peb, true);
        }
        self.schedule_erase(anchor, true);
        while self.erase_one()? {}
        Ok(())
    }

    /// Write the header of an anchor to a free PEB. `None` if none of them can take it.
    fn write_fake_anchor(&mut self) -> Result<Option<u32>, UbiError> {
        if let Some(mut fastmap) = self.fastmap.take() {
            self.empty_pools(&mut fastmap);
            self.fastmap = Some(fastmap);
        }
        while let Some(peb) = self.withdraw(self.wear.free_below(ANCHORS_END)) {
            match self.write_fastmap_header(peb, 0) {
                Ok(()) => return Ok(Some(peb)),
                Err(MtdError::PowerLost) => return Err(UbiError::PowerLost),
                Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => {
                    self.schedule_erase(peb, true);
                }
            }
        }
        Ok(None)
    }

    /// Give up the current fastmap. Its PEBs are returned, and those of its pools become free.
    fn release(&mut self) -> Vec<u32> {
        let Some(mut fastmap) = self.fastmap.take() else { return Vec::new() };
        self.empty_pools(&mut fastmap);
        fastmap.blocks
    }
}
