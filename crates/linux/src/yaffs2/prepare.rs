//! Before a mount: whether YAFFS2 can live on a partition, and formatting one.

use super::chunks::RESERVED_BLOCKS;
use super::format::TAGS_SIZE;
use super::{MountError, Yaffs2};
use crate::mtd::Partition;

/// Good blocks without which nothing can be written: the reserve, the checkpoint's, and two.
const BLOCKS_MIN: u32 = RESERVED_BLOCKS + 6;
const CHUNK_SIZE_MIN: u32 = 1024;

impl Yaffs2 {
    /// Erase the partition: one erase per good block.
    ///
    /// # Errors
    /// A chip that YAFFS2 cannot live on, or power loss. Blocks that fail are marked bad.
    pub fn format(mtd: &Partition) -> Result<(), MountError> {
        check_suitable(mtd)?;
        Ok(mtd.erase_all(|_| Ok(()))?)
    }
}

/// Check that the chip takes tags and that there is room to work.
pub(super) fn check_suitable(mtd: &Partition) -> Result<(), MountError> {
    let geometry = mtd.geometry();
    if geometry.page_size < CHUNK_SIZE_MIN || (mtd.oob_free() as usize) < TAGS_SIZE {
        return Err(MountError::NoTags);
    }
    let bytes = u64::from(mtd.block_count()) * u64::from(geometry.block_size());
    if bytes > u64::from(u32::MAX) {
        return Err(MountError::TooLarge { bytes });
    }
    let good = (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)).count();
    let blocks = u32::try_from(good).expect("counted below a 32-bit number");
    if blocks < BLOCKS_MIN { Err(MountError::TooSmall { blocks }) } else { Ok(()) }
}
