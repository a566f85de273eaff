//! Logical eraseblocks (LEBs): read, write, map, unmap, and change their content atomically.

use flysch_chip::Shipment;

use super::format::{VidHeader, crc32};
use super::wear::State;
use super::{Ubi, UbiError};
use crate::cpu::Unit;
use crate::mtd::{MtdError, ReadQuality};

/// How well a LEB could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LebRead {
    /// The bytes are those that were written. They are 0xFF where nothing was written, or if the
    /// LEB is not mapped.
    Good,
    /// ECC could not correct all bytes. They are as the cells gave them.
    Damaged,
}

impl Ubi {
    /// The address of a byte of a LEB in the volume, by which its content is followed.
    pub(crate) fn address(&self, lnum: u32, offset: u32) -> u64 {
        u64::from(lnum) * u64::from(self.leb_size()) + u64::from(offset)
    }

    /// Note that the next programs write the whole of a LEB. UBI's internal volumes are not
    /// followed.
    pub(super) fn ship(&self, volume: u32, lnum: u32) -> Option<Shipment> {
        (volume == self.volume).then(|| self.recorder.ship(self.address(lnum, 0)))
    }

    /// Whether a LEB is mapped. After an attach by fastmap the answer may be wrong for a LEB that
    /// has not been read yet, as in Linux.
    pub fn is_mapped(&self, lnum: u32) -> bool {
        self.map.contains_key(&(self.volume, lnum))
    }

    /// Read from a LEB. If ECC corrected bits, the LEB is scrubbed in the background.
    ///
    /// # Panics
    /// If the bytes are not within the LEB.
    pub fn read(&mut self, lnum: u32, offset: u32, bytes: &mut [u8]) -> Result<LebRead, UbiError> {
        assert!(offset as usize + bytes.len() <= self.leb_size() as usize, "within a LEB");
        self.check_mapping((self.volume, lnum))?;
        let Some(&peb) = self.map.get(&(self.volume, lnum)) else {
            bytes.fill(0xFF);
            return Ok(LebRead::Good);
        };
        self.mtd.cpu().charge(Unit::UbiRequest, 1);
        let quality = self.mtd.read(self.place(peb, self.layout.data_offset + offset), bytes)?;
        match quality {
            ReadQuality::Clean => Ok(LebRead::Good),
            ReadQuality::Corrected => {
                self.scrub(peb);
                Ok(LebRead::Good)
            }
            ReadQuality::Damaged(_) => Ok(LebRead::Damaged),
        }
    }

    /// Write whole pages of a LEB. If the LEB is not mapped, it is mapped first.
    ///
    /// # Errors
    /// Power loss, or no PEB can take the data.
    ///
    /// # Panics
    /// If the bytes are not within the LEB, or the LEB is not within the volume.
    pub fn write(&mut self, lnum: u32, offset: u32, bytes: &[u8]) -> Result<(), UbiError> {
        assert!(lnum < self.leb_count, "LEB {lnum} is beyond the volume");
        assert!(offset as usize + bytes.len() <= self.leb_size() as usize, "within a LEB");
        self.check_mapping((self.volume, lnum))?;
        if !self.is_mapped(lnum) {
            self.map_to(self.volume, lnum, None, &[])?;
        }
        let peb = self.map[&(self.volume, lnum)];
        let shipment = self.recorder.ship(self.address(lnum, offset));
        self.mtd.cpu().charge(Unit::UbiRequest, 1);
        let outcome = self.mtd.write(self.place(peb, self.layout.data_offset + offset), bytes);
        drop(shipment);
        match outcome {
            Ok(()) => Ok(()),
            Err(MtdError::PowerLost) => Err(UbiError::PowerLost),
            Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => {
                self.recover(lnum, peb, offset, bytes)
            }
        }
    }

    /// Map a LEB to a PEB, so that its old content cannot return after a power cut.
    ///
    /// # Errors
    /// Power loss, or no PEB is left.
    ///
    /// # Panics
    /// If the LEB is not within the volume.
    pub fn map(&mut self, lnum: u32) -> Result<(), UbiError> {
        assert!(lnum < self.leb_count, "LEB {lnum} is beyond the volume");
        self.check_mapping((self.volume, lnum))?;
        if self.is_mapped(lnum) { Ok(()) } else { self.map_to(self.volume, lnum, None, &[]) }
    }

    /// Drop the content of a LEB. Its PEB is erased in the background; until then a power cut may
    /// bring the content back.
    pub fn unmap(&mut self, lnum: u32) {
        self.recorder.store_own((self.address(lnum, 0), self.leb_size().into()));
        if let Some(peb) = self.map.remove(&(self.volume, lnum)) {
            self.unchecked.remove(&(self.volume, lnum));
            self.schedule_erase(peb, false);
        }
    }

    /// Replace the whole content of a LEB by `bytes` atomically.
    ///
    /// # Errors
    /// Power loss, after which the LEB has either its old or its new content.
    pub fn change(&mut self, lnum: u32, bytes: &[u8]) -> Result<(), UbiError> {
        self.recorder.store_own((self.address(lnum, 0), self.leb_size().into()));
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

    /// Map a LEB to a new PEB and write `data` to its start. If that fails, other PEBs are tried.
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
            let shipment = self.ship(volume, lnum);
            let outcome = outcome
                .and_then(|()| self.mtd.write(self.place(peb, self.layout.data_offset), data));
            drop(shipment);
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

    /// Note that a LEB is in PEB `peb` from here on.
    pub(super) fn remap(&mut self, key: (u32, u32), peb: u32) {
        self.map.insert(key, peb);
        self.unchecked.remove(&key);
    }

    /// Take a free PEB, or erase one if there is none. It is protected from wear levelling for a
    /// while.
    fn take_free(&mut self) -> Result<u32, UbiError> {
        let peb = match self.take_pooled()? {
            Some(peb) => peb,
            None => self.choose_free()?,
        };
        self.wear.set_state(peb, State::Protected);
        self.ensure_levelling();
        Ok(peb)
    }

    /// Take a free PEB. As long as there is none, the jobs of the thread are done here. None of
    /// them moves the LEB that the PEB is for: a move needs a free PEB, too.
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
