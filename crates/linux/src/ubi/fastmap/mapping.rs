//! Mappings of a fastmap are looked at before use: it is not told when a LEB is unmapped, so that the
//! PEB it names may have been erased since.

use super::super::format::{Found, HEADER_SIZE, VidHeader};
use super::super::{Ubi, UbiError};

impl Ubi {
    /// Look at the VID header of the PEB that a fastmap names for a LEB, once: one page read. A LEB
    /// whose PEB has none is not mapped.
    ///
    /// # Errors
    /// Power loss, or the PEB holds another LEB: the fastmap lies.
    pub(in crate::ubi) fn check_mapping(&mut self, key: (u32, u32)) -> Result<(), UbiError> {
        if !self.unchecked.remove(&key) {
            return Ok(());
        }
        let Some(&peb) = self.map.get(&key) else { return Ok(()) };
        let mut bytes = [0; HEADER_SIZE];
        self.mtd.read(self.start(peb) + self.layout.vid_offset, &mut bytes)?;
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

    /// Look at the mapping to `peb`, if it was not looked at yet; `false` if there was none.
    pub(in crate::ubi) fn check_holder(&mut self, peb: u32) -> Result<bool, UbiError> {
        let holder = self.unchecked.iter().copied().find(|key| self.map.get(key) == Some(&peb));
        let Some(key) = holder else { return Ok(true) };
        self.check_mapping(key)?;
        Ok(self.map.contains_key(&key))
    }
}
