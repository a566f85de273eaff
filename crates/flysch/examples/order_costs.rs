//! What order costs on a simulated W25N01GV: readings logged into some tables, each with an ordered
//! index over values that come at random, then ranges of these values and the first ten of them.
//!
//! `cargo run --release -p flysch --example order_costs -- ROWS RAM TABLES`. With a fourth argument
//! `hash` the values have a hash index instead, and only the logging is measured.

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small")]
#![expect(clippy::cast_possible_wrap, clippy::cast_precision_loss, reason = "counts are small")]

use std::sync::Arc;

use flysch::db::{Db, DbError, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::{Chip, Clock, Counts, Hooked, Part, Prng};

/// A chip that counts.
type Counter = Hooked<Chip, Counts>;
type Store<'a, 'ram, 's> = Db<'ram, 's, &'a mut Counter>;

const COLUMNS: &[Column<'static>] = &[
    Column::required("time", ColumnType::Time),
    Column::required("value", ColumnType::Integer),
    Column::required("note", ColumnType::Text),
];
const TIME: Index<'static> = Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true };
const VALUE: Index<'static> = Index { columns: &[1], kind: IndexKind::Ordered, is_unique: false };
const ORDERED: &[Index<'static>] = &[TIME, VALUE];
const HASHED: &[Index<'static>] = &[TIME, Index { kind: IndexKind::Hash, ..VALUE }];

const fn readings(name: &'static str, indexes: &'static [Index<'static>]) -> Table<'static> {
    Table { name, columns: COLUMNS, indexes, zone: Some(0), keep: None }
}

const NAMES: [&str; 3] = ["one", "two", "three"];
/// Values are drawn below this.
const VALUES: u64 = 1 << 32;
/// Questions of each kind.
const ASKED: u64 = 200;

/// A row of some 40 bytes of values.
fn values(number: i64, prng: &mut Prng) -> [Value<'static>; 3] {
    let time = Value::Time(1_700_000_000_000_000 + number * 1_000_000);
    [time, Value::Integer(prng.below(VALUES) as i64), Value::Text("abcdefghijklmnopqrstuv")]
}

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let (rows, ram) = (args.next().unwrap_or(100_000) as i64, args.next().unwrap_or(16_384));
    let tables = args.next().unwrap_or(1).clamp(1, NAMES.len());
    let is_ordered = std::env::args().all(|arg| arg != "hash");
    let indexes = if is_ordered { ORDERED } else { HASHED };
    let all = NAMES.map(|name| readings(name, indexes));
    let schema = Schema { tables: &all[..tables] };
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let chip = Chip::new(Arc::new(part), Clock::new(), 1);
    let mut nand = Hooked { device: chip, hooks: Counts::default() };
    let options = Options { partition: None, seed: 7, capacity: rows.max(1000) as u32 };
    let fields = size_of::<Store<'_, '_, '_>>();
    println!("{rows} rows in {tables} tables, {ram} bytes of RAM of which {fields} are fields");
    let mut memory = vec![0; ram - fields];
    let mut db = Db::create(&mut nand, &schema, options, &mut memory)?;
    fill(&mut db, rows, tables as i64)?;
    let directions = [Direction::Forward, Direction::Backward];
    for direction in directions.into_iter().filter(|_| is_ordered) {
        ranges(&mut db, rows / tables as i64, direction)?;
        firsts(&mut db, direction)?;
    }
    Ok(())
}

/// Log readings, one a commit, into one table after the other.
fn fill(db: &mut Store<'_, '_, '_>, rows: i64, tables: i64) -> Result<(), DbError> {
    let mut prng = Prng::new(1);
    let mut half = db.nand().hooks.0;
    for number in 0..rows {
        if number == rows / 2 {
            half = db.nand().hooks.0;
        }
        let mut tx = db.begin()?;
        tx.insert((number % tables) as u8, &values(number, &mut prng))?;
        tx.commit(Durability::Durable)?;
    }
    let (all, rows) = (db.nand().hooks.0, (rows - rows / 2) as f64);
    let programs = (all[1] - half[1]) as f64 / rows;
    let reads = (all[0] - half[0]) as f64 / rows;
    println!("second half: {programs:.3} programs and {reads:.2} reads a commit");
    Ok(())
}

/// Reads of a cursor for at most so many rows, and how many there were.
fn pull(
    db: &mut Store<'_, '_, '_>,
    (least, greatest): (i64, i64),
    (direction, limit): (Direction, usize),
) -> Result<(u64, usize), DbError> {
    let (before, mut out) = (db.nand().hooks.0[0], [0; 128]);
    let ends = (&Value::Integer(least), &Value::Integer(greatest));
    let mut range = db.range(0, 1, ends, direction)?;
    let mut found = 0;
    while found < limit && range.next(db, &mut out)?.is_some() {
        found += 1;
    }
    Ok((db.nand().hooks.0[0] - before, found))
}

/// Ranges of some 100 rows that were inserted at any time.
fn ranges(db: &mut Store<'_, '_, '_>, rows: i64, direction: Direction) -> Result<(), DbError> {
    let (mut prng, mut beside) = (Prng::new(9), Vec::new());
    let width = (VALUES * 100 / rows as u64) as i64;
    for _ in 0..ASKED {
        let least = prng.below(VALUES - width as u64) as i64;
        let (reads, found) = pull(db, (least, least + width), (direction, usize::MAX))?;
        beside.push(reads as i64 - found as i64);
    }
    print("reads of a range of some 100 rows, beside one a row", direction, beside);
    Ok(())
}

/// The ten rows from some value on.
fn firsts(db: &mut Store<'_, '_, '_>, direction: Direction) -> Result<(), DbError> {
    let (mut prng, mut counts) = (Prng::new(10), Vec::new());
    for _ in 0..ASKED {
        let from = (VALUES / 4 + prng.below(VALUES / 2)) as i64;
        let ends = match direction {
            Direction::Forward => (from, i64::MAX),
            Direction::Backward => (i64::MIN, from),
        };
        counts.push(pull(db, ends, (direction, 10))?.0 as i64);
    }
    print("reads of the first ten rows", direction, counts);
    let (reads, found) = pull(db, (i64::MIN, i64::MAX), (direction, 10))?;
    println!("the first {found} of all, {direction:?}: {reads} reads");
    Ok(())
}

fn print(name: &str, direction: Direction, mut counts: Vec<i64>) {
    counts.sort_unstable();
    let mean = counts.iter().sum::<i64>() as f64 / counts.len() as f64;
    println!("{name}, {direction:?}: mean {mean:.1}, most {}", counts[counts.len() - 1]);
}
