//! The log's near end: commits in byte-addressable memory beside the chip.
//!
//! ```text
//! memory   record | record | record | … what was there before
//! record   size 2 | commit before 4 | body | CRC-32 4
//! ```
//!
//! 1. A record is written front to back, and its CRC last. It counts where the CRC is right and it
//!    follows the commit found so far without a gap.
//! 2. The state is in a record only where it changed, so that a commit is as short as its rows.
//! 3. When the memory is full, the commit goes to the log with everything in it. Then the memory
//!    begins anew: what is left in it is older than the log, and passed over.
//! 4. A memory whose bits can only be cleared has two areas, which are used in turn: one is erased
//!    while the other still holds records.

use core::fmt;

use flysch_nand::{Nand, NvRam, NvRamError, WriteRule};

use super::CHANGES_AHEAD;
use super::body::{Body, Preface, UNCHANGED, read_flash};
use super::stream::{Sink, Source, StreamError};
use crate::bytes::{array, crc32};
use crate::media::{CHANGES_MAX, Media, MediaError};

/// Bytes of a record before its body.
const FRONT: u32 = 2 + 4;
/// Bytes behind the body of a record.
const BACK: u32 = 4;
const _: () = assert!(CHANGES_AHEAD <= CHANGES_MAX / 2, "the record that follows has room");

/// What tells whether the state has changed since a record: while these are the same, so is the
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moves {
    write: u64,
    erases: u32,
    next: u32,
}

impl Moves {
    const fn of<N: Nand>(media: &Media<'_, N>) -> Self {
        Self { write: media.write, erases: media.erases, next: media.next }
    }
}

/// The `NvRam` as the log's near end: it takes commits until it is full.
pub(crate) struct NvLog<'ram> {
    memory: &'ram mut dyn NvRam,
    /// The area in use: 0 or 1.
    area: u32,
    /// The byte of that area at which the next record goes.
    at: u32,
    /// The commit of the last record, here or in the log; None while the `NvRam` may not be used.
    last: Option<u32>,
    /// What the state of the last record depends on.
    moves: Moves,
    /// Whether a record of this area is newer than the log.
    is_used: bool,
}

impl fmt::Debug for NvLog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NvLog").field("area", &self.area).field("at", &self.at).finish()
    }
}

impl<'ram> NvLog<'ram> {
    /// An `NvRam` that may not be used until the log is certain.
    pub(crate) fn new(memory: &'ram mut dyn NvRam) -> Self {
        let moves = Moves { write: 0, erases: 0, next: 0 };
        Self { memory, area: 0, at: 0, last: None, moves, is_used: false }
    }

    /// Whether commits are here that the log does not have.
    pub(crate) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// Begin anew, as the log or a root holds everything up to `commit`.
    pub(crate) fn begin_anew<N: Nand>(&mut self, commit: u32, media: &Media<'_, N>) {
        debug_assert!(self.last.is_none_or(|last| last <= commit), "the log has what is forgotten");
        self.area = (self.area + 1) % self.areas();
        (self.at, self.last, self.is_used) = (0, Some(commit), false);
        self.moves = Moves::of(media);
    }

