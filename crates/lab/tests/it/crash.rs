//! SQLite on every stack when the power is cut: during every change of its devices, with every
//! outcome that the change may have, and again while the machine starts after a cut.
//!
//! A run consists of several sessions: mount, open, transactions, close, unmount. A session starts
//! from the image that the one before it left. It runs once, and its changes are recorded; each cut
//! is then made in devices to which the changes before it were applied. After a cut the machine
//! starts again. It must find a sound database in the state before or after the interrupted
//! transaction, and it must be able to write. The power is cut during this start too, and during
//! the next one.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use flysch_chip::{
    Change, Changes, Chip, Clock, Ending, EventKind, FaultInjector, FaultPlan, Part, Pram, Prng,
    Recorder, Shared, Tracer,
};
use flysch_lab::machine::age::Age;
use flysch_lab::machine::dual::Route;
use flysch_lab::machine::layers::Layers;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::machine::{Build, Machine};
use flysch_lab::workload::{Alphabet, RandomStrings};
use flysch_lab::{JournalMode, Synchronous};
use flysch_linux::filesystem::FsError;
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
/// After a cut in a change whose number is a multiple of this, the start is cut at every operation.
/// After other cuts, it is cut at two.
const EXHAUSTIVE: u64 = 100;
/// After a cut in a write to the memory beside the chip, of which there are many small ones, the
/// start is cut only if its number is a multiple of this.
const WRITES_NESTED: u64 = 4;
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
    /// The kinds of the devices' operations, in order.
    kinds: Vec<EventKind>,
    /// The changes among them.
    changes: Vec<Change>,
}

/// A session during which the power was not cut.
struct Whole {
    life: Life,
    /// For each transaction, the number of changes at its commit.
    commits: Vec<usize>,
}

/// Where the power was cut, the latest cut last. It is printed so that a failure can be replayed.
#[derive(Clone, Debug)]
struct Cuts {
    stack: Stack,
    seed: u64,
    mode: Mode,
    session: usize,
    /// What was cut, and its outcome: first a change of the session, then operations of starts.
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

    fn apply(&mut self, change: &Change) {
        assert!(change.apply(&mut self.chip, &mut self.pram), "the power is on");
    }

    /// What the devices hold if the power is cut during an operation of a start from here. A cut
    /// in a read changes nothing.
    fn cut_at(&self, start: &Life, cuts: &Cuts) -> Self {
        let &(at, _) = cuts.at.last().expect("a cut");
        let (before, rest) = start.kinds.split_at(usize::try_from(at).expect("a position"));
        let count = |kinds: &[EventKind]| kinds.iter().filter(|kind| !is_read(**kind)).count();
        assert_eq!(count(&start.kinds), start.changes.len(), "{cuts}: all but reads change");
        let changed = count(before);
        let mut reached = self.fork();
        start.changes[..changed].iter().for_each(|change| reached.apply(change));
        if is_read(rest[0]) { reached } else { reached.cut_in(&start.changes[changed], cuts) }
    }

