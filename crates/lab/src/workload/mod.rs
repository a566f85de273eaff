//! What is asked of a stack: one workload a file, each with the parameters that are its own.
//!
//! A workload is a value ([`Workload`]) and a run of it under way ([`Steps`]). To add one: a file
//! with both, a variant here, its options on the command line.

use std::collections::BTreeMap;
use std::str::FromStr;

use flysch_sqlite::Settings;

use crate::bench::measure::Timing;
use crate::bench::run::Run;
use crate::bench::scenario::RunError;
use crate::bench::session::Session;
use crate::choice::UnknownChoice;
use crate::machine::stack::Engine;

mod contacts;
mod micro;
mod overwrite;
mod pattern;
mod postmark;
mod read;
mod strings;
mod tpcc;

pub use contacts::Contacts;
pub use micro::{Micro, insert, schema};
pub use pattern::Pattern;
pub use postmark::Postmark;
pub use read::Read;
pub use strings::{Alphabet, RandomStrings};
pub use tpcc::Tpcc;

/// A workload with its own parameters. Requests and seed are the scenario's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Algorithm 1 of Boukhobza et al.
    Micro(Micro),
    /// Reads of a file.
    Read(Read),
    /// Selects on a database of contacts.
    Contacts(Contacts),
    /// Transactions on many small files.
    Postmark(Postmark),
    /// TPC-C.
    Tpcc(Tpcc),
    /// Overwrites of one file that takes half of the partition: its wear.
    Overwrite,
}

/// A run of a workload under way, step by step.
pub trait Steps {
    /// What is open while the requests run.
    type Opened;

    /// Whether timers are held during [`Steps::prepare`], so that what it leaves behind (JFFS2's
    /// collects a page every 5 s while files are written) does not depend on the platform's speed.
    const HOLDS_TIMERS: bool = true;

    /// Make what the requests work on; outside the measured interval.
    ///
    /// # Errors
    /// What failed, and at which record.
    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError>;

    /// Open it with cold caches; its page reads are told apart.
    ///
    /// # Errors
    /// What failed.
    fn open(&mut self, session: &Session<'_>) -> Result<Self::Opened, RunError>;

    /// Run the measured interval.
    ///
    /// # Errors
    /// What failed, and at which request.
    fn measure(
        &mut self,
        session: &Session<'_>,
        opened: &mut Self::Opened,
    ) -> Result<Measured, RunError>;

    /// After the interval, with its trace taken: check what the requests left behind.
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(
        &mut self,
        _session: &Session<'_>,
        _opened: &mut Self::Opened,
    ) -> Result<(), RunError> {
        Ok(())
    }
}

/// What the measured interval gave.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Times.
    pub timing: Timing,
    /// Bytes of data asked for.
    pub bytes: u64,
    /// Figures that only this workload has, by name with unit.
    pub figures: BTreeMap<&'static str, f64>,
    /// The kind of each request, as its scope is labelled, where there are several.
    pub kinds: Vec<&'static str>,
}

impl Measured {
    /// Times and bytes, and no figures of the workload's own.
    pub const fn new(timing: Timing, bytes: u64) -> Self {
        Self { timing, bytes, figures: BTreeMap::new(), kinds: Vec::new() }
    }
}

impl Workload {
    /// Every workload, its own parameters at their defaults.
    pub const ALL: [Self; 10] = [
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
        }
    }

    /// What carries its requests out.
    pub const fn engine(self) -> Engine {
        match self {
            Self::Micro(_) | Self::Contacts(_) | Self::Tpcc(_) => Engine::Sqlite,
            Self::Read(_) | Self::Postmark(_) | Self::Overwrite => Engine::File,
        }
    }

    /// Whether records, their size, number and alphabet are the scenario's.
    pub const fn is_micro(self) -> bool {
        matches!(self, Self::Micro(_))
    }

    /// The workload that is prepared alike, whatever its requests are then; none where they change
    /// what they work on.
    pub(crate) fn preparation(self) -> Option<Self> {
        match self {
            Self::Micro(kind) => kind.is_reading().then_some(self),
            Self::Read(Read { file_size, .. }) => {
                Some(Self::Read(Read { file_size, ..Read::DEFAULT }))
            }
            Self::Contacts(contacts) => {
                Some(Self::Contacts(Contacts { pattern: Pattern::Sequential, ..contacts }))
            }
            Self::Postmark(_) | Self::Tpcc(_) | Self::Overwrite => None,
        }
    }

    /// Order of its requests.
    pub const fn pattern(self) -> Pattern {
        match self {
            Self::Micro(_) | Self::Overwrite => Pattern::Sequential,
            Self::Read(read) => read.pattern,
            Self::Contacts(contacts) => contacts.pattern,
            Self::Postmark(_) | Self::Tpcc(_) => Pattern::Random,
        }
    }

    /// Whether it writes random strings, of the scenario's alphabet.
    pub const fn has_strings(self) -> bool {
        matches!(self, Self::Micro(_) | Self::Contacts(_))
    }

    /// Bytes of a request's data where the workload itself says it.
    pub const fn record_size(self) -> Option<u32> {
        match self {
            Self::Micro(_) | Self::Tpcc(_) | Self::Overwrite => None,
            Self::Read(read) => Some(read.request_size),
            Self::Contacts(contacts) => Some(contacts.text_bytes()),
            Self::Postmark(postmark) => Some(postmark.block_size),
        }
    }

    /// Bytes that a run of `requests` needs on the file system, where it may be more than the
    /// platform's partition.
    pub fn room(self, settings: &Settings, requests: u32) -> Option<u64> {
        match self {
            Self::Micro(_)
            | Self::Read(_)
            | Self::Contacts(_)
            | Self::Postmark(_)
            | Self::Overwrite => None,
            Self::Tpcc(tpcc) => Some(tpcc.room(settings, requests)),
        }
    }

    /// Its own parameters, by their command-line names.
    pub fn parameters(self) -> BTreeMap<&'static str, String> {
        match self {
            Self::Micro(_) | Self::Overwrite => BTreeMap::new(),
            Self::Read(read) => read.parameters(),
            Self::Contacts(contacts) => contacts.parameters(),
            Self::Postmark(postmark) => postmark.parameters(),
            Self::Tpcc(tpcc) => tpcc.parameters(),
        }
    }

    /// Carry a session out from first to last.
    pub(crate) fn carry_out(self, session: &Session<'_>) -> Result<Run, RunError> {
        match self {
            Self::Micro(kind) => session.carry_out(micro::Run::new(kind, session)),
            Self::Read(read) => session.carry_out(read::Run::new(read, session)),
            Self::Contacts(contacts) => session.carry_out(contacts::Run::new(contacts, session)),
            Self::Postmark(postmark) => session.carry_out(postmark::Run::new(postmark, session)),
            Self::Tpcc(tpcc) => session.carry_out(tpcc::Run::new(tpcc)),
            Self::Overwrite => session.carry_out(overwrite::Run::new(session)),
        }
    }
}

impl From<Micro> for Workload {
    fn from(kind: Micro) -> Self {
        Self::Micro(kind)
    }
}

impl FromStr for Workload {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|workload| workload.name() == name);
        found.ok_or_else(|| UnknownChoice::new("workload", name, &Self::ALL.map(Self::name)))
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
