//! Checking the mappings of a fastmap before they are used. Unmapping a LEB does not change the
//! fastmap on flash, so the PEB that it names may have been erased since.

use super::super::format::{Found, HEADER_SIZE, VidHeader};
use super::super::{Ubi, UbiError};

impl Ubi {
    /// Check once that the PEB which a fastmap names for a LEB holds it, by its VID header. This
    /// costs one page read. If the PEB has no VID header, the LEB is not mapped.
    ///
    /// # Errors
    /// Power loss, or the PEB holds another LEB, so that the fastmap is wrong.
    pub(in crate::ubi) fn check_mapping(&mut self, key: (u32, u32)) -> Result<(), UbiError> {
        if !self.unchecked.remove(&key) {
            return Ok(());
        }
        let Some(&peb) = self.map.get(&key) else { return Ok(()) };
        let mut bytes = [0; HEADER_SIZE];
        self.mtd.read(self.place(peb, self.layout.vid_offset), &mut bytes)?;
        match VidHeader::parse(&bytes) {
            Found::Valid(vid) if (vid.volume, vid.lnum) == key => Ok(()),
            Found::Valid(_) => Err(UbiError::Io),
            Found::Blank | Found::Corrupt => {
                self.map.remove(&key);
                self.schedule_erase(peb, false);
                Ok(())
            }
        }
    }

    /// Check the mapping of the LEB in `peb`, if that has not been done. Returns false if the LEB
    /// turns out not to be mapped.
    pub(in crate::ubi) fn check_holder(&mut self, peb: u32) -> Result<bool, UbiError> {
        let holder = self.unchecked.iter().copied().find(|key| self.map.get(key) == Some(&peb));
        let Some(key) = holder else { return Ok(true) };
        self.check_mapping(key)?;
        Ok(self.map.contains_key(&key))
    }
}
