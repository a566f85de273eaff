//! Before a mount: whether JFFS2 can live on a partition, and formatting one.

use super::erase::CLEANMARKER;
use super::{Jffs2, MountError};
use crate::mtd::Partition;

/// Programs of a block's first page: the cleanmarker when it is erased, data when it is filled.
const PROGRAMS_MIN: u32 = 2;

impl Jffs2 {
    /// Erase the partition and mark its blocks, as `flash_erase -j` does: one erase and one OOB
    /// program per good block.
    ///
    /// # Errors
    /// A chip that JFFS2 cannot live on, or power loss. Blocks that fail are marked bad.
    pub fn format(mtd: &Partition) -> Result<(), MountError> {
        check_suitable(mtd)?;
        let block_size = mtd.geometry().block_size();
        Ok(mtd.erase_all(|block| mtd.write_oob(block * block_size, &CLEANMARKER))?)
    }
}

/// Check that the chip takes cleanmarkers and that 32-bit offsets reach its end.
pub(super) fn check_suitable(mtd: &Partition) -> Result<(), MountError> {
    let geometry = mtd.geometry();
    let marker_size = CLEANMARKER.len();
    if geometry.partial_programs < PROGRAMS_MIN || (mtd.oob_free() as usize) < marker_size {
        return Err(MountError::NoCleanmarker);
    }
    let bytes = u64::from(mtd.block_count()) * u64::from(geometry.block_size());
    if bytes > u64::from(u32::MAX) { Err(MountError::TooLarge { bytes }) } else { Ok(()) }
}
