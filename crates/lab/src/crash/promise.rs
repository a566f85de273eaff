//! What was acknowledged before a cut, and so must be there after it.
//!
//! The recording is replayed in RAM. After each call that changed a database, its content is noted.
//! It is read from a copy of the files, because a second connection to the database could delete
//! its write-ahead log when it closes. After a cut, the database must have one of the noted
//! contents: not an older one than the last that was acknowledged before the cut, and none whose
//! call began after it. SQLite promises less in some modes:
//!
//! - `synchronous` off, or a journal in memory or none: nothing.
//! - a write-ahead log with `synchronous` normal: the contents after the last sync of the log.
//! - a rollback journal that is deleted without `synchronous` extra, or emptied with normal: the
//!   content before the last transaction, as the journal may come back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use flysch_sqlite::calls::Call;
use flysch_sqlite::{Database, Player, Value};

use super::may_commit;
use crate::advice::Safety;
use crate::bench::grid::Grid;
use crate::machine::platform::Platform;
use crate::machine::stack::Stack;
use crate::program::{Simulation, with_companions};
use crate::recording::{Recording, Replay, ReplayError};
use crate::workload::Workload;

/// The checksum of a database without a table.
pub(super) const EMPTY: u32 = 0;

/// The content of a database after a call that changed it.
#[derive(Clone, Copy, Debug)]
struct State {
    digest: Option<u32>,
    /// The number of changes to the devices before the call that led to this content, and after it.
    begun: usize,
    acknowledged: usize,
    /// The number of changes after which this content is surely on flash. None if it is not
    /// promised to get there.
    durable: Option<usize>,
    survives: Safety,
}

/// The content of a database file, its journal and its log. None for a file that does not exist.
type Parts = Vec<Option<Vec<u8>>>;

/// The number of changes to the devices before each call, and at the end of the run.
pub(super) struct Moments {
    pub(super) before: Vec<usize>,
    pub(super) all: usize,
}

impl Moments {
    fn of(&self, place: usize) -> usize {
        self.before.get(place).copied().unwrap_or(self.all)
    }
}

/// The contents that each database had in turn, by its name on the machine.
#[derive(Debug, Default)]
pub(super) struct Promises(BTreeMap<String, Vec<State>>);

impl Promises {
    /// Replay a recording to find the contents of its databases. Without `shares_memory`, SQLite
    /// gets no write-ahead log, as on the stack of the run.
    pub(super) fn of(
        replay: &Replay<'_>,
        moments: &Moments,
        shares_memory: bool,
    ) -> Result<Self, ReplayError> {
        let recording = replay.recording;
        let platform = Platform::named("nandsim-6.1").expect("it is built in");
        let grid = Grid::new(Workload::Program, Stack::TMPFS, Arc::new(platform));
        let mut scenarios = grid.scenarios();
        let scenario = scenarios.pop().expect("a grid has a scenario");
        let mut promises = Self::at_the_start(replay);
        let simulation = replay.simulation(&scenario)?;
        if !shares_memory {
            simulation.keep_memory_private();
        }
        let mut known = BTreeMap::new();
        replay.play(&simulation, |place, entry, player| {
            if !may_commit(entry) {
                return;
            }
            let connection = connection(&entry.call, recording, place);
            let survives = connection.map(|it| survives(player, it));
            let span = (moments.of(place), moments.of(place + 1));
            promises.note(&simulation, &mut known, span, survives);
        })?;
        Ok(promises)
    }

    /// Note the contents that a call left. `begun` and `acknowledged` are the numbers of changes to
    /// the devices before and after the call. `known` holds the files before the call. `survives`
    /// is what SQLite promises in the mode of the connection; without it, the promise of the
    /// previous content is taken.
    fn note(
        &mut self,
        simulation: &Simulation,
        known: &mut BTreeMap<String, Parts>,
        (begun, acknowledged): (usize, usize),
        survives: Option<Safety>,
    ) {
        let (synced, all) = (simulation.take_synced(), simulation.databases().unwrap_or_default());
        let all: BTreeMap<String, Vec<u8>> = all.into_iter().collect();
        for (name, states) in &mut self.0 {
            let parts: Parts = with_companions(name).map(|file| all.get(&file).cloned()).collect();
            let last = states.last_mut().expect("there is a first");
            // SQLite syncs the log before a checkpoint and before it restarts it, so all that was
            // in the log is safe.
            if synced.contains(&format!("{name}-wal")) {
                last.durable.get_or_insert(acknowledged);
            }
            if parts.iter().all(Option::is_none) || known.get(name) == Some(&parts) {
                continue;
            }
            let (digest, survives) = (copied(&parts), survives.unwrap_or(last.survives));
            let durable = (survives == Safety::Whole).then_some(acknowledged);
            states.push(State { digest, begun, acknowledged, durable, survives });
            known.insert(name.clone(), parts);
        }
    }

