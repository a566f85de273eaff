//! The order in which a workload's requests go to places.

use flysch_chip::Prng;
use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

/// The order of requests to equal places, such as the pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Pattern {
    /// One place after the other, beginning with the first. The last is followed by the first.
    Sequential,
    /// A random place each time. All are equally likely.
    Random,
}

named!(Pattern, "pattern");

/// The places that the requests of a run go to.
pub(crate) struct Places {
    pattern: Pattern,
    count: u64,
    next: u64,
    prng: Prng,
}

impl Places {
    /// Requests to `count` places in this order.
    pub(crate) fn new(pattern: Pattern, count: u64, seed: u64) -> Self {
        Self { pattern, count, next: 0, prng: Prng::new(seed) }
    }
}

impl Iterator for Places {
    type Item = u64;

    /// The next place, counted from 0. The sequence does not end.
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
