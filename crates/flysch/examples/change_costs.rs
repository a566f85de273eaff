//! What updates, deletes and lookups after them cost on a simulated W25N01GV, at several shares of
//! the blocks of rows in use, and how evenly the blocks wear.
//!
//! `cargo run --release -p flysch --example change_costs -- ROWS RAM`

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small")]
#![expect(clippy::cast_possible_wrap, clippy::cast_precision_loss, reason = "counts are small")]

mod parts;

use std::sync::Arc;

use flysch::db::{Db, DbError, Durability, Options};
use flysch::media::Cause;
use flysch::row::Value;
use flysch_chip::{Chip, Clock, Counts, Hooked, Part, Prng};
use flysch_nand::Geometry;
use parts::{NOTE, SCHEMA};

/// A chip that counts.
type Counter = Hooked<Chip, Counts>;

fn erases_of(nand: &Counter) -> u32 {
    nand.device.erase_counts().iter().sum()
}

/// Operations up to some moment.
#[derive(Clone, Copy, Default)]
struct Totals {
    programs: u64,
    /// Programs that copy pages of blocks, so that all blocks wear alike.
    copies: u32,
    reads: u64,
    erases: u32,
}

impl Totals {
    fn of(db: &mut Store<'_, '_>) -> Self {
        let copies = db.stats().counts.programs_for(Cause::Scrub);
        let nand = db.nand();
        let (programs, reads) = (nand.hooks.0[1], nand.hooks.0[0]);
        Self { programs, copies, reads, erases: erases_of(nand) }
    }

    /// What each of `count` calls took since `start`.
    fn print_since(&self, start: &Self, what: &str, count: i64) {
        let each = |now: u64, then: u64| (now - then) as f64 / count as f64;
        println!(
            "  {count} {what}: {:.3} programs, {:.3} of them copies that level wear, {:.2} reads, \
             {:.4} erases each",
            each(self.programs, start.programs),
            each(self.copies.into(), start.copies.into()),
            each(self.reads, start.reads),
            each(self.erases.into(), start.erases.into()),
        );
    }
}

type Store<'a, 'ram> = Db<'ram, 'static, &'a mut Counter>;

/// A row of some 100 bytes of values.
fn values(id: i64, version: i64) -> [Value<'static>; 4] {
    let group = Value::Integer(id * 7919 % 997);
    [Value::Integer(id), group, Value::Integer(version * 31 + id), Value::Text(NOTE)]
}

/// Which rows are updated.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Uniform,
    /// 95 of 100 updates go to 5 of 100 rows.
    Skewed,
    /// Only the first half of the rows.
    Half,
}

impl Choice {
    fn draw(self, prng: &mut Prng, rows: i64) -> i64 {
        let rows = rows as u64;
        let id = match self {
            // The hot rows lie among the others.
            Self::Skewed if prng.below(100) < 95 => prng.below(rows / 20) * 20,
            Self::Skewed | Self::Uniform => prng.below(rows),
            Self::Half => prng.below(rows / 2),
        };
        id as i64
    }
}

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let (rows, ram) = (args.next().unwrap_or(100_000) as i64, args.next().unwrap_or(16_384));
    let only = args.next();
    let cases = [
        (50, Choice::Uniform),
        (70, Choice::Uniform),
        (85, Choice::Uniform),
        (70, Choice::Skewed),
        (50, Choice::Half),
    ];
    for (number, (percent, choice)) in cases.into_iter().enumerate() {
        if only.is_none_or(|only| only == number) {
            measure(rows, ram, percent, choice)?;
        }
    }
    Ok(())
}

/// Fill blocks of rows to so many per cent, update each row twice in the mean, and look at the last
/// quarter of that.
fn measure(rows: i64, ram: usize, percent: i64, choice: Choice) -> Result<(), DbError> {
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    // Rows of 97 bytes, 20 to a page, 63 pages to a block; what is no block of rows comes on top.
    let blocks = rows / (20 * 63) * 100 / percent + 30;
    let geometry = Geometry { block_count: blocks as u32, ..part.geometry };
    let clock = Clock::new();
    let device = Chip::new(Arc::new(Part { geometry, ..part }), clock.clone(), 1);
    let mut nand = Counter { device, hooks: Counts::default() };
    let options = Options { partition: None, seed: 7, capacity: rows.max(1000) as u32 };
    let mut memory = vec![0; ram - size_of::<Store<'_, '_>>()];
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut memory)?;
    for first in (0..rows).step_by(64) {
        let mut tx = db.begin()?;
        for id in first..rows.min(first + 64) {
            tx.insert(0, &values(id, 0))?;
        }
        tx.commit(Durability::Durable)?;
    }
    let mut prng = Prng::new(5);
    println!("{percent} per cent of {blocks} blocks, {choice:?}");
    let (mut version, mut start) = (0, Totals::default());
    let mut calls = Calls { clock, took: Vec::new() };
    let mut lookups = Lookups { prng: Prng::new(6), rows, reads: [const { Vec::new() }; 2] };
    while version < rows * 2 {
        if version == rows * 3 / 2 {
            start = Totals::of(&mut db);
        }
        version += 1;
        let before = calls.so_far(db.nand());
        update(&mut db, choice.draw(&mut prng, rows), version)?;
        calls.note(before, db.nand());
        if version > rows * 3 / 2 && version % (rows / 6000).max(1) == 0 {
            start.reads += lookups.ask(&mut db)?;
        }
    }
    Totals::of(&mut db).print_since(&start, "updates", rows / 2);
    calls.print();
    println!("  {:?}", db.stats());
    lookups.print();
    deletes(&mut db, rows)?;
    wear(db.nand());
    Ok(())
}

