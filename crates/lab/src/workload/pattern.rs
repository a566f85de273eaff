//! The order in which a workload visits places, such as the pages of a file.

use flysch_chip::Prng;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

/// The order of requests to places of equal size, such as the pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Pattern {
    /// One place after the other, and after the last place the first again.
    Sequential,
    /// A random place each time, uniformly drawn.
    Random,
}

named!(Pattern, "pattern");

/// An endless sequence of places for the requests of a run.
pub(crate) struct Places {
    pattern: Pattern,
    count: u64,
    next: u64,
    prng: Prng,
}

impl Places {
    /// A sequence of places out of `count`, in this order.
    pub(crate) fn new(pattern: Pattern, count: u64, seed: u64) -> Self {
        Self { pattern, count, next: 0, prng: Prng::new(seed) }
    }
}

impl Iterator for Places {
    type Item = u64;

    /// The next place, counted from 0.
    fn next(&mut self) -> Option<u64> {
        Some(match self.pattern {
            Pattern::Random => self.prng.below(self.count),
            Pattern::Sequential => {
                let place = self.next;
                self.next = (place + 1) % self.count;
                place
            }
        })
    }
}
