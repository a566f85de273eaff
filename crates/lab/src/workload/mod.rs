//! Workloads: what programs do on a stack. Each has a file with its own parameters.
//!
//! A workload is a value ([`Workload`]). How it runs is in `bench::steps`, in a file of the same
//! name. To add a workload, add both files, a variant here, and its options on the command line.

use std::collections::BTreeMap;
use std::str::FromStr;

use flysch_names::UnknownName;
use flysch_sqlite::Settings;

use crate::machine::stack::Engine;
use crate::parameter::Parameter;

mod amount;
mod contacts;
mod logger;
mod micro;
mod mount;
mod pattern;
mod postmark;
mod read;
mod strings;
mod tpcc;

pub use amount::{Amount, Unit};
pub use contacts::Contacts;
pub(crate) use contacts::TEXT_COUNT;
pub use logger::{Logger, READING_SIZE_MIN};
pub(crate) use logger::{Reading, Readings, SENSORS};
pub use micro::{Micro, insert, schema};
pub use mount::{Mount, Stop};
pub use pattern::Pattern;
pub(crate) use pattern::Places;
pub use postmark::Postmark;
pub use read::Read;
pub(crate) use strings::printable;
pub use strings::{Alphabet, RandomStrings};
pub use tpcc::Tpcc;

/// A workload with its own parameters. The number of requests and the seed are in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Algorithm 1 of Boukhobza et al.
    Micro(Micro),
    /// Reads of one file.
    Read(Read),
    /// Selects on a database of contacts.
    Contacts(Contacts),
    /// Transactions on many small files.
    Postmark(Postmark),
    Tpcc(Tpcc),
    /// A file of half the size of the partition is overwritten again and again, which shows wear.
    Overwrite,
    /// A log of sensors, and queries on it.
    Logger(Logger),
    /// Transactions on a log of sensors, a stop, and the mount after it.
    Mount(Mount),
    /// A program of the user, with its own SQLite.
    Program,
}

