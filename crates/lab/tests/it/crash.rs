//! SQLite on JFFS2 when the power is cut: in every operation of the chip, with every ending that
//! operation may have, and again while the machine comes back.
//!
//! A run is a row of sessions: mount, open, transactions, close, unmount. A session starts from the
//! image that the one before it left, so that its operations are few enough to be cut one by one.
//! After a cut the machine is started again and must find a sound database in the state before or
//! after the transaction that was under way; then it writes. That start is cut too, and the next.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{
    Chip, Clock, Ending, EventKind, FaultInjector, FaultPlan, Part, Prng, Recorder, Shared, Tracer,
};
use flysch_lab::beside;
use flysch_lab::dual::Route;
use flysch_lab::machine::{Build, Machine};
use flysch_lab::platform::Platform;
use flysch_lab::stack::Stack;
use flysch_lab::storage::Storage;
use flysch_lab::workload::{Alphabet, RandomStrings};
use flysch_lab::{JournalMode, Synchronous};
use flysch_sqlite::{Database, Settings, Value};
use rayon::prelude::*;

/// Small, so that the collector has work and a start reads little.
const PART: &str = r#"
name = "small"
description = "1.25 MiB SLC"
source = "made for this test"
endurance = 100_000
[geometry]
page_size = 2048
oob_size = 64
sectors_per_page = 4
partial_programs = 4
pages_per_block = 16
block_count = 40
in_order = true
[timing]
command_ns = 0
sense_ns = 25_000
transfer_ps_per_byte = 25_000
program_ns = 200_000
erase_ns = 1_000_000
[ecc]
bits = 1
step_size = 256
"#;

/// How a transaction is made to last.
const MODES: [(JournalMode, Synchronous); 4] = [
    (JournalMode::Delete, Synchronous::Extra),
    (JournalMode::Delete, Synchronous::Full),
    (JournalMode::Truncate, Synchronous::Full),
    (JournalMode::Persist, Synchronous::Full),
];
/// Sessions of a run.
const SESSIONS: usize = 4;
/// Transactions of a session.
const TRANSACTIONS: usize = 4;
/// After a cut at a multiple of this, the start is cut at every operation; else at two.
const EXHAUSTIVE: u64 = 100;
/// The table that each start after a cut adds to.
const WITNESS: &str = "CREATE TABLE IF NOT EXISTS witness (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO witness (note) VALUES (hex(zeroblob(100)));";

/// Rows of every table but the witness, table by table.
type Rows = Vec<(String, Vec<Vec<Value>>)>;

/// A run on the small chip.
struct Trial {
    build: Build,
    settings: Settings,
    /// What a session executes.
    sessions: Vec<Vec<String>>,
    /// What the tables hold before any, and after each transaction of the run.
    states: Vec<Rows>,
}

/// What the time between two cuts came to.
struct Life {
    image: Chip,
    is_cut: bool,
    /// The chip's operations.
    kinds: Vec<EventKind>,
}

/// Where the power was cut, innermost last: what replays a failure.
#[derive(Clone, Debug)]
struct Cuts {
    seed: u64,
    mode: (JournalMode, Synchronous),
    session: usize,
    /// Operation, and how it ended.
    at: Vec<(u64, Ending)>,
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, mode: (journal, synchronous), session, at } = self;
        write!(f, "seed {seed}, {journal} {synchronous}, session {session}, cut {at:?}")
    }
}

impl Cuts {
    fn and(&self, at: u64, ending: Ending) -> Self {
        let mut more = self.clone();
        more.at.push((at, ending));
        more
    }

    /// The last cut.
    fn plan(&self) -> FaultPlan {
        let (at, ending) = *self.at.last().expect("a cut");
        FaultPlan {
            seed: self.seed,
            cut_at: Some(at),
            ending: Some(ending),
            ..FaultPlan::default()
        }
    }
}

