//! The background thread `ubi_bgt0d`: it erases PEBs, and moves data for wear levelling and
//! scrubbing.

use super::format::{EcHeader, Found, HEADER_SIZE, VidHeader, crc32};
use super::wear::State;
use super::{Ubi, UbiError};
use crate::mtd::{MtdError, ReadQuality};

/// A job for the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Erase a PEB and write its EC header. With `torture`, because an operation on it failed, test
    /// it first.
    Erase { peb: u32, torture: bool },
    /// Move the data of one PEB to another.
    Move,
    /// Write a fastmap, because its pool has no PEB left for moves.
    Fastmap,
}

/// Bytes that a tortured PEB must hold and give back before it is trusted again.
const PATTERNS: [u8; 3] = [0xA5, 0x5A, 0x00];

impl Ubi {
    pub fn has_work(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Do the next job of the thread, if there is one.
    ///
    /// # Errors
    /// Power loss, or no PEB is left.
    pub fn work(&mut self) -> Result<(), UbiError> {
        match self.jobs.pop_front() {
            Some(Job::Erase { peb, torture }) => self.erase_job(peb, torture),
            Some(Job::Move) => {
                let _scope = self.recorder.scope("ubi_wear_levelling");
                self.move_job()
            }
            Some(Job::Fastmap) => self.update_fastmap(),
            None => Ok(()),
        }
    }

    pub(super) fn schedule_erase(&mut self, peb: u32, torture: bool) {
        self.wear.set_state(peb, State::Away);
        self.jobs.push_back(Job::Erase { peb, torture });
    }

    /// Do the erase that has waited longest, before any other job. Returns false if none waits.
    pub(super) fn erase_one(&mut self) -> Result<bool, UbiError> {
        let erase = self.jobs.iter().position(|job| matches!(job, Job::Erase { .. }));
        let Some(Job::Erase { peb, torture }) = erase.and_then(|at| self.jobs.remove(at)) else {
            return Ok(false);
        };
        self.erase_job(peb, torture).map(|()| true)
    }

    /// Schedule a move or a fastmap, if wear or bit errors of some PEB ask for it.
    pub(super) fn ensure_levelling(&mut self) {
        if let Some(job) = self.levelling_job().filter(|job| !self.jobs.contains(job)) {
            self.jobs.push_back(job);
        }
    }

    fn erase_job(&mut self, peb: u32, torture: bool) -> Result<(), UbiError> {
        let _scope = self.recorder.scope("ubi_erase");
        match self.erase_and_count(peb, torture) {
            Ok(()) => {
                self.wear.set_state(peb, State::Free);
                self.wear.age();
                self.ensure_levelling();
                Ok(())
            }
            Err(UbiError::PowerLost) => Err(UbiError::PowerLost),
            Err(UbiError::Io) => {
                self.wear.set_state(peb, State::Out);
                Ok(self.mtd.mark_bad(peb)?)
            }
        }
    }

    pub(super) fn erase_and_count(&mut self, peb: u32, torture: bool) -> Result<(), UbiError> {
        if torture {
            self.torture(peb)?;
        }
        self.mtd.erase(peb)?;
        // A header may claim any number.
        let erase_count = self.wear.count(peb).saturating_add(1);
        self.wear.set_count(peb, erase_count);
        let (vid_offset, data_offset) = (self.layout.vid_offset, self.layout.data_offset);
        let header = EcHeader { erase_count, vid_offset, data_offset };
        Ok(self.write_header(peb, 0, &header.emit())?)
    }

    fn torture(&self, peb: u32) -> Result<(), UbiError> {
        let _scope = self.recorder.scope("ubi_torture");
        for pattern in PATTERNS {
            self.mtd.erase(peb)?;
            let written = vec![pattern; self.layout.peb_size as usize];
            self.mtd.write(self.place(peb, 0), &written)?;
            let mut read = vec![0; written.len()];
            let quality = self.mtd.read(self.place(peb, 0), &mut read)?;
            if quality != ReadQuality::Clean || read != written {
                return Err(UbiError::Io);
            }
        }
        Ok(())
    }

    fn move_job(&mut self) -> Result<(), UbiError> {
        let Some(to) = self.move_target() else { return Ok(()) };
        let Some(from) = self.move_source(Some(to)) else { return Ok(()) };
        if !self.check_holder(from)? {
            self.ensure_levelling();
            return Ok(());
        }
        let old_state = self.wear.state(from);
        self.wear.set_state(from, State::Away);
        self.take_target(to);
        match self.copy_peb(from, to) {
            Ok(Moved::Done) => {
                self.wear.set_state(to, State::Used);
                self.schedule_erase(from, false);
            }
            Ok(Moved::SourceBad) => {
                self.schedule_erase(to, false);
                self.wear.set_state(from, State::Out);
            }
            Ok(Moved::TargetBad) => {
                self.schedule_erase(to, true);
                self.wear.set_state(from, old_state);
            }
            Err(error) => return Err(error),
        }
        self.ensure_levelling();
        Ok(())
    }

    fn copy_peb(&mut self, from: u32, to: u32) -> Result<Moved, UbiError> {
        let mut header = [0; HEADER_SIZE];
        self.mtd.read(self.place(from, self.layout.vid_offset), &mut header)?;
        let Found::Valid(vid) = VidHeader::parse(&header) else { return Ok(Moved::SourceBad) };
        if self.map.get(&(vid.volume, vid.lnum)) != Some(&from) {
            return Ok(Moved::SourceBad);
        }
        let mut data = vec![0; self.leb_size() as usize];
        let quality = self.mtd.read(self.place(from, self.layout.data_offset), &mut data)?;
        if matches!(quality, ReadQuality::Damaged(_)) {
            return Ok(Moved::SourceBad);
        }
        let len = written_len(&data, self.layout.page_size as usize);
        let size = u32::try_from(len).expect("within a LEB");
        self.sequence += 1;
        let copy =
            VidHeader { sequence: self.sequence, copied: Some((size, crc32(&data[..len]))), ..vid };
        let outcome = self.write_header(to, self.layout.vid_offset, &copy.emit());
        let shipment = self.ship(vid.volume, vid.lnum);
        let outcome = outcome
            .and_then(|()| self.mtd.write(self.place(to, self.layout.data_offset), &data[..len]));
        drop(shipment);
        match outcome {
            Ok(()) => {
                self.remap((vid.volume, vid.lnum), to);
                Ok(Moved::Done)
            }
            Err(MtdError::PowerLost) => Err(UbiError::PowerLost),
            Err(MtdError::ProgramFailed(_) | MtdError::EraseFailed(_)) => Ok(Moved::TargetBad),
        }
    }
}

/// The outcome of moving a PEB's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Done,
    /// Not all of the data can be read. The PEB stays as it is, for whoever reads it.
    SourceBad,
    TargetBad,
}

/// Bytes up to the end of the last page that is not all 0xFF.
pub(super) fn written_len(data: &[u8], page_size: usize) -> usize {
    let last = data.iter().rposition(|&byte| byte != 0xFF);
    last.map_or(0, |last| (last + 1).next_multiple_of(page_size))
}
