//! Whether a device has fastmaps after an attach: it has if one was found, or if the options ask
//! for it.

use super::super::attach::Claim;
use super::super::format::FASTMAP_VOLUME;
use super::super::wear::State;
use super::super::{Ubi, UbiError};
use super::format::ANCHORS_END;
use super::{Fastmap, block_count};

impl Ubi {
    /// Write fastmaps from here on, if the device is large enough and a fastmap can describe all of
    /// it.
    pub(in crate::ubi) fn start_fastmap(&mut self) {
        let is_static = self.volumes.iter().any(|(_, volume)| volume.is_static);
        if self.fastmap.is_none() && !is_static && self.unlisted().is_empty() {
            self.fastmap = Fastmap::new(self.mtd.block_count(), self.layout);
        }
    }

    /// Good PEBs for which a fastmap has no list. They are kept because their data is damaged.
    pub(super) fn unlisted(&self) -> Vec<u32> {
        let kept = self.wear.pebs_in(State::Out).filter(|&peb| !self.mtd.is_bad(peb));
        kept.filter(|peb| !self.map.values().any(|holder| holder == peb)).collect()
    }

    /// Number of PEBs that no volume gets, so that a fastmap can be written while another is
    /// current.
    pub(in crate::ubi) fn reserve_for_fastmaps(&self, is_wanted: bool) -> u32 {
        let peb_count = self.mtd.block_count();
        let is_wanted = is_wanted && peb_count > ANCHORS_END;
        if is_wanted { 2 * block_count(peb_count, self.leb_size()) } else { 0 }
    }

    /// Take over the PEBs of the current fastmap, and erase those of the others that a scan has
    /// `found`. Anchors are erased at once and the oldest first, because an older one must not be
    /// left when a newer one is gone.
    pub(in crate::ubi) fn adopt_fastmaps(&mut self, found: Vec<Claim>) -> Result<(), UbiError> {
        for &peb in self.fastmap.iter().flat_map(|fastmap| &fastmap.blocks) {
            self.wear.set_state(peb, State::Away);
        }
        let (mut anchors, data): (Vec<Claim>, Vec<Claim>) =
            found.into_iter().partition(|claim| claim.vid.volume == FASTMAP_VOLUME);
        anchors.sort_by_key(|claim| claim.vid.sequence);
        for anchor in anchors {
            self.schedule_erase(anchor.peb, false);
            self.erase_one()?;
        }
        for claim in data {
            self.schedule_erase(claim.peb, false);
        }
        Ok(())
    }
}