    /// The content of each database before the first call.
    fn at_the_start(replay: &Replay<'_>) -> Self {
        let first = |name: &String| {
            let source = replay.sources.get(name);
            let digest = source.map_or(Some(EMPTY), |source| copied(&parts_of(source)));
            let survives = Safety::Whole;
            State { digest, begun: 0, acknowledged: 0, durable: Some(0), survives }
        };
        let names = replay.recording.databases.iter().map(|start| &start.name);
        Self(names.map(|name| (name.clone(), vec![first(name)])).collect())
    }

    /// The databases with a transaction that was acknowledged before change `at`. They must exist
    /// after a cut there.
    pub(super) fn due(&self, at: usize) -> impl Iterator<Item = &str> {
        let is_due = move |states: &Vec<State>| states[1..].iter().any(|it| it.acknowledged <= at);
        self.0.iter().filter(move |(_, states)| is_due(states)).map(|(name, _)| name.as_str())
    }

    /// What is wrong with the content `found` after a cut at change `at`. None if it is as
    /// promised.
    pub(super) fn broken(&self, name: &str, found: Option<u32>, at: usize) -> Option<String> {
        let states = self.0.get(name)?;
        let begun = states.partition_point(|state| state.begun <= at);
        let known = states[..begun].iter().rposition(|state| state.acknowledged <= at)?;
        let first = match states[known].survives {
            Safety::Nothing => return None,
            Safety::WithoutSome => {
                let is_durable = |state: &State| state.durable.is_some_and(|since| since <= at);
                states[..=known].iter().rposition(is_durable).unwrap_or(0)
            }
            Safety::Whole => known,
            Safety::WithoutLast => {
                let content = states[known].digest;
                states[..known].iter().rposition(|state| state.digest != content).unwrap_or(0)
            }
        };
        let is_there = |state: &State| state.digest.is_none() || state.digest == found;
        if states[first..begun].iter().any(is_there) {
            return None;
        }
        let older = states[..first].iter().rposition(|state| state.digest == found);
        Some(match older {
            Some(older) => {
                let lost = states[older..=known].windows(2);
                let lost = lost.filter(|pair| pair[0].digest != pair[1].digest).count();
                format!("{name}: {lost} acknowledged transactions are lost")
            }
            None => format!("{name}: its content is that of no transaction"),
        })
    }
}

/// The connection that a call was made on.
fn connection(call: &Call, recording: &Recording, place: usize) -> Option<u32> {
    let of_statement = |wanted: u32| {
        recording.entries[..place].iter().rev().find_map(|entry| match &entry.call {
            Call::Prepare { statement, connection, .. } if *statement == wanted => {
                Some(*connection)
            }
            _ => None,
        })
    };
    match call {
        Call::Execute { connection, .. }
        | Call::Prepare { connection, .. }
        | Call::Checkpoint { connection, .. } => Some(*connection),
        Call::Step { statement } | Call::Reset { statement } | Call::Finalize { statement } => {
            of_statement(*statement)
        }
        Call::Open { .. }
        | Call::Close { .. }
        | Call::Bind { .. }
        | Call::Clear { .. }
        | Call::BusyTimeout { .. }
        | Call::AutoCheckpoint { .. }
        | Call::End => None,
    }
}

/// What SQLite promises in the mode of a connection.
fn survives(player: &mut Player<'_>, connection: u32) -> Safety {
    let mut ask = |sql: &str| player.ask(connection, sql).into_iter().next().unwrap_or_default();
    let (journal, synchronous) = (ask("PRAGMA journal_mode"), ask("PRAGMA synchronous"));
    Safety::answered(&journal, &synchronous)
}

