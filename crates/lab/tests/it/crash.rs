//! SQLite on every stack when the power is cut: during every operation of its devices, with every
//! outcome that the operation may have, and again while the machine starts after a cut.
//!
//! A run consists of several sessions: mount, open, transactions, close, unmount. A session starts
//! from the image that the one before it left. So it has few operations, and the power can be cut
//! at each of them. After a cut the machine starts again. It must find a sound database in the
//! state before or after the interrupted transaction, and it must be able to write. The power is
//! cut during this start too, and during the next one.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use flysch_chip::{
    Chip, Clock, Ending, EventKind, FaultInjector, FaultPlan, Part, Pram, Prng, Recorder, Shared,
    Tracer,
};
use flysch_lab::machine::age::Age;
use flysch_lab::machine::dual::Route;
use flysch_lab::machine::layers::Layers;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::machine::{Build, Machine};
use flysch_lab::workload::{Alphabet, RandomStrings};
use flysch_lab::{JournalMode, Synchronous};
use flysch_sqlite::{Database, Settings, Value};
use rayon::prelude::*;

/// A small part, so that garbage must be collected and a start reads little.
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

/// The journal mode and the durability of transactions.
type Mode = (JournalMode, Synchronous);
/// The modes that are tested on every stack.
const MODES: [Mode; 4] = [
    (JournalMode::Delete, Synchronous::Extra),
    (JournalMode::Delete, Synchronous::Full),
    (JournalMode::Truncate, Synchronous::Full),
    (JournalMode::Persist, Synchronous::Full),
];
/// A further mode, for stacks that can map shared memory.
const WAL: Mode = (JournalMode::Wal, Synchronous::Full);
/// Number of sessions in a run.
const SESSIONS: usize = 4;
/// Number of transactions in a session.
const TRANSACTIONS: usize = 4;
/// After a cut at a multiple of this number, the start is cut at every operation. After other cuts,
/// it is cut at two.
const EXHAUSTIVE: u64 = 100;
/// A run must have at least this many cuts.
const CUTS_MIN: u64 = 1_000;
/// Every start after a cut adds a row to this table.
const WITNESS: &str = "CREATE TABLE IF NOT EXISTS witness (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO witness (note) VALUES (hex(zeroblob(100)));";

/// The rows of every table except `witness`, by table.
type Rows = Vec<(String, Vec<Vec<Value>>)>;

/// A run on the small chip.
struct Trial {
    stack: Stack,
    build: Build,
    settings: Settings,
    /// The transactions of each session.
    sessions: Vec<Vec<String>>,
    /// The content of the tables at the start and after each transaction of the run.
    states: Vec<Rows>,
}

/// The content of the devices while they are switched off.
struct Image {
    chip: Chip,
    pram: Pram,
}

/// The outcome of the time from one start to the next power cut or the end.
struct Life {
    image: Image,
    is_cut: bool,
    /// The kinds of the devices' operations, in order.
    kinds: Vec<EventKind>,
}

/// A session during which the power was not cut.
struct Whole {
    life: Life,
    /// For each transaction, the number of operations at its commit.
    commits: Vec<u64>,
}

/// Where the power was cut, the latest cut last. It is printed so that a failure can be replayed.
#[derive(Clone, Debug)]
struct Cuts {
    stack: Stack,
    seed: u64,
    mode: Mode,
    session: usize,
    /// The operation that was cut, and its outcome.
    at: Vec<(u64, Ending)>,
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stack, seed, mode: (journal, synchronous), session, at } = self;
        write!(f, "{stack}, seed {seed}, {journal} {synchronous}, session {session}, cut {at:?}")
    }
}

impl Cuts {
    fn and(&self, at: u64, ending: Ending) -> Self {
        let mut more = self.clone();
        more.at.push((at, ending));
        more
    }