fn update(db: &mut Store<'_, '_>, id: i64, version: i64) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    assert!(tx.update(0, &values(id, version))?, "row {id} is there");
    tx.commit(Durability::Durable)
}

/// What each update with its commit took: reads, programs, erases, and nanoseconds of the chip.
struct Calls {
    clock: Clock,
    took: Vec<[u64; 4]>,
}

impl Calls {
    fn so_far(&self, nand: &Counter) -> [u64; 4] {
        let [reads, programs, erases] = [0, 1, 2].map(|kind| nand.hooks.0[kind]);
        [reads, programs, erases, self.clock.now_ns()]
    }

    fn note(&mut self, before: [u64; 4], nand: &Counter) {
        let after = self.so_far(nand);
        self.took.push(core::array::from_fn(|kind| after[kind] - before[kind]));
    }

    fn print(&self) {
        let [reads, programs, erases, time] = core::array::from_fn(|kind| {
            let mut all: Vec<u64> = self.took.iter().map(|took| took[kind]).collect();
            all.sort_unstable();
            [all[all.len() * 99 / 100], all[all.len() - 1]]
        });
        let time = time.map(|ns| ns as f64 / 1e6);
        println!(
            "  99 % of the updates with their commits, and all: {programs:?} programs, {reads:?} \
             reads, {erases:?} erases, {time:.2?} ms"
        );
    }
}

/// Lookups by key at moments that lie among the updates, for how many reads one takes depends on
/// which merges are under way.
struct Lookups {
    prng: Prng,
    rows: i64,
    /// Reads of each lookup: of keys that are there, and of absent ones.
    reads: [Vec<u64>; 2],
}

impl Lookups {
    /// Look up a key that is there and one that is not. Returns how many reads both took.
    fn ask(&mut self, db: &mut Store<'_, '_>) -> Result<u64, DbError> {
        let (first, mut out) = (db.nand().hooks.0[0], [0; 512]);
        for (reads, offset) in self.reads.iter_mut().zip([0, self.rows]) {
            let id = self.prng.below(self.rows as u64) as i64 + offset;
            let before = db.nand().hooks.0[0];
            let found = db.get(0, 0, &[Value::Integer(id)], &mut out)?;
            assert_eq!(found.is_some(), offset == 0, "a lookup of {id}");
            reads.push(db.nand().hooks.0[0] - before);
        }
        Ok(db.nand().hooks.0[0] - first)
    }

    fn print(&mut self) {
        for (reads, name) in self.reads.iter_mut().zip(["present", "absent"]) {
            reads.sort_unstable();
            let mean = reads.iter().sum::<u64>() as f64 / reads.len() as f64;
            let (high, most) = (reads[reads.len() * 999 / 1000], reads[reads.len() - 1]);
            println!("  lookup, {name}: mean {mean:.3} reads, p99.9 {high}, most {most}");
        }
    }
}

fn deletes(db: &mut Store<'_, '_>, rows: i64) -> Result<(), DbError> {
    let (start, count) = (Totals::of(db), rows / 20);
    for id in 0..count {
        let mut tx = db.begin()?;
        assert!(tx.delete(0, &[Value::Integer(id)])?, "row {id} is there");
        tx.commit(Durability::Durable)?;
    }
    Totals::of(db).print_since(&start, "deletes", count);
    Ok(())
}

fn wear(nand: &Counter) {
    let erases = nand.device.erase_counts();
    let most = erases.iter().max().copied().unwrap_or(0);
    let mean = f64::from(erases_of(nand)) / erases.len() as f64;
    println!(
        "  wear: mean {mean:.2} erases, most {most}, {:.3} of the mean",
        f64::from(most) / mean
    );
}