/// The content of the files of a database of the host.
fn parts_of(source: &Path) -> Parts {
    with_companions(&source.to_string_lossy()).map(|path| std::fs::read(path).ok()).collect()
}

/// The checksum of a database with these files. None if it cannot be read.
fn copied(parts: &Parts) -> Option<u32> {
    let folder = tempfile::tempdir().ok()?;
    for (name, part) in with_companions("copy").zip(parts) {
        if let Some(bytes) = part {
            std::fs::write(folder.path().join(name), bytes).ok()?;
        }
    }
    let database = Database::open_file(&folder.path().join("copy")).ok()?;
    database.execute("PRAGMA synchronous = off").ok()?;
    digest(&database)
}

/// A checksum of the schema and all rows. None if they cannot be read.
pub(super) fn digest(database: &Database) -> Option<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name";
    let objects = database.query(schema).ok()?;
    for object in &objects {
        for value in object {
            update(&mut hasher, value);
        }
        let [Value::Text(kind), Value::Text(name), ..] = object.as_slice() else { continue };
        if kind == b"table" {
            let name = String::from_utf8_lossy(name).replace('"', "\"\"");
            let rows = database.query(format!("SELECT * FROM \"{name}\"")).ok()?;
            for value in rows.iter().flatten() {
                update(&mut hasher, value);
            }
        }
    }
    Some(hasher.finalize())
}

fn update(hasher: &mut crc32fast::Hasher, value: &Value) {
    match value {
        Value::Null => hasher.update(b"0"),
        Value::Integer(number) => hasher.update(&number.to_le_bytes()),
        Value::Real(number) => hasher.update(&number.to_bits().to_le_bytes()),
        Value::Text(bytes) | Value::Blob(bytes) => {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four transactions. Each begins at a change and is acknowledged two changes later.
    fn promises(survives: Safety) -> Promises {
        let states = (0..4).map(|number| State {
            digest: Some(number),
            begun: 3 * number as usize,
            acknowledged: 3 * number as usize + 2,
            durable: (number == 1).then_some(7),
            survives,
        });
        Promises(BTreeMap::from([("a.db".to_owned(), states.collect())]))
    }

    #[test]
    fn what_was_acknowledged_is_there_as_far_as_sqlite_promises() {
        // The cut is at change 9: transaction 2 was acknowledged, and 3 has begun.
        for (survives, wanted) in [
            (Safety::Whole, [false, false, true, true, false]),
            (Safety::WithoutLast, [false, true, true, true, false]),
            (Safety::WithoutSome, [false, true, true, true, false]),
            (Safety::Nothing, [true; 5]),
        ] {
            let is_right = |it| promises(survives).broken("a.db", Some(it), 9).is_none();
            assert_eq!([0, 1, 2, 3, 4].map(is_right), wanted, "{survives:?}");
        }
        let promises = promises(Safety::Whole);
        let why = promises.broken("a.db", Some(0), 9);
        assert_eq!(why.as_deref(), Some("a.db: 2 acknowledged transactions are lost"));
        // At change 8, transaction 3 had not begun.
        let why = promises.broken("a.db", Some(3), 8);
        assert_eq!(why.as_deref(), Some("a.db: its content is that of no transaction"));
    }

    #[test]
    fn the_promise_follows_journal_and_synchronous() {
        use Safety::{Nothing, Whole, WithoutLast, WithoutSome};
        for (journal, of_levels) in [
            ("delete", [Nothing, WithoutLast, WithoutLast, Whole]),
            ("truncate", [Nothing, WithoutLast, Whole, Whole]),
            ("persist", [Nothing, Whole, Whole, Whole]),
            ("wal", [Nothing, WithoutSome, Whole, Whole]),
            ("memory", [Nothing; 4]),
            ("off", [Nothing; 4]),
            ("", [Nothing; 4]),
        ] {
            let found = ["0", "1", "2", "3"].map(|level| Safety::answered(journal, level));
            assert_eq!(found, of_levels, "{journal}");
        }
    }

    #[test]
    fn nothing_is_the_checksum_of_an_empty_database() {
        assert_eq!(crc32fast::Hasher::new().finalize(), EMPTY);
    }
}
