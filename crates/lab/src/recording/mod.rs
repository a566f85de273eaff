//! Recordings: the calls of SQLite's interface that programs made, as a file. It can be replayed on
//! any stack without the programs.
//!
//! ```text
//! file      the format, and why a file is refused
//! script    SQL texts, which are accepted wherever a recording is
//! transactions  where transactions begin and end; joining several of them into one
//! variant   settings that replace those of a recording
//! replay    runs a recording on a simulated machine, with the bundled SQLite
//! differ    where two runs of the same calls differ
//! ```

mod differ;
mod file;
mod replay;
mod script;
mod transactions;
mod variant;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use flysch_sqlite::calls::{About, Call, Entry};
use serde::{Deserialize, Serialize};

use crate::program::{Simulation, Start};

use transactions::Role;

pub use differ::{Difference, differences};
pub use file::VERSION;
pub use replay::{Replay, ReplayError};
pub use variant::Variant;

/// Which run a recording was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The stack that it ran on.
    pub on: String,
    /// When it ran, milliseconds since 1970.
    pub started_ms: i64,
}

/// The calls of SQLite's interface that programs made.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The name of its file, or of the recorded program.
    pub name: String,
    pub origin: Origin,
    /// The version and settings of the programs' SQLite.
    pub about: About,
    /// The state of each database at the start.
    pub databases: Vec<Start>,
    /// What the programs did that no replay can repeat, such as their own SQL functions.
    pub cannot: Vec<String>,
    pub entries: Vec<Entry>,
    /// The line at which each entry begins, if this is an SQL script. None for a recording.
    pub lines: Option<Vec<usize>>,
}

/// Why a file is not a valid recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    pub path: PathBuf,
    pub why: String,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for RecordingError {}

impl Recording {
    /// The recording of a simulation's run.
    pub fn of(simulation: &Simulation, origin: Origin) -> Self {
        let mut log = simulation.log().borrow_mut();
        let entries = log.finish(simulation.take_changes());
        let mut cannot = cannot_repeat(log.notes(), &entries);
        if log.strays() > 0 {
            cannot.push(format!("{} calls of functions that the program looked up", log.strays()));
        }
        let (about, databases) = (log.about().clone(), simulation.starts());
        let name = origin.command.first().cloned().unwrap_or_default();
        Self { name, origin, about, databases, cannot, entries, lines: None }
    }

