//! The work of the token's processor in a lookup, and the time it takes.
//!
//! Work is counted in comparisons of keys and in other instructions. One fitted constant turns it
//! into time, see [`Processor`]. The instructions were counted by hand in this project's code,
//! compiled for a Cortex-M3 (rustc 1.95, opt-level s). The paper does not state the instructions of
//! its own code.

use std::ops::AddAssign;

/// The work of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    /// Number of compared keys.
    pub(super) comparisons: f64,
    /// Number of instructions for everything else.
    pub(super) instructions: f64,
}

/// Instructions to compare a key of an entry, including `memcmp` up to the first byte.
const COMPARISON: f64 = 25.0;
/// Instructions to hash twelve bytes by lookup2.
const HASH: f64 = 66.0;
/// Instructions to intersect a word of a row, and to search a byte for matches.
const WORD: f64 = 7.0;
const BYTE: f64 = 11.0;

/// How filters are stored that are tested one by one. This decides the number of instructions for
/// each filter and for each bit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// The filters follow each other.
    Whole,
    /// The filters are in the pages of L1 partitions.
    Partitioned,
}

impl Layout {
    const fn instructions(self) -> (f64, f64) {
        match self {
            Self::Whole => (37.0, 25.0),
            Self::Partitioned => (63.0, 27.0),
        }
    }
}

impl Work {
    /// The work of comparing this many keys.
    pub(super) fn comparing(keys: u32) -> Self {
        Self { comparisons: f64::from(keys), instructions: 0.0 }
    }

    /// The work of calling the hash function this often on a key of this size.
    pub(super) fn hashing(calls: u32, key_size: u32) -> Self {
        Self::of(f64::from(calls) * f64::from(key_size.div_ceil(12)) * HASH)
    }

    /// The work of testing this many filters one by one, with this many bits in total.
    pub(super) fn testing(layout: Layout, filters: u32, bits: f64) -> Self {
        let (filter, bit) = layout.instructions();
        Self::of(f64::from(filters) * filter + bits * bit)
    }

    /// The work of intersecting rows that have one bit for each filter, and of searching the
    /// result.
    pub(super) fn intersecting(rows: u32, filters: u32) -> Self {
        let (words, bytes) = (filters.div_ceil(32), filters.div_ceil(8));
        Self::of(f64::from(rows) * f64::from(words) * WORD + f64::from(bytes) * BYTE)
    }

    fn of(instructions: f64) -> Self {
        Self { comparisons: 0.0, instructions }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, more: Self) {
        self.comparisons += more.comparisons;
        self.instructions += more.instructions;
    }
}

/// The processor of the token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Processor {
    /// Clock frequency in MHz.
    mhz: f64,
}

impl Processor {
    /// The processor of the paper's time; below, the next generation (section 7.1).
    pub(super) const TODAY: Self = Self { mhz: 50.0 };
    pub(super) const NEXT: Self = Self { mhz: 120.0 };

    /// FITTED: cycles for an instruction. With it, the processor takes 47 % of `PBFilter`'s lookup
    /// at 100,000 tuples, which section 7.3.4 calls "almost half". The high number means that code
    /// and data are in slow memory, or that the authors' code executed more instructions.
    const INSTRUCTION_CYCLES: f64 = 20.5;

    /// The time that work takes, milliseconds.
    pub(super) fn ms(self, work: Work) -> f64 {
        let instructions = work.comparisons * COMPARISON + work.instructions;
        instructions * Self::INSTRUCTION_CYCLES / self.mhz / 1000.0
    }
}
