//! Before a mount: whether a chip suits YAFFS2, and formatting a partition.

use super::chunks::RESERVED_BLOCKS;
use super::format::TAGS_SIZE;
use super::{MountError, Yaffs2};
use crate::mtd::Partition;

/// Fewest good blocks with which anything can be written: those in reserve, those of a checkpoint,
/// and two more.
const BLOCKS_MIN: u32 = RESERVED_BLOCKS + 6;
const CHUNK_SIZE_MIN: u32 = 1024;
/// Fewest pages of a block (`chunks_per_block` in `yaffs_guts_initialise`).
const PAGES_MIN: u32 = 2;

impl Yaffs2 {
    /// Erase the partition, which costs one erase for each good block. A block whose erase fails is
    /// marked bad.
    pub fn format(mtd: &Partition) -> Result<(), MountError> {
        check_suitable(mtd)?;
        Ok(mtd.erase_all(|_| Ok(()))?)
    }
}

/// Check that the chip has room for tags and that the partition has enough blocks.
pub(super) fn check_suitable(mtd: &Partition) -> Result<(), MountError> {
    let geometry = mtd.geometry();
    if geometry.page_size < CHUNK_SIZE_MIN || (mtd.oob_free() as usize) < TAGS_SIZE {
        return Err(MountError::NoTags);
    }
    if geometry.pages_per_block < PAGES_MIN {
        return Err(MountError::OnePage);
    }
    let bytes = u64::from(mtd.block_count()) * u64::from(geometry.block_size());
    if bytes > u64::from(u32::MAX) {
        return Err(MountError::TooLarge { bytes });
    }
    let good = (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)).count();
    let blocks = u32::try_from(good).expect("counted below a 32-bit number");
    if blocks < BLOCKS_MIN { Err(MountError::TooSmall { blocks }) } else { Ok(()) }
}
