//! After a failed program: the LEB moves to another PEB, together with the data that was to be
//! written.

use super::format::crc32;
use super::work::written_len;
use super::{Ubi, UbiError};
use crate::mtd::ReadQuality;

impl Ubi {
    /// Move LEB `lnum` away from `peb`, on which writing `bytes` at `offset` failed.
    pub(super) fn recover(
        &mut self,
        lnum: u32,
        peb: u32,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), UbiError> {
        let _scope = self.recorder.scope("ubi_recover");
        let mut data = vec![0xFF; self.leb_size() as usize];
        let kept = &mut data[..offset as usize];
        let quality = self.mtd.read(self.place(peb, self.layout.data_offset), kept)?;
        if matches!(quality, ReadQuality::Damaged(_)) {
            return Err(UbiError::Io);
        }
        let end = offset as usize + bytes.len();
        data[offset as usize..end].copy_from_slice(bytes);
        let len = written_len(&data[..end], self.layout.page_size as usize);
        let data = &data[..len];
        // A copy whose checksum is wrong is not believed. Without it, a cut in here, or a program
        // that fails again, would leave a newer block without the data that was durable.
        let size = u32::try_from(len).expect("within a LEB");
        self.map_to(self.volume, lnum, Some((size, crc32(data))), data)?;
        self.schedule_erase(peb, true);
        Ok(())
    }
}
