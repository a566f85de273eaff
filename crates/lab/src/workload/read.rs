//! Reads of one file, as Olivier et al. (`EWiLi` 2014) do them to see what read-ahead costs.

use std::collections::BTreeMap;
use std::str::FromStr;

use flysch_chip::Prng;
use flysch_linux::filesystem::CACHE_PAGE_SIZE;
use flysch_linux::vfs::Fd;

use super::{Measured, Steps};
use crate::choice::UnknownChoice;
use crate::scenario::RunError;
use crate::session::{Interval, Session};

/// Name of the file.
const FILE: &str = "file";

/// The order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One after the other, from the start.
    Sequential,
    /// At random, all equally likely.
    Random,
}

/// Reads of a file of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Their order.
    pub pattern: Pattern,
    /// Bytes of each; it begins at a multiple of this.
    pub request_size: u32,
    /// Bytes of the file.
    pub file_size: u32,
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
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|pattern| pattern.name() == name);
        found.ok_or_else(|| UnknownChoice::new("pattern", name, &Self::ALL.map(Self::name)))
    }
}

impl Read {
    /// The paper's: a file of 5 MiB, read by pages of the cache.
    pub const DEFAULT: Self =
        Self { pattern: Pattern::Sequential, request_size: 4096, file_size: 5 << 20 };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("pattern", self.pattern.name().to_owned()),
            ("request-size", self.request_size.to_string()),
            ("file-size", self.file_size.to_string()),
        ])
    }

    /// Places for a request in the file.
    const fn places(self) -> u64 {
        (self.file_size / self.request_size) as u64
    }
}

/// A run under way.
pub(super) struct Run {
    read: Read,
    prng: Prng,
}

impl Run {
    pub(super) fn new(read: Read, session: &Session<'_>) -> Self {
        Self { read, prng: Prng::new(session.scenario.seed ^ 0x5EED) }
    }

    /// Where request `number`, counted from 0, begins.
    fn offset(&mut self, number: u32) -> u64 {
        let place = match self.read.pattern {
            Pattern::Sequential => u64::from(number) % self.read.places(),
            Pattern::Random => self.prng.below(self.read.places()),
        };
        place * u64::from(self.read.request_size)
    }
}

impl Steps for Run {
    type Opened = Fd;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let mut linux = session.linux();
        let fd = linux.open(FILE, true)?;
        let mut page = [0; CACHE_PAGE_SIZE];
        for offset in (0..self.read.file_size).step_by(CACHE_PAGE_SIZE) {
            self.prng.fill(&mut page);
            let left = (self.read.file_size - offset) as usize;
            linux.write(fd, offset.into(), &page[..left.min(CACHE_PAGE_SIZE)])?;
        }
        linux.fsync(fd)?;
        Ok(linux.close(fd)?)
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Fd, RunError> {
        Ok(session.linux().open(FILE, false)?)
    }

    fn measure(&mut self, session: &Session<'_>, &mut fd: &mut Fd) -> Result<Measured, RunError> {
        let mut bytes = vec![0; self.read.request_size as usize];
        let mut read = 0;
        let mut interval = Interval::begin(session);
        for number in 0..session.scenario.requests {
            let offset = self.offset(number);
            read += interval
                .request("request", || Ok(session.linux().read(fd, offset, &mut bytes)?))?
                as u64;
        }
        Ok(Measured::new(interval.end(), read))
    }
}
