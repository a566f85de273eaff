//! Runs: what is kept in RAM of each, and the table of all runs, oldest first.

use flysch::bytes::array;

use super::entry::Shape;
use super::unit::UnitReader;

/// A run on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    /// The area that it is in: [`RECENT`], [`MERGED`], [`FILTER`], or [`LEVEL`] and above.
    pub(super) place: u8,
    pub(super) rice: u8,
    /// Hash bits of its entries. The existence filter has fewer than other runs.
    pub(super) hash_bits: u8,
    /// The jobs that read it: [`BY_SMALL`], [`BY_LARGE`], [`BY_FILTER`].
    pub(super) frozen: u8,
    /// Its first logical page.
    pub(super) first: u32,
    /// Number of units that it was planned with.
    pub(super) units: u32,
    /// Number of units that it has.
    pub(super) used: u32,
    pub(super) count: u32,
    pub(super) antis: u32,
    /// The unit at which the job that reads it continues.
    pub(super) at: u32,
    /// The position in that unit. None for its start.
    pub(super) within: Option<UnitReader>,
}

/// The areas of an index of runs. Area 0 is the log of commit records.
pub(super) const LOG: u8 = 0;
/// The area of runs that are one flushed memory table each.
pub(super) const RECENT: u8 = 1;
/// The area of runs that were merged from recent ones.
pub(super) const MERGED: u8 = 2;
pub(super) const FILTER: u8 = 3;
/// The area of the first level. Those of the other levels follow.
pub(super) const LEVEL: u8 = 4;

pub(super) const BY_SMALL: u8 = 1;
pub(super) const BY_LARGE: u8 = 2;
pub(super) const BY_FILTER: u8 = 4;
/// Its hashes are in the Bloom filter (a bit of `frozen`).
pub(super) const IN_BLOOM: u8 = 8;

/// Bytes of a run in a commit record.
pub(super) const RUN_SIZE: usize = 24;

impl Run {
    pub(super) const fn shape(&self, pointer_bits: u8) -> Shape {
        let pointer_bits = if self.place == FILTER { 0 } else { pointer_bits };
        let has_antis = self.antis > 0;
        Shape { hash_bits: self.hash_bits, pointer_bits, rice: self.rice, has_antis }
    }

    /// Whether no job reads it.
    pub(super) const fn is_free(&self) -> bool {
        self.frozen & (BY_SMALL | BY_LARGE | BY_FILTER) == 0
    }

    pub(super) const fn is_recent(&self) -> bool {
        self.place == RECENT || self.place == MERGED
    }

    pub(super) fn parse(bytes: &[u8; RUN_SIZE]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes(array(&bytes[at..at + 4]));
        let run = Self {
            place: bytes[0],
            rice: bytes[1],
            hash_bits: bytes[2],
            frozen: bytes[3],
            first: word(4),
            units: word(8),
            used: word(12),
            count: word(16),
            antis: word(20),
            at: 0,
            within: None,
        };
        let is_sane = run.rice <= 32 && (1..=32).contains(&run.hash_bits) && run.units > 0;
        is_sane.then_some(run)
    }

    pub(super) fn emit(&self) -> [u8; RUN_SIZE] {
        let mut bytes = [0; RUN_SIZE];
        bytes[..4].copy_from_slice(&[self.place, self.rice, self.hash_bits, self.frozen]);
        let words = [self.first, self.units, self.used, self.count, self.antis];
        for (field, word) in bytes[4..].chunks_exact_mut(4).zip(words) {
            field.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// The most runs that exist at the same time.
pub(super) const RUNS_MAX: usize = 24;

/// The runs in order of age: existence filter, levels from the last to the first, merged runs,
/// recent runs.
#[derive(Clone, Debug)]
pub(super) struct RunTable {
    runs: [Run; RUNS_MAX],
    len: u8,
}

impl RunTable {
    pub(super) const fn new() -> Self {
        const NONE: Run = Run {
            place: 0,
            rice: 0,
            hash_bits: 0,
            frozen: 0,
            first: 0,
            units: 0,
            used: 0,
            count: 0,
            antis: 0,
            at: 0,
            within: None,
        };
        Self { runs: [NONE; RUNS_MAX], len: 0 }
    }

    pub(super) fn as_slice(&self) -> &[Run] {
        &self.runs[..usize::from(self.len)]
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.runs[..usize::from(self.len)].iter_mut()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len as usize == RUNS_MAX
    }

    /// Add a run after all that are older.
    pub(super) fn insert(&mut self, run: Run) {
        assert!(!self.is_full(), "jobs end before the table is full");
        let place = self.as_slice().iter().take_while(|other| age(other) <= age(&run)).count();
        self.runs.copy_within(place..usize::from(self.len), place + 1);
        self.runs[place] = run;
        self.len += 1;
    }

    /// Keep only the runs for which `keep` returns true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Run) -> bool) {
        let mut kept = 0;
        for place in 0..usize::from(self.len) {
            if keep(&self.runs[place]) {
                self.runs[kept] = self.runs[place];
                kept += 1;
            }
        }
        self.len = kept as u8;
    }
}

/// The rank of a run in the order of the table.
const fn age(run: &Run) -> u8 {
    match run.place {
        FILTER => 0,
        MERGED => 254,
        RECENT => 255,
        level => 253 - level,
    }
}
