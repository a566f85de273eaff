//! Before a mount: whether a chip suits JFFS2, and formatting a partition.

use super::erase::CLEANMARKER;
use super::{Jffs2, MountError};
use crate::mtd::Partition;

/// How often a block's first page is programmed: with the cleanmarker when the block is erased, and
/// with data when it is filled.
const PROGRAMS_MIN: u32 = 2;

impl Jffs2 {
    /// Erase the partition and mark its blocks, as `flash_erase -j` does. Each good block costs one
    /// erase and one OOB program. A block in which either fails is marked bad.
    pub fn format(mtd: &Partition) -> Result<(), MountError> {
        check_suitable(mtd)?;
        let block_size = mtd.geometry().block_size();
        Ok(mtd.erase_all(|block| mtd.write_oob(block * block_size, &CLEANMARKER))?)
    }
}

/// Check that the chip has room for cleanmarkers and that 32-bit offsets reach the partition's end.
pub(super) fn check_suitable(mtd: &Partition) -> Result<(), MountError> {
    let geometry = mtd.geometry();
    let marker_size = CLEANMARKER.len();
    if geometry.partial_programs < PROGRAMS_MIN || (mtd.oob_free() as usize) < marker_size {
        return Err(MountError::NoCleanmarker);
    }
    let bytes = u64::from(mtd.block_count()) * u64::from(geometry.block_size());
    if bytes > u64::from(u32::MAX) { Err(MountError::TooLarge { bytes }) } else { Ok(()) }
}