    /// What the devices hold if the power is cut during their next change.
    fn cut_in(&self, change: &Change, cuts: &Cuts) -> Self {
        let Self { chip, mut pram } = self.fork();
        let &(at, _) = cuts.at.last().expect("a cut");
        pram.reseed(cuts.seed ^ at);
        let mut injector = FaultInjector::on_supply(chip, pram.supply());
        injector.arm(FaultPlan { seed: cuts.seed ^ at, cut_at: Some(0), ..cuts.plan() });
        assert!(!change.apply(&mut injector, &mut pram), "{cuts}: the power went");
        Self { chip: injector.into_chip(), pram }
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
    /// cut. `changes` gets the changes of the devices meanwhile.
    fn live(
        &self,
        image: &Image,
        cuts: &Cuts,
        plan: FaultPlan,
        changes: &Changes,
        work: impl FnOnce(&Database) -> Result<(), flysch_sqlite::Error>,
    ) -> Life {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let mut pram = image.pram.fork(clock.clone());
        let mut injector = FaultInjector::on_supply(image.chip.fork(clock), pram.supply());
        injector.arm(plan);
        pram.keep_changes(changes.clone());
        injector.keep_changes(changes.clone());
        let pram = Shared::new(Tracer::new(pram, recorder.clone()));
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        let devices = (device.clone(), pram.clone());
        let mounted = self.build.mount(self.stack, devices.0, devices.1, recorder.clone());
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
        let is_cut = !device.borrow().device().is_on();
        if let Err(error) = outcome {
            assert!(is_cut, "{cuts}: {error}");
        }
        let image = Image {
            chip: device.borrow().device().chip().fork(Clock::new()),
            pram: pram.borrow().device().fork(Clock::new()),
        };
        Life { image, kinds, changes: changes.take() }
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
        let life = self.live(image, cuts, plan, &Changes::default(), |database| {
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
        let changes = Changes::default();
        let mut commits = Vec::new();
        let life = self.live(image, cuts, FaultPlan::default(), &changes, |database| {
            for transaction in &self.sessions[cuts.session] {
                database.execute(transaction)?;
                commits.push(changes.count());
            }
            Ok(())
        });
        assert_eq!(commits.len(), self.sessions[cuts.session].len(), "{cuts}");
        Whole { life, commits }
    }

    /// Cut a session at each of its changes. Returns the number of cuts.
    fn cut_everywhere(&self, image: &Image, uncut: &Cuts, whole: &Whole) -> u64 {
        let mut reached = image.fork();
        let mut count = 0;
        let befores = [None].into_iter().chain(whole.life.changes.iter().map(Some));
        for (at, (change, before)) in (0..).zip(whole.life.changes.iter().zip(befores)) {
            for &ending in endings(change, before) {
                let cuts = uncut.and(at, ending);
                count += self.cut(&reached.cut_in(change, &cuts), &cuts, whole);
            }
            reached.apply(change);
        }
        count
    }

    /// Start after a cut of a session, then cut the starts that follow. Returns the number of cuts.
    fn cut(&self, first: &Image, cuts: &Cuts, whole: &Whole) -> u64 {
        let (at, ending) = cuts.at[0];
        let done =
            |changes| whole.commits.iter().filter(|&&commit| commit as u64 <= changes).count();
        // A cut after a complete change may also come just before the next change. Transactions
        // that commit in between may have returned.
        let certain = done(if ending == Ending::Complete { at + 1 } else { at });
        let allowed = self.allowed(cuts.session, certain, certain.max(done(at) + 1));
        let calm = FaultPlan::default();
        let (start, seen) = self.restart(first, cuts, calm.clone(), &allowed);
        let state = seen.expect("the start was not cut");
        let change = &whole.life.changes[usize::try_from(at).expect("a position")];
        if matches!(change, Change::Write { .. }) && !at.is_multiple_of(WRITES_NESTED) {
            return 1;
        }
        let mut prng = Prng::new(cuts.seed ^ at);
        let points = every_point(&start.kinds);
        let mut draw = || {
            let ending = Ending::ALL[usize::try_from(prng.below(4)).expect("below 4")];
            let drawn = usize::try_from(prng.below(points.len() as u64)).expect("a position");
            (points[drawn], ending)
        };
        let (at_start, ending) = draw();
        let once = cuts.and(at_start, ending);
        let image = first.cut_at(&start, &once);
        let (at_start, ending) = draw();
        let twice = once.and(at_start, ending);
        let image = self.restart(&image, &twice, twice.plan(), &[state]).0.image;
        self.restart(&image, &twice, calm, &[state]);
        if at.is_multiple_of(EXHAUSTIVE) {
            3 + self.cut_restart(first, cuts, &start, state)
        } else {
            3
        }
    }

    /// After a cut, cut the start at every operation.
    fn cut_restart(&self, image: &Image, cuts: &Cuts, start: &Life, state: &Rows) -> u64 {
        let points = every_point(&start.kinds);
        for &at in &points {
            let nested = cuts.and(at, Ending::Torn);
            let cut = image.cut_at(start, &nested);
            self.restart(&cut, &nested, FaultPlan::default(), &[state]);
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

/// The outcomes of a cut in a change that leave a state of their own. A cut before a change leaves
/// the same as the complete change before it. The exception is a write to byte-addressable memory
/// before it, because a cut leaves a prefix of such a write.
fn endings(change: &Change, before: Option<&Change>) -> &'static [Ending] {
    match (change, before) {
        (Change::Write { .. }, _) => &[Ending::NotBegun],
        (_, None | Some(Change::Write { .. })) => &Ending::ALL,
        _ => &Ending::ALL[1..],
    }
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

/// Write a file, as an image of a maker has files. Without it, a cut may leave a JFFS2 in which no
/// node is valid and a block needs to be erased, and such a device is refused, as Linux does
/// (`jffs2_scan_medium`: it would erase what may be another's).
fn write_file(machine: &Machine) -> Result<(), FsError> {
    let mut linux = machine.linux.borrow_mut();
    let fd = linux.open("file", true)?;
    linux.write(fd, 0, b"content")?;
    linux.fsync(fd)?;
    linux.close(fd)?;
    linux.unmount()
}

/// Cut every session of a run. Returns the number of cuts.
fn cut_run(stack: Stack, seed: u64, mode: Mode) -> u64 {
    let trial = Trial::new(stack, seed, mode);
    let formatted = trial.build.format_and_mount(stack).expect("nothing fails");
    write_file(&formatted).expect("nothing fails");
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
