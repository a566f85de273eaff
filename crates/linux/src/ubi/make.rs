//! Formatting: all blocks are erased, and a volume table is written.

use flysch_chip::Recorder;

use super::format::{LAYOUT_VOLUME, VolumeRecord, emit_table};
use super::wear::State;
use super::{AttachError, OVERHEAD_PEBS, Ubi, reserve_for_bad};
use crate::mtd::Partition;

impl Ubi {
    /// Erase the partition and make a device with one volume, named `name`, that takes all its
    /// space. `erase_counts` has the erases of each block before. `fastmap` says that fastmaps will
    /// be written, so that room for two is kept.
    ///
    /// # Errors
    /// The partition is too small, or the device failed.
    ///
    /// # Panics
    /// If the name is longer than 127 bytes.
    pub fn format(
        mtd: &Partition,
        recorder: &Recorder,
        name: &str,
        erase_counts: &[u32],
        fastmap: bool,
    ) -> Result<(), AttachError> {
        let _scope = recorder.scope("ubi_format");
        let mut ubi = Self::bare(mtd.clone(), recorder.clone(), super::WEAR_THRESHOLD)?;
        for peb in (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)) {
            ubi.wear.set_state(peb, State::Away);
            let known = erase_counts.get(peb as usize);
            ubi.wear.set_count(peb, known.map_or(0, |&count| count.into()));
            match ubi.erase_and_count(peb, false) {
                Ok(()) => ubi.wear.set_state(peb, State::Free),
                Err(super::UbiError::PowerLost) => return Err(AttachError::PowerLost),
                Err(super::UbiError::Io) => {
                    ubi.wear.set_state(peb, State::Out);
                    mtd.mark_bad(peb)?;
                }
            }
        }
        let good = u32::try_from(ubi.wear.free_count()).expect("below the block count");
        let reserved = OVERHEAD_PEBS + reserve_for_bad(mtd) + ubi.reserve_for_fastmaps(fastmap);
        let leb_count = good.checked_sub(reserved);
        let leb_count = leb_count.filter(|&count| count > 0);
        let leb_count = leb_count.ok_or(AttachError::TooSmall { blocks: good })?;
        let volume = VolumeRecord {
            leb_count,
            data_pad: 0,
            is_static: false,
            name: name.as_bytes().to_vec(),
        };
        let table = emit_table(&[volume], ubi.leb_size());
        for lnum in 0..2 {
            ubi.change_in(LAYOUT_VOLUME, lnum, &table)?;
        }
        Ok(())
    }
}