impl Trial {
    fn new(seed: u64, (journal_mode, synchronous): (JournalMode, Synchronous)) -> Self {
        let platform = Platform::named("nandsim-6.1").expect("it is built in");
        // Few pages, so that larger transactions write to the database before they commit.
        let settings = Settings { journal_mode, synchronous, cache_size: 10, ..platform.sqlite };
        let part = Part::parse(PART).expect("a sound part");
        let build = Build {
            partition_blocks: part.geometry.block_count,
            part: Arc::new(part),
            ecc: platform.ecc,
            ra_pages: 0,
            compressors: platform.jffs2_compressors.clone(),
            ubifs_compressor: platform.ubifs_compressor,
            route: Route::JOURNAL,
            seed,
            platform: Arc::new(platform),
        };
        let sessions = script(seed);
        let mut trial = Self { build, settings, sessions, states: Vec::new() };
        trial.states = trial.model();
        trial
    }

    /// The states of the database, as a stack that never fails has them.
    fn model(&self) -> Vec<Rows> {
        let machine = self.build.format_and_mount(Stack::TMPFS).expect("it is RAM");
        let database = self.open(&machine).expect("nothing fails");
        let mut states = vec![Rows::new()];
        for transaction in self.sessions.iter().flatten() {
            database.execute(transaction).expect("the script is sound");
            states.push(rows(&database).expect("nothing fails"));
        }
        states
    }

    fn open(&self, machine: &Machine) -> Result<Database, flysch_sqlite::Error> {
        let linux = Rc::clone(&machine.linux);
        let storage = Storage::new(linux, machine.recorder.clone(), self.settings, self.build.seed);
        let database = Database::open(Rc::new(storage), "test.db")?;
        database.configure(&self.settings)?;
        Ok(database)
    }

    /// Switch on, mount, do `work` on the database, until it is done or the power is cut.
    fn live(
        &self,
        image: &Chip,
        cuts: &Cuts,
        plan: FaultPlan,
        work: impl FnOnce(&Database) -> Result<(), flysch_sqlite::Error>,
    ) -> Life {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let mut injector = FaultInjector::new(image.fork(clock.clone()));
        injector.arm(plan);
        let pram = beside::new_pram(&recorder, injector.supply(), 0);
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        let mounted = self.build.mount(Stack::JFFS2, device.clone(), pram, recorder.clone());
        let outcome = mounted.map_err(|error| error.to_string()).and_then(|machine| {
            let database = self.open(&machine).map_err(|error| error.to_string())?;
            work(&database).map_err(|error| error.to_string())?;
            drop(database);
            let unmounted = machine.linux.borrow_mut().unmount();
            unmounted.map_err(|error| error.to_string())
        });
        let trace = recorder.take(self.build.part.geometry);
        let events = trace.events.iter().map(|event| event.kind);
        let kinds = events.filter(|kind| kind.is_operation()).collect();
        let tracer = device.borrow();
        let is_cut = !tracer.device().is_on();
        if let Err(error) = outcome {
            assert!(is_cut, "{cuts}: {error}");
        }
        Life { image: tracer.device().chip().fork(Clock::new()), is_cut, kinds }
    }

    /// Live through a session; tell how many of its transactions were committed.
    fn session(&self, image: &Chip, cuts: &Cuts, plan: FaultPlan) -> (Life, usize) {
        let done = Cell::new(0);
        let life = self.live(image, cuts, plan, |database| {
            for transaction in &self.sessions[cuts.session] {
                database.execute(transaction)?;
                done.set(done.get() + 1);
            }
            Ok(())
        });
        (life, done.get())
    }

    /// Start again after a cut: the database must be sound, in one of these states, and take more.
    /// Tell the life and, if it came so far, the state.
    fn restart<'a>(
        &self,
        image: &Chip,
        cuts: &Cuts,
        plan: FaultPlan,
        allowed: &[&'a Rows],
    ) -> (Life, Option<&'a Rows>) {
        let seen = Cell::new(None);
        let life = self.live(image, cuts, plan, |database| {
            let verdict = database.query("PRAGMA integrity_check")?;
            assert_eq!(verdict, [[Value::Text(b"ok".to_vec())]], "{cuts}: integrity");
            let rows = rows(database)?;
            let state = allowed.iter().find(|state| ***state == rows);
            let Some(state) = state else { panic!("{cuts}: {}", difference(&rows, allowed)) };
            seen.set(Some(*state));
            database.execute(format!("BEGIN; {WITNESS} COMMIT;")).map(drop)
        });
        (life, seen.get())
    }