impl Workload {
    /// Every workload, with its default parameters.
    pub const ALL: [Self; 12] = [
        Self::Micro(Micro::Insert),
        Self::Micro(Micro::Select),
        Self::Micro(Micro::Join),
        Self::Micro(Micro::Update),
        Self::Micro(Micro::Commit),
        Self::Read(Read::DEFAULT),
        Self::Contacts(Contacts::DEFAULT),
        Self::Postmark(Postmark::DEFAULT),
        Self::Tpcc(Tpcc::DEFAULT),
        Self::Overwrite,
        Self::Logger(Logger::DEFAULT),
        Self::Mount(Mount::DEFAULT),
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Micro(kind) => kind.name(),
            Self::Read(_) => "read",
            Self::Contacts(_) => "contacts",
            Self::Postmark(_) => "postmark",
            Self::Tpcc(_) => "tpcc",
            Self::Overwrite => "overwrite",
            Self::Logger(_) => "logger",
            Self::Mount(_) => "mount",
            Self::Program => "program",
        }
    }

    /// The engine that handles its requests by default.
    pub const fn engine(self) -> Engine {
        match self {
            Self::Micro(_)
            | Self::Contacts(_)
            | Self::Tpcc(_)
            | Self::Logger(_)
            | Self::Mount(_)
            | Self::Program => Engine::Sqlite,
            Self::Read(_) | Self::Postmark(_) | Self::Overwrite => Engine::File,
        }
    }

    /// Whether an engine can handle its requests.
    pub fn runs_on(self, engine: Engine) -> bool {
        match engine {
            Engine::Sqlite | Engine::File => engine == self.engine(),
            Engine::Redb => matches!(
                self,
                Self::Micro(_) | Self::Contacts(_) | Self::Logger(_) | Self::Mount(_)
            ),
            Engine::Flysch => {
                matches!(
                    self,
                    Self::Micro(_)
                        | Self::Contacts(_)
                        | Self::Logger(_)
                        | Self::Mount(_)
                        | Self::Tpcc(_)
                )
            }
        }
    }

    /// Whether it has records, whose size, number and alphabet the scenario sets.
    pub const fn has_records(self) -> bool {
        matches!(self, Self::Micro(_) | Self::Logger(_) | Self::Mount(_))
    }

    /// A workload that prepares the same files as this one, without regard to its requests. None if
    /// what it prepares cannot be used again.
    pub(crate) fn beginning(self) -> Option<Self> {
        match self {
            Self::Micro(kind) => Some(Self::Micro(kind.beginning())),
            Self::Read(Read { file_size, .. }) => {
                Some(Self::Read(Read { file_size, ..Read::DEFAULT }))
            }
            Self::Contacts(contacts) => {
                Some(Self::Contacts(Contacts { pattern: Pattern::Sequential, ..contacts }))
            }
            Self::Postmark(_)
            | Self::Tpcc(_)
            | Self::Overwrite
            | Self::Logger(_)
            | Self::Mount(_)
            | Self::Program => None,
        }
    }

    /// Whether records are there before its first request.
    pub(crate) const fn is_filled(self) -> bool {
        match self {
            Self::Micro(kind) => kind.is_filled(),
            _ => true,
        }
    }

    /// The order of its requests.
    pub const fn pattern(self) -> Pattern {
        match self {
            Self::Micro(_) | Self::Overwrite | Self::Logger(_) | Self::Mount(_) => {
                Pattern::Sequential
            }
            Self::Read(read) => read.pattern,
            Self::Contacts(contacts) => contacts.pattern,
            Self::Postmark(_) | Self::Tpcc(_) | Self::Program => Pattern::Random,
        }
    }

    /// Whether the timers of the file systems are held while its files are prepared.
    pub const fn holds_timers(self) -> bool {
        !matches!(self, Self::Micro(_) | Self::Program)
    }

    /// Whether it writes random strings of the scenario's alphabet.
    pub const fn has_strings(self) -> bool {
        matches!(self, Self::Micro(_) | Self::Contacts(_) | Self::Logger(_) | Self::Mount(_))
    }

    /// Bytes of data in a request, if the workload's own parameters decide it. None if the scenario
    /// does.
    pub const fn record_size(self) -> Option<u32> {
        match self {
            Self::Micro(_)
            | Self::Tpcc(_)
            | Self::Overwrite
            | Self::Logger(_)
            | Self::Mount(_)
            | Self::Program => None,
            Self::Read(read) => Some(read.request_size),
            Self::Contacts(contacts) => Some(contacts.text_bytes()),
            Self::Postmark(postmark) => Some(postmark.block_size),
        }
    }

    /// Bytes that a run of `requests` requests needs on the file system. None if any partition of a
    /// platform has enough.
    pub fn room(self, settings: &Settings, requests: u32) -> Option<u64> {
        match self {
            Self::Micro(_)
            | Self::Read(_)
            | Self::Contacts(_)
            | Self::Postmark(_)
            | Self::Overwrite
            | Self::Logger(_)
            | Self::Mount(_)
            | Self::Program => None,
            Self::Tpcc(tpcc) => Some(tpcc.room(settings, requests)),
        }
    }

    /// The names of the figures that only runs of this workload have.
    pub const fn figures(self) -> &'static [&'static str] {
        match self {
            Self::Micro(_)
            | Self::Contacts(_)
            | Self::Overwrite
            | Self::Logger(_)
            | Self::Program => &[],
            Self::Read(_) => &Read::FIGURES,
            Self::Postmark(_) => &Postmark::FIGURES,
            Self::Tpcc(_) => &Tpcc::FIGURES,
            Self::Mount(_) => &Mount::FIGURES,
        }
    }

    /// The workload's own parameters, by their names on the command line.
    pub fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        match self {
            Self::Micro(_) | Self::Overwrite | Self::Program => BTreeMap::new(),
            Self::Read(read) => read.parameters(),
            Self::Contacts(contacts) => contacts.parameters(),
            Self::Postmark(postmark) => postmark.parameters(),
            Self::Tpcc(tpcc) => tpcc.parameters(),
            Self::Logger(logger) => logger.parameters(),
            Self::Mount(mount) => mount.parameters(),
        }
    }
}

impl From<Micro> for Workload {
    fn from(kind: Micro) -> Self {
        Self::Micro(kind)
    }
}

impl FromStr for Workload {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|workload| workload.name() == name);
        found.ok_or_else(|| UnknownName::new("workload", name, Self::ALL.map(Self::name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_known_by_its_name() {
        for workload in Workload::ALL {
            assert_eq!(workload.name().parse(), Ok(workload));
        }
    }
}
