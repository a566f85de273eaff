//! Logical eraseblocks: read, write, map, unmap, change atomically.

use super::format::{VidHeader, crc32};
use super::wear::State;
use super::{Ubi, UbiError};
use crate::mtd::{MtdError, ReadQuality};

/// How a read of a LEB went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LebRead {
    /// The bytes are what was written; all ones where nothing was, or if the LEB is not mapped.
    Good,
    /// Uncorrectable bit errors: the bytes are as the cells gave them.
    Damaged,
}

impl Ubi {
    /// Whether a LEB is mapped. After an attach by fastmap it may not be so any more where it was not
    /// read yet, as in Linux.
    pub fn is_mapped(&self, lnum: u32) -> bool {
        self.map.contains_key(&(self.volume, lnum))
    }

    /// Read from a LEB. A LEB with corrected bit errors is scrubbed in the background.
    ///
    /// # Errors
    /// Power loss.
    ///
    /// # Panics
    /// If that is beyond the LEB or the volume.
    pub fn read(&mut self, lnum: u32, offset: u32, bytes: &mut [u8]) -> Result<LebRead, UbiError> {
        assert!(offset as usize + bytes.len() <= self.leb_size() as usize, "within a LEB");
        self.check_mapping((self.volume, lnum))?;
        let Some(&peb) = self.map.get(&(self.volume, lnum)) else {
            bytes.fill(0xFF);
            return Ok(LebRead::Good);
        };
        let quality = self.mtd.read(self.start(peb) + self.layout.data_offset + offset, bytes)?;
        match quality {
            ReadQuality::Clean => Ok(LebRead::Good),
            ReadQuality::Corrected => {
                self.scrub(peb);
                Ok(LebRead::Good)
            }
            ReadQuality::Damaged(_) => Ok(LebRead::Damaged),
        }
    }

    /// Write whole pages of a LEB, which is mapped first if it is not.
    ///
    /// # Errors
    /// Power loss, or that no block took the data.
    ///
    /// # Panics
    /// If that is beyond the LEB or the volume.
    pub fn write(&mut self, lnum: u32, offset: u32, bytes: &[u8]) -> Result<(), UbiError> {
        assert!(lnum < self.leb_count, "LEB {lnum} is beyond the volume");
        assert!(offset as usize + bytes.len() <= self.leb_size() as usize, "within a LEB");
        self.check_mapping((self.volume, lnum))?;
        if !self.is_mapped(lnum) {
            self.map_to(self.volume, lnum, None, &[])?;
        }
        let peb = self.map[&(self.volume, lnum)];
        match self.mtd.write(self.start(peb) + self.layout.data_offset + offset, bytes) {
            Ok(()) => Ok(()),
            Err(MtdError::PowerLost) => Err(UbiError::PowerLost),
            Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => {
                self.recover(lnum, peb, offset, bytes)
            }
        }
    }

    /// Map a LEB to a block, so that what was in it before cannot come back.
    ///
    /// # Errors
    /// Power loss, or that no block is left.
    ///
    /// # Panics
    /// If that is beyond the LEB or the volume.
    pub fn map(&mut self, lnum: u32) -> Result<(), UbiError> {
        assert!(lnum < self.leb_count, "LEB {lnum} is beyond the volume");
        self.check_mapping((self.volume, lnum))?;
        if self.is_mapped(lnum) { Ok(()) } else { self.map_to(self.volume, lnum, None, &[]) }
    }

    /// Forget what a LEB holds; its block is erased in the background. A power cut may bring it
    /// back until then.
    pub fn unmap(&mut self, lnum: u32) {
        if let Some(peb) = self.map.remove(&(self.volume, lnum)) {
            self.unchecked.remove(&(self.volume, lnum));
            self.schedule_erase(peb, false);
        }
    }

    /// Replace all that a LEB holds by `bytes`, at once.
    ///
    /// # Errors
    /// Power loss: the LEB then has the old or the new content.
    pub fn change(&mut self, lnum: u32, bytes: &[u8]) -> Result<(), UbiError> {
        self.change_in(self.volume, lnum, bytes)
    }

    pub(super) fn change_in(
        &mut self,
        volume: u32,
        lnum: u32,
        bytes: &[u8],
    ) -> Result<(), UbiError> {
        let _scope = self.recorder.scope("ubi_leb_change");
        let size = u32::try_from(bytes.len()).expect("within a LEB");
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(self.layout.page_size as usize), 0xFF);
        let old = self.map.get(&(volume, lnum)).copied();
        self.map_to(volume, lnum, Some((size, crc32(bytes))), &padded)?;
        if let Some(old) = old {
            self.schedule_erase(old, false);
        }
        Ok(())
    }

    /// Map a LEB to a new block and write `data` to its start; blocks that fail are left behind.
    pub(super) fn map_to(
        &mut self,
        volume: u32,
        lnum: u32,
        copied: Option<(u32, u32)>,
        data: &[u8],
    ) -> Result<(), UbiError> {
        let _scope = self.recorder.scope("ubi_map");
        loop {
            let peb = self.take_free()?;
            self.sequence += 1;
            let vid = VidHeader { volume, lnum, sequence: self.sequence, copied };
            let outcome = self.write_header(peb, self.layout.vid_offset, &vid.emit());
            let outcome = outcome
                .and_then(|()| self.mtd.write(self.start(peb) + self.layout.data_offset, data));
            match outcome {
                Ok(()) => {
                    self.remap((volume, lnum), peb);
                    return Ok(());
                }
                Err(MtdError::PowerLost) => return Err(UbiError::PowerLost),
                Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => {
                    self.schedule_erase(peb, true);
                }
            }
        }
    }

    /// Note that a LEB is in this block from now on.
    pub(super) fn remap(&mut self, key: (u32, u32), peb: u32) {
        self.map.insert(key, peb);
        self.unchecked.remove(&key);
    }

    /// Take a free block; if there is none, erase one now. It is protected for a while.
    fn take_free(&mut self) -> Result<u32, UbiError> {
        let peb = match self.take_pooled()? {
            Some(peb) => peb,
            None => self.choose_free()?,
        };
        self.wear.set_state(peb, State::Protected);
        self.ensure_levelling();
        Ok(peb)
    }

    fn choose_free(&mut self) -> Result<u32, UbiError> {
        while self.wear.free_count() == 0 {
            if !self.has_work() {
                return Err(UbiError::Io);
            }
            self.work()?;
        }
        Ok(self.wear.choose(self.threshold).expect("a block is free"))
    }

    fn scrub(&mut self, peb: u32) {
        if matches!(self.wear.state(peb), State::Used | State::Protected) {
            self.wear.set_state(peb, State::Scrub);
            self.ensure_levelling();
        }
    }
}