    /// Write a commit as a record; false where it has to go to the log. Earlier records hold the
    /// tail up to `logged`. Cost: no program; an erase of the `NvRam` where its bits can only be
    /// cleared and an area begins.
    pub(crate) fn commit<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        logged: usize,
    ) -> Result<bool, MediaError> {
        let Some(last) = self.last else { return Ok(false) };
        debug_assert!(self.at <= self.area_size(), "records stay in their area");
        debug_assert!(self.area < self.areas(), "areas are used in turn");
        let moves = Moves::of(media);
        let unchanged = if moves == self.moves { UNCHANGED } else { 0 };
        let base = logged.min(body.tail.len());
        let body = Body { flags: body.flags | unchanged, base, ..*body };
        let size = FRONT + body.size(media) as u32 + BACK;
        let has_room = self.at + size <= self.area_size() && u16::try_from(size).is_ok();
        // A log record is written in time, so that the changes of the block table fit it.
        if !has_room || media.changes.room() < CHANGES_MAX / 2 {
            return Ok(false);
        }
        debug_assert!(body.commit > last, "a record that does not follow is passed over");
        match self.write(media, &body, (size, last)) {
            Ok(()) => {}
            Err(MediaError::NvRamWornOut(_)) => {
                self.last = None;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.at += size;
        (self.last, self.moves, self.is_used) = (Some(body.commit), moves, true);
        Ok(true)
    }

    fn write<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        body: &Body<'_>,
        (size, last): (u32, u32),
    ) -> Result<(), MediaError> {
        if self.at == 0 {
            self.erase()?;
        }
        let at = self.area * self.area_size() + self.at;
        let mut sink = Sink::NvRam(NvWriter { memory: &mut *self.memory, at, crc: media.salt });
        sink.put(media, &(size as u16).to_le_bytes())?;
        sink.put(media, &last.to_le_bytes())?;
        body.emit(&mut sink, media)?;
        if let Sink::NvRam(writer) = &mut sink {
            let crc = writer.crc.to_le_bytes();
            writer.put(&crc)?;
            debug_assert!(writer.at == at + size, "a record has the bytes that were counted");
        }
        Ok(())
    }

    /// Take over the records that follow the log's last one. `last` is that record's preface, and
    /// the length of its state.
    pub(crate) fn replay<N: Nand>(
        &mut self,
        media: &mut Media<'_, N>,
        mut last: (Preface, usize),
        (tail, state): (&mut [u8], &mut [u8]),
    ) -> Result<(Preface, usize), StreamError> {
        // Either area may be the later one. So the first is looked at again after the last.
        for area in (0..self.areas()).chain(0..self.areas() - 1) {
            let start = area * self.area_size();
            let mut at = 0;
            while let Some((size, before, commit)) = self.record_at(start + at, at, media)? {
                if before == last.0.commit && commit > before {
                    let from = start + at + FRONT;
                    let mut reader = NvReader { memory: &mut *self.memory, at: from };
                    last = follow(&mut reader, media, last, (&mut *tail, &mut *state))?;
                } else if commit > last.0.commit {
                    break;
                }
                at += size;
            }
        }
        Ok(last)
    }

    /// The record at an address: its size, the number of the commit before it, and its own; None
    /// where no whole record lies there. `at` is its place in the area.
    fn record_at<N: Nand>(
        &mut self,
        addr: u32,
        at: u32,
        media: &Media<'_, N>,
    ) -> Result<Option<(u32, u32, u32)>, MediaError> {
        // The commit is the second field of the body, behind its flags.
        const HEAD: u32 = FRONT + 1 + 4;
        if at + HEAD + BACK > self.area_size() {
            return Ok(None);
        }
        let mut head = [0; HEAD as usize];
        self.read(addr, &mut head)?;
        let word = |from: usize| u32::from_le_bytes(array(&head[from..from + 4]));
        let size = u32::from(u16::from_le_bytes([head[0], head[1]]));
        if size < HEAD + BACK || at + size > self.area_size() {
            return Ok(None);
        }
        let mut crc = media.salt;
        let mut chunk = [0; 32];
        let mut from = 0;
        while from < size - BACK {
            let len = (size - BACK - from).min(32);
            let bytes = &mut chunk[..len as usize];
            self.memory.read(addr + from, bytes)?;
            crc = crc32(crc, bytes);
            from += len;
        }
        let mut stored = [0; BACK as usize];
        self.read(addr + from, &mut stored)?;
        let is_whole = stored == crc.to_le_bytes();
        Ok(is_whole.then_some((size, word(2), word(FRONT as usize + 1))))
    }

    fn read(&mut self, addr: u32, bytes: &mut [u8]) -> Result<(), MediaError> {
        Ok(self.memory.read(addr, bytes)?)
    }

    /// Number of areas, which are used in turn.
    fn areas(&self) -> u32 {
        match self.memory.write_rule() {
            WriteRule::Overwrite => 1,
            WriteRule::ClearBits => 2,
        }
    }

    /// Bytes of an area: a whole number of erase sectors, where there are any.
    fn area_size(&self) -> u32 {
        let size = self.memory.size() / self.areas();
        match self.memory.erase_size() {
            0 => size,
            sector => size - size % sector,
        }
    }

    /// Erase the area in use, where a write can only clear bits.
    fn erase(&mut self) -> Result<(), MediaError> {
        let sector = self.memory.erase_size();
        if sector == 0 {
            return Ok(());
        }
        let start = self.area * self.area_size();
        for addr in (start..start + self.area_size()).step_by(sector as usize) {
            self.memory.erase(addr)?;
        }
        Ok(())
    }
}

/// Take over a record that follows `last`.
fn follow<N: Nand>(
    source: &mut dyn Source<N>,
    media: &mut Media<'_, N>,
    (before, state_len): (Preface, usize),
    (tail, state): (&mut [u8], &mut [u8]),
) -> Result<(Preface, usize), StreamError> {
    let preface = Preface::read(source, media)?;
    if preface.base != 0 && preface.base != before.base + before.len {
        return Err(StreamError::Broken);
    }
    preface.read_tail(source, media, tail)?;
    if preface.flags & UNCHANGED != 0 {
        return Ok((preface, state_len));
    }
    Ok((preface, read_flash(source, media, state)?.len()))
}

/// A record that is being written to the `NvRam`.
pub(crate) struct NvWriter<'a> {
    memory: &'a mut dyn NvRam,
    at: u32,
    crc: u32,
}

impl NvWriter<'_> {
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), MediaError> {
        self.memory.write(self.at, bytes)?;
        self.crc = crc32(self.crc, bytes);
        self.at += bytes.len() as u32;
        Ok(())
    }
}

/// A record in the `NvRam` whose CRC is right, as it is being read.
struct NvReader<'a> {
    memory: &'a mut dyn NvRam,
    at: u32,
}

impl<N: Nand> Source<N> for NvReader<'_> {
    fn take(&mut self, _: &mut Media<'_, N>, out: &mut [u8]) -> Result<(), StreamError> {
        let is_within = out.len() <= (self.memory.size() - self.at) as usize;
        if !is_within {
            return Err(StreamError::Broken);
        }
        self.memory.read(self.at, out).map_err(MediaError::from)?;
        self.at += out.len() as u32;
        Ok(())
    }
}

impl From<NvRamError> for MediaError {
    fn from(error: NvRamError) -> Self {
        match error {
            NvRamError::PowerLost => Self::PowerLost,
            NvRamError::WornOut(addr) => Self::NvRamWornOut(addr),
        }
    }
}