    /// Read a recording or an SQL script from a file.
    ///
    /// # Errors
    /// Says what is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        let refused = |why: String| RecordingError { path: path.to_owned(), why };
        let bytes = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let is_named = path.extension().is_some_and(|end| end == "rec");
        if is_named || bytes.starts_with(b"{\"") {
            return file::parse(name, &bytes).map_err(refused);
        }
        script::parse(name, &bytes).map_err(refused)
    }

    /// The content of its file.
    pub fn bytes(&self) -> Vec<u8> {
        file::bytes(self)
    }

    /// The files that the databases begin with, by the databases' names on the machine: those that
    /// the user gives, and otherwise the recorded paths on the host, if these files have not
    /// changed.
    ///
    /// # Errors
    /// Names a database that has changed or is gone, or a file that no database needs.
    pub fn sources(&self, given: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>, String> {
        let mut sources = BTreeMap::new();
        for path in given {
            let place = self.place_of(path)?;
            sources.insert(place, path.clone());
        }
        for start in self.databases.iter().filter(|start| start.content.is_some()) {
            if sources.contains_key(&start.name) {
                continue;
            }
            let found = std::fs::read(&start.path).ok();
            let found = found.map(|bytes| (bytes.len() as u64, crc32fast::hash(&bytes)));
            if found != start.content {
                let what = if found.is_some() { "has changed since" } else { "is gone" };
                return Err(format!(
                    "{}: it {what}; --database gives the file with which the recording began",
                    start.path
                ));
            }
            sources.insert(start.name.clone(), PathBuf::from(&start.path));
        }
        Ok(sources)
    }

    /// The database that a given file is for: the one with the same name, or the only one.
    fn place_of(&self, path: &Path) -> Result<String, String> {
        if !path.is_file() {
            return Err(format!("{}: there is no such file", path.display()));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let found = self.databases.iter().find(|start| Some(&start.name) == name.as_ref());
        match (found, self.databases.as_slice()) {
            (Some(one), _) | (None, [one]) => Ok(one.name.clone()),
            (None, others) => {
                let known: Vec<&str> = others.iter().map(|it| it.name.as_str()).collect();
                let (file, known) = (path.display(), known.join(", "));
                Err(format!("{file}: it is for none of the databases {known}"))
            }
        }
    }

    /// Whether a program asked for a write-ahead log itself.
    pub fn asks_for_log(&self) -> bool {
        self.entries.iter().filter_map(sql_of).any(|sql| variant::asks_for_log(sql.as_bytes()))
    }

    /// Whether processes or connections worked at the same time. A replay makes their calls one
    /// after the other, so waits and refusals are not those of the run.
    pub fn worked_at_once(&self) -> bool {
        let is_refused = |entry: &Entry| BUSY_AND_LOCKED.contains(&(entry.code & 0xFF));
        if self.entries.iter().any(is_refused) {
            return true;
        }
        // The places of the first and the last call of each process so far.
        let mut spans: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
        let calls = self.entries.iter().filter(|entry| entry.call != Call::End);
        for (place, process) in calls.map(|entry| entry.process).enumerate() {
            let (first, last) = *spans.entry(process).or_insert((place, place));
            // One that began earlier went on in the midst of this one's calls, and this one goes on
            // after it. A program that only waits for those that it started does not do that.
            let crosses = |&(other, latest): &(usize, usize)| {
                other < first && latest > last.max(first) && place > latest
            };
            if spans.values().any(crosses) {
                return true;
            }
            spans.insert(process, (first, place));
        }
        false
    }

    /// For each call, whether it ends a transaction.
    pub fn transaction_ends(&self) -> Vec<bool> {
        let roles = transactions::roles(&self.entries).into_iter();
        roles.map(|(role, _)| matches!(role, Role::Commit | Role::Alone)).collect()
    }

    /// A description of an entry for people: its place and its SQL.
    pub fn describe(&self, place: usize) -> String {
        let text = self.entries.get(place).map(|entry| self.text_of(&entry.call));
        let text = text.unwrap_or_default();
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(TEXT_MAX).collect();
        format!("{}: {text}", self.place(place))
    }

    /// The place of an entry: file and line in a script, else its number.
    pub fn place(&self, place: usize) -> String {
        match self.lines.as_ref().and_then(|lines| lines.get(place)) {
            Some(line) => format!("{}:{line}", self.name),
            None => format!("call {} of {}", place + 1, self.name),
        }
    }

    /// The SQL that a call executes, or the call's name if it has none.
    fn text_of(&self, call: &Call) -> String {
        let of_statement = |wanted: u32| {
            let compiled = self.entries.iter().find_map(|entry| match &entry.call {
                Call::Prepare { statement, sql, .. } if *statement == wanted => Some(sql.text()),
                _ => None,
            });
            compiled.unwrap_or_default()
        };
        match call {
            Call::Prepare { sql, .. } | Call::Execute { sql, .. } => sql.text(),
            Call::Bind { statement, .. }
            | Call::Clear { statement }
            | Call::Step { statement }
            | Call::Reset { statement }
            | Call::Finalize { statement } => of_statement(*statement),
            Call::Open { name, .. } => format!("open {name}"),
            Call::Close { .. } => "close".to_owned(),
            Call::BusyTimeout { .. } => "busy_timeout".to_owned(),
            Call::Checkpoint { .. } => "wal_checkpoint".to_owned(),
            Call::AutoCheckpoint { .. } => "wal_autocheckpoint".to_owned(),
            Call::End => "end of the process".to_owned(),
        }
    }
}

/// The result codes of a call that another connection kept from its work.
const BUSY_AND_LOCKED: [i32; 2] = [5, 6];
/// The most characters of a statement in a description.
const TEXT_MAX: usize = 80;

/// What no replay can repeat: functions and collations that programs defined, and calls that a
/// replay does not know. A function or collation only counts if a statement names it.
fn cannot_repeat<'a>(
    notes: impl IntoIterator<Item = &'a String>,
    entries: &[Entry],
) -> Vec<String> {
    let texts: Vec<String> = entries.iter().filter_map(sql_of).collect();
    let is_named = |name: &str| {
        texts.iter().any(|text| {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            text.split(|letter| !is_part(letter)).any(|word| word.eq_ignore_ascii_case(name))
        })
    };
    let matters = |note: &&String| match note.split_once(' ') {
        Some(("function" | "collation" | "module", name)) => is_named(name),
        _ => true,
    };
    notes.into_iter().filter(matters).cloned().collect()
}

fn sql_of(entry: &Entry) -> Option<String> {
    match &entry.call {
        Call::Prepare { sql, .. } | Call::Execute { sql, .. } => Some(sql.text()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_work_at_the_same_time_are_seen() {
        let of = |processes: &[u32]| {
            let step = |&process: &u32| Entry::new(process, Call::Step { statement: 1 });
            Recording {
                name: String::new(),
                origin: Origin::default(),
                about: About::default(),
                databases: Vec::new(),
                cannot: Vec::new(),
                entries: processes.iter().map(step).collect(),
                lines: None,
            }
        };
        for alone in [&[1, 1][..], &[1, 2, 2, 1], &[1, 2, 1, 3, 3, 1], &[1, 2, 3]] {
            assert!(!of(alone).worked_at_once(), "{alone:?}");
        }
        for together in [&[1, 2, 1, 2][..], &[1, 2, 3, 2, 3, 1], &[1, 2, 2, 1, 1, 2]] {
            assert!(of(together).worked_at_once(), "{together:?}");
        }
        let mut refused = of(&[1]);
        refused.entries[0].code = 517;
        assert!(refused.worked_at_once());
    }
}