    /// A fault plan that makes the last of these cuts.
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

impl Image {
    fn fork(&self) -> Self {
        Self { chip: self.chip.fork(Clock::new()), pram: self.pram.fork(Clock::new()) }
    }
}

impl Trial {
    fn new(stack: Stack, seed: u64, (journal_mode, synchronous): Mode) -> Self {
        let platform = Platform::named("nandsim-6.1").expect("it is built in");
        // The cache has few pages, so that larger transactions write to the database before they
        // commit.
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
            // A small PRAM, because each of the many starts reads through it.
            layers: Layers { pram_kib: 256, ..Layers::of(&platform) },
            age: Age::default(),
            seed,
            platform: Arc::new(platform),
        };
        let sessions = script(seed);
        let mut trial = Self { stack, build, settings, sessions, states: Vec::new() };
        trial.states = trial.model();
        trial
    }

    /// The states of the database on a stack that never fails.
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
        let storage = machine.storage(self.settings, self.build.seed);
        let database = Database::open(storage, "test.db")?;
        database.configure(&self.settings)?;
        Ok(database)
    }

    /// Start the machine, mount, and do `work` on the database, until it is done or the power is
    /// cut.
    fn live(
        &self,
        image: &Image,
        cuts: &Cuts,
        plan: FaultPlan,
        work: impl FnOnce(&Database, &Recorder) -> Result<(), flysch_sqlite::Error>,
    ) -> Life {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let pram = image.pram.fork(clock.clone());
        let mut injector = FaultInjector::on_supply(image.chip.fork(clock), pram.supply());
        injector.arm(plan);
        let pram = Shared::new(Tracer::new(pram, recorder.clone()));
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        let devices = (device.clone(), pram.clone());
        let mounted = self.build.mount(self.stack, devices.0, devices.1, recorder.clone());
        let outcome = mounted.map_err(|error| error.to_string()).and_then(|machine| {
            let database = self.open(&machine).map_err(|error| error.to_string())?;
            work(&database, &recorder).map_err(|error| error.to_string())?;
            drop(database);
            let unmounted = machine.linux.borrow_mut().unmount();
            unmounted.map_err(|error| error.to_string())
        });
        let trace = recorder.take(self.build.part.geometry);
        let events = trace.events.iter().map(|event| event.kind);
        let kinds = events.filter(|kind| kind.is_operation()).collect();
        let is_cut = !device.borrow().device().is_on();
        if let Err(error) = outcome {
            assert!(is_cut, "{cuts}: {error}");
        }
        let image = Image {
            chip: device.borrow().device().chip().fork(Clock::new()),
            pram: pram.borrow().device().fork(Clock::new()),
        };
        Life { image, is_cut, kinds }
    }

    /// Run a session. Returns also how many operations there had been at each commit.
    fn session(&self, image: &Image, cuts: &Cuts, plan: FaultPlan) -> (Life, Vec<u64>) {
        let mut commits = Vec::new();
        let life = self.live(image, cuts, plan, |database, recorder| {
            for transaction in &self.sessions[cuts.session] {
                database.execute(transaction)?;
                let kinds = EventKind::ALL.iter().filter(|kind| kind.is_operation());
                commits.push(kinds.map(|&kind| recorder.count(kind)).sum());
            }
            Ok(())
        });
        (life, commits)
    }

    /// Start again after a cut. The database must be sound, be in one of the allowed states, and
    /// accept a write. Returns the state if the start came that far.
    fn restart<'a>(
        &self,
        image: &Image,
        cuts: &Cuts,
        plan: FaultPlan,
        allowed: &[&'a Rows],
    ) -> (Life, Option<&'a Rows>) {
        let seen = Cell::new(None);
        let life = self.live(image, cuts, plan, |database, _| {
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

    /// The states that a cut may leave. `done` transactions of the session were certainly
    /// committed, and at most `begun` were begun.
    fn allowed(&self, session: usize, done: usize, begun: usize) -> Vec<&Rows> {
        let before: usize = self.sessions[..session].iter().map(Vec::len).sum();
        let last = before + begun.min(self.sessions[session].len());
        let now = before + done;
        let ends_by_unlink = self.settings.journal_mode == JournalMode::Delete;
        let is_synced = self.settings.synchronous == Synchronous::Extra;
        // PRAMFS makes a removal durable before the call returns.
        if !ends_by_unlink || is_synced || self.stack.journals == Some(Journals::Pramfs) {
            return self.states[now..=last].iter().collect();
        }
        // Without EXTRA, the removal of the journal is not synced. Until another sync, the journal
        // may come back and undo the session's last transaction that changed rows.
        let changed = (before..now).rev().find(|&state| self.states[state] != self.states[now]);
        let first = changed.unwrap_or(now);
        self.states[first..=last].iter().collect()
    }

    /// Run a session to its end without a cut.
    fn uncut(&self, image: &Image, cuts: &Cuts) -> Whole {
        let (life, commits) = self.session(image, cuts, FaultPlan::default());
        assert_eq!(commits.len(), self.sessions[cuts.session].len(), "{cuts}");
        Whole { life, commits }
    }

    /// Cut a session at each of its operations. Returns the number of cuts.
    fn cut_everywhere(&self, image: &Image, uncut: &Cuts, whole: &Whole) -> u64 {
        let mut count = 0;
        for (at, endings) in cut_points(&whole.life.kinds) {
            for &ending in endings {
                count += self.cut(image, &uncut.and(at, ending), whole);
            }
        }
        count
    }

    /// Cut a session once, then cut the starts that follow. Returns the number of cuts.
    fn cut(&self, image: &Image, cuts: &Cuts, whole: &Whole) -> u64 {
        let (life, commits) = self.session(image, cuts, cuts.plan());
        assert!(life.is_cut, "{cuts}");
        let (at, ending) = cuts.at[0];
        // A cut after a complete operation may also come just before the next operation.
        // Transactions that commit in between may have returned.
        let later = whole.commits.iter().filter(|&&commit| commit <= at + 1).count();
        let done = if ending == Ending::Complete { later } else { commits.len() };
        let allowed = self.allowed(cuts.session, done, done.max(commits.len() + 1));
        let calm = FaultPlan::default();
        let (start, seen) = self.restart(&life.image, cuts, calm.clone(), &allowed);
        let state = seen.expect("the start was not cut");
        let mut prng = Prng::new(cuts.seed ^ cuts.at[0].0);
        let points = every_point(&start.kinds);
        let first = life.image;
        let mut image = first.fork();
        let mut nested = cuts.clone();
        for _ in 0..2 {
            let ending = Ending::ALL[usize::try_from(prng.below(4)).expect("below 4")];
            let drawn = usize::try_from(prng.below(points.len() as u64)).expect("a position");
            nested = nested.and(points[drawn], ending);
            image = self.restart(&image, &nested, nested.plan(), &[state]).0.image;
        }
        self.restart(&image, &nested, calm, &[state]);
        if cuts.at[0].0.is_multiple_of(EXHAUSTIVE) {
            3 + self.cut_restart(&first, cuts, &start, state)
        } else {
            3
        }
    }

    /// After a cut, cut the start at every operation.
    fn cut_restart(&self, image: &Image, cuts: &Cuts, start: &Life, state: &Rows) -> u64 {
        let points = every_point(&start.kinds);
        for &at in &points {
            let nested = cuts.and(at, Ending::Torn);
            let (life, _) = self.restart(image, &nested, nested.plan(), &[state]);
            assert!(life.is_cut, "{nested}");
            self.restart(&life.image, &nested, FaultPlan::default(), &[state]);
        }
        points.len() as u64
    }
}

/// The operations to cut at, by number. A read after a read is left out, because cuts in both leave
/// the same state.
fn every_point(kinds: &[EventKind]) -> Vec<u64> {
    let before = [None].into_iter().chain(kinds.iter().copied().map(Some));
    let numbered = (0..).zip(kinds.iter().zip(before));
    let is_telling =
        |kind, before: Option<EventKind>| !is_read(kind) || !before.is_some_and(is_read);
    let telling = numbered.filter(|&(_, (&kind, before))| is_telling(kind, before));
    telling.map(|(at, _)| at).collect()
}

/// The operations to cut at, each with the outcomes that leave a state of their own. A cut before
/// an operation leaves the same as the complete operation before it. The exception is a write to
/// byte-addressable memory before it, because a cut leaves a prefix of such a write.
fn cut_points(kinds: &[EventKind]) -> Vec<(u64, &'static [Ending])> {
    let mut was_completed = false;
    let mut points = Vec::new();
    for at in every_point(kinds) {
        let kind = kinds[usize::try_from(at).expect("a position")];
        let changes_cells =
            matches!(kind, EventKind::Program | EventKind::ProgramOob | EventKind::Erase);
        let endings: &[Ending] = match (changes_cells, was_completed) {
            (true, true) => &Ending::ALL[1..],
            (true, false) => &Ending::ALL,
            (false, true) if is_read(kind) => continue,
            (false, _) => &[Ending::NotBegun],
        };
        was_completed = changes_cells;
        points.push((at, endings));
    }
    points
}

fn is_read(kind: EventKind) -> bool {
    matches!(kind, EventKind::Read | EventKind::ReadOob | EventKind::NvRead)
}

/// The transactions of a run: inserts, updates and deletes of records of many sizes, growth beyond
/// the size of the cache, and rollbacks.
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

/// Cut every session of a run. Returns the number of cuts.
fn cut_run(stack: Stack, seed: u64, mode: Mode) -> u64 {
    let trial = Trial::new(stack, seed, mode);
    let formatted = trial.build.format_and_mount(stack).expect("nothing fails");
    let mut image = Image {
        chip: formatted.device.borrow().device().chip().fork(Clock::new()),
        pram: formatted.pram.borrow().device().fork(Clock::new()),
    };
    let mut count = 0;
    for session in 0..trial.sessions.len() {
        let cuts = Cuts { stack, seed, mode, session, at: Vec::new() };
        let whole = trial.uncut(&image, &cuts);
        count += trial.cut_everywhere(&image, &cuts, &whole);
        image = whole.life.image;
    }
    count
}

/// Cut the runs of each mode. `FLYSCH_SEEDS` sets how many runs; the default is one.
fn check(stack: Stack, modes: &[Mode]) {
    let seeds = std::env::var("FLYSCH_SEEDS").map_or(1, |text| text.parse().expect("a number"));
    let runs: Vec<(u64, Mode)> =
        (1..=seeds).flat_map(|seed| modes.iter().map(move |&mode| (seed, mode))).collect();
    let count: u64 = runs.par_iter().map(|&(seed, mode)| cut_run(stack, seed, mode)).sum();
    assert!(count > CUTS_MIN * runs.len() as u64, "{count} cuts are too few to call them every");
}

#[test]
fn committed_rows_survive_every_cut_on_jffs2() {
    check(Stack::JFFS2, &MODES);
}

#[test]
fn committed_rows_survive_every_cut_on_yaffs2() {
    check(Stack::YAFFS2, &[MODES.as_slice(), &[WAL]].concat());
}

/// This test found two cuts after which UBIFS could not be mounted. In the first, a start that had
/// to record a file's size put its reference into the log's next page, which an earlier cut had
/// torn. In the second, a start after a cut between the two master nodes of a clean mount wrote
/// both as clean, so that the next start did not look for what another cut had torn in the log.
#[test]
fn committed_rows_survive_every_cut_on_ubifs() {
    check(Stack::UBIFS, &[MODES.as_slice(), &[WAL]].concat());
}

#[test]
fn committed_rows_survive_every_cut_on_a_translation_layer() {
    check(Stack::FTL, &[MODES.as_slice(), &[WAL]].concat());
}

/// Two devices share one power supply here.
#[test]
fn committed_rows_survive_every_cut_with_journals_on_pram() {
    for stack in [Stack::JFFS2, Stack::YAFFS2, Stack::UBIFS, Stack::FTL] {
        check(stack.with(Journals::Pramfs), &MODES[1..]);
    }
}