    /// The states that a cut may leave when `done` transactions of the session were committed.
    fn allowed(&self, session: usize, done: usize) -> Vec<&Rows> {
        let before: usize = self.sessions[..session].iter().map(Vec::len).sum();
        let last = before + (done + 1).min(self.sessions[session].len());
        let now = before + done;
        if self.settings.journal_mode != JournalMode::Delete
            || self.settings.synchronous == Synchronous::Extra
        {
            return self.states[now..=last].iter().collect();
        }
        // Without EXTRA the removal of the journal is not synced: until something else is, the
        // journal may come back and take the session's last transaction that changed rows with it.
        let changed = (before..now).rev().find(|&state| self.states[state] != self.states[now]);
        let first = changed.unwrap_or(now);
        self.states[first..=last].iter().collect()
    }

    /// Cut a session at every operation. Tell how many cuts that were, and the image it leaves.
    fn cut_everywhere(&self, image: &Chip, uncut: &Cuts) -> (u64, Chip) {
        let (whole, done) = self.session(image, uncut, FaultPlan::default());
        assert_eq!(done, self.sessions[uncut.session].len(), "{uncut}");
        let mut count = 0;
        for (at, kind) in (0..).zip(&whole.kinds) {
            for &ending in endings(*kind) {
                count += self.cut(image, &uncut.and(at, ending));
            }
        }
        (count, whole.image)
    }

    /// Cut a session once, then what follows it. Tell how many cuts that were.
    fn cut(&self, image: &Chip, cuts: &Cuts) -> u64 {
        let (life, done) = self.session(image, cuts, cuts.plan());
        assert!(life.is_cut, "{cuts}");
        let allowed = self.allowed(cuts.session, done);
        let calm = FaultPlan::default();
        let (start, seen) = self.restart(&life.image, cuts, calm.clone(), &allowed);
        let state = seen.expect("the start was not cut");
        let mut prng = Prng::new(cuts.seed ^ cuts.at[0].0);
        let operations = start.kinds.len() as u64;
        let first = life.image;
        let mut image = first.fork(Clock::new());
        let mut nested = cuts.clone();
        for _ in 0..2 {
            let ending = Ending::ALL[usize::try_from(prng.below(4)).expect("below 4")];
            nested = nested.and(prng.below(operations), ending);
            image = self.restart(&image, &nested, nested.plan(), &[state]).0.image;
        }
        self.restart(&image, &nested, calm, &[state]);
        if cuts.at[0].0.is_multiple_of(EXHAUSTIVE) {
            3 + self.cut_restart(&first, cuts, &start, state)
        } else {
            3
        }
    }

    /// Cut the start that follows a cut at every operation.
    fn cut_restart(&self, image: &Chip, cuts: &Cuts, start: &Life, state: &Rows) -> u64 {
        for at in 0..start.kinds.len() as u64 {
            let nested = cuts.and(at, Ending::Torn);
            let (life, _) = self.restart(image, &nested, nested.plan(), &[state]);
            assert!(life.is_cut, "{nested}");
            self.restart(&life.image, &nested, FaultPlan::default(), &[state]);
        }
        start.kinds.len() as u64
    }
}

/// What a cut makes of an operation differs only where cells change.
fn endings(kind: EventKind) -> &'static [Ending] {
    match kind {
        EventKind::Program | EventKind::ProgramOob | EventKind::Erase => &Ending::ALL,
        // Of a write to byte-addressable memory a cut leaves a prefix, whatever the plan says.
        _ => &[Ending::NotBegun],
    }
}

