//! Statistics: the space and the wear of a database, and what its programs were for.

use flysch_nand::Nand;

use super::Db;
use crate::media::{Counts, Use, Verify};

/// The blocks of a database, its wear, and its operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Blocks of the partition.
    pub blocks: u32,
    /// Free blocks: they are erased when they are taken.
    pub free_blocks: u32,
    /// Blocks that hold rows.
    pub row_blocks: u32,
    /// Blocks of index runs.
    pub run_blocks: u32,
    /// Blocks of the log and of roots.
    pub log_blocks: u32,
    /// Blocks that are marked as bad, by the factory or after a failure.
    pub bad_blocks: u32,
    /// Pages programmed in the device's life, without those of the last record of each session
    /// before this one: a record does not count itself.
    pub programs: u64,
    /// Erases of blocks in the device's life. Divided by the blocks that are not bad it is the mean
    /// wear. Blocks are taken in turn, so that all but the root blocks are near it.
    pub erases: u32,
    /// Commits in the device's life. After a cut one more is counted, and one for a transaction
    /// that was rolled back over pages it had programmed.
    pub commits: u32,
    /// Operations since the database was opened.
    pub counts: Counts,
    /// Blocks of rows that belong to ring tables.
    pub ring_blocks: u32,
    /// Blocks that ring tables gave back since the open, because the tables had enough without
    /// them.
    pub returned_blocks: u32,
    /// Blocks that ring tables gave back since the open, because space was short.
    pub pressed_blocks: u32,
    /// Merges since the open that made one run of all levels of an index. They drop the tombstones
    /// of deleted rows of which the index has no older entries.
    pub full_merges: u32,
    /// A block in which ECC corrected bits, or could not; None where no read found one.
    pub worn_block: Option<u32>,
}

impl<N: Nand> Db<'_, '_, N> {
    /// Space, wear and operations. Cost: no flash is touched; the block table is gone through.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            blocks: self.media.partition().count,
            programs: self.media.write,
            erases: self.media.erases,
            commits: self.commit - 1,
            counts: self.media.counts,
            returned_blocks: self.rings.returned,
            pressed_blocks: self.rings.pressed,
            full_merges: self.store.full_merges(),
            worn_block: self.media.worn(),
            ..Stats::default()
        };
        for block in 0..stats.blocks {
            let used = self.media.table.at(block);
            stats.ring_blocks += u32::from(matches!(used, Use::Data(space, _) if space.is_ring()));
            let count = match used {
                Use::Free => &mut stats.free_blocks,
                Use::Bad => &mut stats.bad_blocks,
                Use::Root | Use::Log => &mut stats.log_blocks,
                Use::Data(space, _) if space.holds_rows() => &mut stats.row_blocks,
                Use::Data(..) => &mut stats.run_blocks,
            };
            *count += 1;
        }
        debug_assert!(
            stats.free_blocks == self.media.table.free_count(),
            "free blocks are counted"
        );
        stats
    }

    /// Copy a block when a read of it had at least so many bits corrected (scrubbing). At the open
    /// it is 1. Parts whose ECC corrects more bits can take half of what it corrects.
    pub const fn set_scrub(&mut self, bits: u16) {
        self.media.scrub_from = bits;
    }

    /// Read back each page that is programmed from now on. The roots that [`Db::create`] writes are
    /// not read back.
    pub const fn set_verify(&mut self, verify: Verify) {
        self.media.verify = verify;
    }
}
