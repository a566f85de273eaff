//! The order in which a workload's requests go to places.

use std::str::FromStr;

use flysch_chip::Prng;

use crate::unknown_name::UnknownName;

/// The order of requests to equal places, such as the pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One place after the other, beginning with the first. The last is followed by the first.
    Sequential,
    /// A random place each time. All are equally likely.
    Random,
}

impl Pattern {
    const ALL: [Self; 2] = [Self::Sequential, Self::Random];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

impl FromStr for Pattern {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|pattern| pattern.name() == name);
        found.ok_or_else(|| UnknownName::new("pattern", name, &Self::ALL.map(Self::name)))
    }
}

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