/// The transactions of a run: inserts, updates and deletes of records of many sizes, growth beyond
/// the cache, and rollbacks.
fn script(seed: u64) -> Vec<Vec<String>> {
    let mut prng = Prng::new(seed);
    let schema = "BEGIN; CREATE TABLE one (id INTEGER PRIMARY KEY, val TEXT);
        CREATE TABLE two (id INTEGER PRIMARY KEY, val TEXT); CREATE INDEX by_val ON two (val); COMMIT;";
    let mut sessions = vec![vec![schema.to_owned()]];
    for _ in 0..SESSIONS {
        let transactions = (0..TRANSACTIONS).map(|_| transaction(&mut prng));
        sessions.push(transactions.collect());
    }
    sessions
}

fn transaction(prng: &mut Prng) -> String {
    let mut sql = "BEGIN;".to_owned();
    for _ in 0..=prng.below(4) {
        sql.push_str(&statement(prng));
    }
    sql.push_str(if prng.below(4) == 0 { "ROLLBACK;" } else { "COMMIT;" });
    sql
}

fn statement(prng: &mut Prng) -> String {
    let id = prng.below(40);
    let len = u32::try_from(20 + prng.below(600)).expect("below 620");
    let mut text = Vec::new();
    RandomStrings::new(Alphabet::Base64, len, prng.next()).append(&mut text);
    let text = String::from_utf8(text).expect("Base64");
    match prng.below(6) {
        0..3 => format!("INSERT OR REPLACE INTO one VALUES ({id}, '{text}');"),
        3 => format!("UPDATE one SET val = '{text}' WHERE id % 5 = {};", id % 5),
        4 => format!("DELETE FROM one WHERE id < {}; DELETE FROM two WHERE id % 7 = 3;", id / 4),
        _ => format!("INSERT INTO two (val) SELECT val || id FROM one WHERE id >= {};", id / 4),
    }
}

fn rows(database: &Database) -> Result<Rows, flysch_sqlite::Error> {
    let tables = database.query(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'witness' ORDER BY name",
    )?;
    let names = tables.into_iter().flatten().map(|name| match name {
        Value::Text(name) => String::from_utf8(name).expect("names of the script"),
        other => panic!("{other:?} is no table's name"),
    });
    let rows = names.map(|name| {
        let content = database.query(format!("SELECT * FROM {name} ORDER BY id"))?;
        Ok((name, content))
    });
    rows.collect()
}

fn difference(rows: &Rows, allowed: &[&Rows]) -> String {
    let counts = |rows: &Rows| {
        let counts = rows.iter().map(|(name, content)| format!("{name} {}", content.len()));
        counts.collect::<Vec<_>>().join(", ")
    };
    let allowed: Vec<String> = allowed.iter().map(|state| counts(state)).collect();
    format!("rows of a state that was not: {}; allowed: {}", counts(rows), allowed.join("; or "))
}

/// Cut a run everywhere; tell how many cuts that were.
fn cut_run(seed: u64, mode: (JournalMode, Synchronous)) -> u64 {
    let trial = Trial::new(seed, mode);
    let formatted = trial.build.format_and_mount(Stack::JFFS2).expect("nothing fails");
    let mut image = formatted.device.borrow().device().chip().fork(Clock::new());
    let mut count = 0;
    for session in 0..trial.sessions.len() {
        let (cuts, left) =
            trial.cut_everywhere(&image, &Cuts { seed, mode, session, at: Vec::new() });
        count += cuts;
        image = left;
    }
    count
}

/// `FLYSCH_SEEDS` tells how many runs of each mode are cut; one if it is not set.
#[test]
fn committed_rows_survive_every_cut() {
    let seeds = std::env::var("FLYSCH_SEEDS").map_or(1, |text| text.parse().expect("a number"));
    let runs: Vec<_> = (1..=seeds).flat_map(|seed| MODES.map(|mode| (seed, mode))).collect();
    let count: u64 = runs.par_iter().map(|&(seed, mode)| cut_run(seed, mode)).sum();
    println!("{count} cuts");
    assert!(count > 5_000 * seeds, "{count} cuts are too few to call them every");
}
