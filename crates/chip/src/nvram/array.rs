//! What PRAM and NOR have in common: an array of words with bounds checks, timing and power cuts.

use flysch_nand::NvRamError;

use super::pieces::Pieces;
use crate::supply::{Power, Supply};
use crate::{Clock, Prng};

/// Counts of a memory's accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub reads: u64,
    /// Number of bytes that were read.
    pub read_bytes: u64,
    /// Number of writes, including those that a power cut interrupted.
    pub writes: u64,
    /// Number of bytes that were written.
    pub written_bytes: u64,
}

/// An array of words with a clock and a supply.
#[derive(Clone, Debug)]
pub(crate) struct WordArray {
    pub(crate) bytes: Pieces,
    pub(crate) clock: Clock,
    pub(crate) supply: Supply,
    pub(crate) word_size: u32,
    /// Decides how many bytes an interrupted write changes.
    pub(crate) prng: Prng,
    pub(crate) traffic: Traffic,
}

/// How many bytes an operation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) len: usize,
    /// Whether a power cut then interrupts it.
    pub(crate) is_cut: bool,
}

impl WordArray {
    pub(crate) fn fork(&self, clock: Clock) -> Self {
        let supply = Supply::new();
        Self { clock, supply, ..self.clone() }
    }

    pub(crate) fn size(&self) -> u32 {
        u32::try_from(self.bytes.len()).expect("the size was 32 bits wide")
    }

    pub(crate) fn check_bounds(&self, addr: u32, len: usize) {
        assert!(
            addr as usize + len <= self.bytes.len(),
            "{len} bytes at {addr} reach beyond the memory"
        );
    }

    pub(crate) fn read(
        &mut self,
        addr: u32,
        bytes: &mut [u8],
        word_ns: u64,
    ) -> Result<(), NvRamError> {
        self.check_bounds(addr, bytes.len());
        if self.supply.draw() != Power::On {
            return Err(NvRamError::PowerLost);
        }
        self.charge(addr, bytes.len(), word_ns);
        self.traffic.reads += 1;
        self.traffic.read_bytes += bytes.len() as u64;
        self.bytes.read(addr as usize, bytes);
        Ok(())
    }

    /// Begin to change `len` bytes. Returns how many of them will change.
    pub(crate) fn begin(&mut self, len: usize) -> Result<Reach, NvRamError> {
        match self.supply.draw_change() {
            Power::On => Ok(Reach { len, is_cut: false }),
            Power::Off => Err(NvRamError::PowerLost),
            Power::Failing => {
                let len = self.prng.below(len as u64 + 1);
                Ok(Reach { len: usize::try_from(len).expect("at most the length"), is_cut: true })
            }
        }
    }

    /// Advance the clock by the time for the words of `len` bytes at `addr`.
    pub(crate) fn charge(&self, addr: u32, len: usize, word_ns: u64) {
        let word = u64::from(self.word_size);
        let (first, end) = (u64::from(addr) / word, (u64::from(addr) + len as u64).div_ceil(word));
        let words = if len == 0 { 0 } else { end - first };
        self.clock.advance(words * word_ns);
    }

    /// Change the bytes at `addr`, and advance the clock by the time that takes.
    pub(crate) fn store(&mut self, addr: u32, bytes: &[u8], word_ns: u64) {
        self.charge(addr, bytes.len(), word_ns);
        self.traffic.writes += 1;
        self.traffic.written_bytes += bytes.len() as u64;
        self.bytes.write(addr as usize, bytes);
    }
}

impl Reach {
    pub(crate) fn outcome(self) -> Result<(), NvRamError> {
        if self.is_cut { Err(NvRamError::PowerLost) } else { Ok(()) }
    }
}
