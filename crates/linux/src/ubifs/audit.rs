//! An audit of the space accounts: the LPT must say of each LEB what the nodes in the LEB say, and
//! the master node must have the sums of the LPT.

use super::Ubifs;
use super::fault::Fault;
use super::format::aligned;
use super::geometry::MASTER_LNUM;
use super::lprops::Sums;
use super::lpt::Lprops;
use super::scan::Scan;
use crate::filesystem::FsError;

impl Ubifs {
    /// Read all LEBs, and find one whose used bytes are not those of the nodes that the index
    /// refers to. The LEBs of the index are counted together, and the master nodes stand for the
    /// sums. Call it right after a mount, when the index in memory is that on flash.
    pub fn find_wrong_leb(&mut self) -> Result<Option<u32>, FsError> {
        let first = self.geometry.main_first;
        let mut index_used = 0;
        for lnum in first..first + self.geometry.main_lebs {
            let lprops = self.lprops(lnum)?;
            let used = self.geometry.leb_size - lprops.free - lprops.dirty;
            if lprops.index {
                index_used += u64::from(used);
            } else if self.count_used(lnum, lprops)? != Some(used) {
                return Ok(Some(lnum));
            }
        }
        if index_used != self.tnc.size_committed {
            return Ok(Some(self.index_head.0));
        }
        let counted = self.count_sums()?;
        // The sums come from the master node.
        Ok((counted != self.sums).then_some(MASTER_LNUM))
    }

    /// The sums over the main area, counted anew.
    fn count_sums(&mut self) -> Result<Sums, Fault> {
        let first = self.geometry.main_first;
        let known = std::mem::take(&mut self.sums);
        for lnum in first..first + self.geometry.main_lebs {
            let lprops = self.lprops(lnum)?;
            self.book(&lprops, true);
        }
        Ok(std::mem::replace(&mut self.sums, known))
    }

    /// Bytes of the nodes of a LEB that the index refers to. `None` if its free space is not free.
    fn count_used(&mut self, lnum: u32, lprops: Lprops) -> Result<Option<u32>, Fault> {
        if lprops.free == self.geometry.leb_size {
            return Ok(Some(0));
        }
        let scan = Scan::read(&mut self.ubi, lnum, 0)?;
        if scan.end > self.geometry.leb_size - lprops.free {
            return Ok(None);
        }
        let mut used = 0;
        for (key, place) in scan.leaves() {
            if self.find_place(key, place)?.is_some() {
                used += aligned(place.len);
            }
        }
        Ok(Some(used))
    }
}
