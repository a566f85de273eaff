//! What the token's processor does for a lookup, and how long it takes.
//!
//! Work is counted, in comparisons of keys and in instructions; one fitted figure turns it into
//! time, see [`Processor`]. Instructions were counted by hand in this project's own code as the
//! compiler makes it for a Cortex-M3 (rustc 1.95, opt-level s); the paper does not give its own.

use std::ops::AddAssign;

/// Work of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    /// Keys compared.
    pub(super) comparisons: f64,
    /// Instructions for everything else.
    pub(super) instructions: f64,
}

/// Instructions to compare a key of an entry, `memcmp` up to the first byte included.
const COMPARISON: f64 = 25.0;
/// Instructions to hash twelve bytes by lookup2.
const HASH: f64 = 66.0;
/// Instructions to intersect a word of a row, and to look for matches in a byte.
const WORD: f64 = 7.0;
const BYTE: f64 = 11.0;

/// How filters lie that are tested one by one: instructions for a filter, and for each bit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// One behind the other.
    Whole,
    /// In the pages of L1 partitions.
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
    /// So many keys compared.
    pub(super) fn comparing(keys: u32) -> Self {
        Self { comparisons: f64::from(keys), instructions: 0.0 }
    }

    /// A key of so many bytes hashed so often.
    pub(super) fn hashing(calls: u32, key_size: u32) -> Self {
        Self::of(f64::from(calls) * f64::from(key_size.div_ceil(12)) * HASH)
    }

    /// So many filters examined one by one, with so many bits tested in all.
    pub(super) fn testing(layout: Layout, filters: u32, bits: f64) -> Self {
        let (filter, bit) = layout.instructions();
        Self::of(f64::from(filters) * filter + bits * bit)
    }

    /// So many rows of a bit for each filter intersected, and searched for filters left over.
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

/// The token's processor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Processor {
    /// Clock, MHz.
    mhz: f64,
}

impl Processor {
    /// Today's and the next (section 7.1).
    pub(super) const TODAY: Self = Self { mhz: 50.0 };
    pub(super) const NEXT: Self = Self { mhz: 120.0 };

    /// FITTED: cycles of an instruction, so that the processor takes 47 % of `PBFilter`'s lookup
    /// at 100,000 tuples, which section 7.3.4 calls "almost half". That they are so many says that
    /// code and data lie in slow memory, or that the authors' code did more.
    const INSTRUCTION_CYCLES: f64 = 20.5;

    /// Milliseconds that work takes.
    pub(super) fn ms(self, work: Work) -> f64 {
        let instructions = work.comparisons * COMPARISON + work.instructions;
        instructions * Self::INSTRUCTION_CYCLES / self.mhz / 1000.0
    }
}
