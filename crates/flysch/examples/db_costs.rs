//! What the database costs on a simulated W25N01GV, in array operations: commits of one row and of
//! many, lookups, ranges, mounts.
//!
//! `cargo run --release -p flysch --example db_costs -- ROWS RAM BATCH [BLOCKS]`

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small")]
#![expect(clippy::cast_possible_wrap, clippy::cast_precision_loss, reason = "counts are small")]

use std::cell::Cell;
use std::sync::Arc;

use flysch::db::{Db, DbError, Direction, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("time", ColumnType::Time),
            Column::required("sensor", ColumnType::Integer),
            Column::required("value", ColumnType::Integer),
            Column::required("note", ColumnType::Text),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
            Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
        ],
        zone: Some(0),
        keep: None,
    }],
};

/// Operations of a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    reads: u64,
    programs: u64,
    erases: u64,
}

impl Count {
    fn since(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            programs: self.programs - before.programs,
            erases: self.erases - before.erases,
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            reads: self.reads.max(other.reads),
            programs: self.programs.max(other.programs),
            erases: self.erases.max(other.erases),
        }
    }
}

thread_local! {
    /// What was counted, for those who cannot ask the chip.
    static TOTAL: Cell<Count> = Cell::default();
}

/// A chip that counts.
struct Counter {
    chip: Chip,
    count: Count,
    /// Programs by the kind of the page, and runs by their owner.
    kinds: [u64; 10],
}

impl Nand for Counter {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        self.count.reads += 1;
        TOTAL.set(self.count);
        self.chip.read(page, column, bytes)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        self.count.programs += 1;
        TOTAL.set(self.count);
        let kind = usize::from(data[0] & 15);
        let is_level = kind == 7 && data[5] >> 6 == 3;
        self.kinds[(kind + usize::from(is_level)).min(9)] += 1;
        self.chip.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.count.erases += 1;
        TOTAL.set(self.count);
        self.chip.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.count.reads += 1;
        TOTAL.set(self.count);
        self.chip.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.count.programs += 1;
        TOTAL.set(self.count);
        self.chip.mark_bad(block)
    }
}

type Store<'a, 'ram> = Db<'ram, 'static, &'a mut Counter>;

/// A row of some 40 bytes of values.
fn values(number: i64) -> [Value<'static>; 4] {
    let time = Value::Time(1_700_000_000_000_000 + number * 1_000_000);
    let sensor = Value::Integer(number * 7919 % 997);
    [time, sensor, Value::Integer(number * 31 % 65_536), Value::Text("abcdefghijklmnopqrs")]
}

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let (rows, ram) = (args.next().unwrap_or(100_000) as i64, args.next().unwrap_or(16_384));
    let (batch, blocks) = (args.next().unwrap_or(1) as i64, args.next().unwrap_or(1024));
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let geometry = Geometry { block_count: blocks as u32, ..part.geometry };
    let chip = Chip::new(Arc::new(Part { geometry, ..part }), Clock::new(), 1);
    let mut nand = Counter { chip, count: Count::default(), kinds: [0; 10] };
    let options = Options { partition: None, seed: 7, capacity: rows.max(1000) as u32 };
    let fields = size_of::<Store<'_, '_>>();
    println!("{rows} rows, {ram} bytes of RAM of which {fields} are fields, {blocks} blocks");
    let mut memory = vec![0; ram - fields];
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut memory)?;
    let mut number = 0;
    fill(&mut db, rows, batch, &mut number)?;
    println!("programs by kind: {:?}", db.nand().kinds);
    worst(&mut db, &mut number)?;
    lookups(&mut db, number)?;
    ranges(&mut db, number)?;
    mounts(&mut nand, options, ram - fields, number)
}

fn fill(db: &mut Store<'_, '_>, rows: i64, batch: i64, number: &mut i64) -> Result<(), DbError> {
    let mut start = db.nand().count;
    let mut worst = Count::default();
    while *number < rows {
        if *number <= rows / 2 {
            start = db.nand().count;
        }
        let mut tx = db.begin()?;
        for _ in 0..batch {
            let before = TOTAL.get();
            tx.insert(0, &values(*number))?;
            worst = worst.max(TOTAL.get().since(before));
            *number += 1;
        }
        tx.commit(Durability::Durable)?;
    }
    println!("worst insert while it was filled, without its commit: {worst:?}");
    let done = db.nand().count.since(start);
    let half = (rows - rows / 2) as f64;
    println!(
        "second half: {:.4} programs, {:.3} reads, {:.4} erases a row; {:.3} programs a commit",
        done.programs as f64 / half,
        done.reads as f64 / half,
        done.erases as f64 / half,
        done.programs as f64 / half * batch as f64,
    );
    Ok(())
}

fn worst(db: &mut Store<'_, '_>, number: &mut i64) -> Result<(), DbError> {
    let (mut worst, mut reads) = (Count::default(), Vec::new());
    for _ in 0..5000 {
        let before = db.nand().count;
        let mut tx = db.begin()?;
        tx.insert(0, &values(*number))?;
        tx.commit(Durability::Durable)?;
        *number += 1;
        let done = db.nand().count.since(before);
        reads.push(done.reads);
        worst = worst.max(done);
    }
    println!("worst of 5,000 inserts with their commits: {worst:?}");
    print_reads("insert", reads);
    Ok(())
}

fn lookups(db: &mut Store<'_, '_>, number: i64) -> Result<(), DbError> {
    let (mut prng, mut out) = (Prng::new(3), [0; 512]);
    for (name, offset) in [("present", 0), ("absent", 500_000)] {
        let mut counts = Vec::new();
        for _ in 0..2000 {
            let id = prng.below(number as u64) as i64;
            let Value::Time(time) = values(id)[0] else { continue };
            let before = db.nand().count;
            let found = db.get(0, 0, &[Value::Time(time + offset)], &mut out)?;
            assert_eq!(found.is_some(), offset == 0, "a lookup of {id}");
            counts.push(db.nand().count.since(before).reads);
        }
        print_reads(name, counts);
    }
    let mut counts = Vec::new();
    for _ in 0..500 {
        let sensor = prng.below(997) as i64;
        let before = db.nand().count;
        let mut find = db.find(0, 1, &[Value::Integer(sensor)])?;
        find.next(db, &mut out)?;
        counts.push(db.nand().count.since(before).reads);
    }
    print_reads("first row of a sensor", counts);
    Ok(())
}

fn ranges(db: &mut Store<'_, '_>, number: i64) -> Result<(), DbError> {
    for direction in [Direction::Forward, Direction::Backward] {
        let before = db.nand().count;
        let from = 1_700_000_000_000_000 + number / 3 * 1_000_000;
        let (least, greatest) = (Value::Time(from), Value::Time(from + 99_000_000));
        let mut range = db.range(0, 0, (&least, &greatest), direction)?;
        let (mut out, mut found) = ([0; 512], 0);
        while range.next(db, &mut out)?.is_some() {
            found += 1;
        }
        println!("range of {found} rows, {direction:?}: {:?}", db.nand().count.since(before));
    }
    Ok(())
}

fn print_reads(name: &str, mut counts: Vec<u64>) {
    counts.sort_unstable();
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let at = |part: f64| counts[(counts.len() as f64 * part) as usize];
    let last = counts.last().copied().unwrap_or(0);
    println!("{name}: mean {mean:.3} reads, p99 {}, p99.9 {}, most {last}", at(0.99), at(0.999));
}

fn mounts(
    nand: &mut Counter,
    options: Options,
    ram: usize,
    mut number: i64,
) -> Result<(), DbError> {
    for is_closed in [false, true, false] {
        let mut memory = vec![0; ram];
        let before = nand.count;
        let mut db = Db::open(&mut *nand, &SCHEMA, options, &mut memory)?;
        let (opened, is_clean) = (db.nand().count.since(before), db.report().is_clean);
        let before = db.nand().count;
        let mut tx = db.begin()?;
        tx.insert(0, &values(number))?;
        tx.commit(Durability::Durable)?;
        number += 1;
        let written = db.nand().count.since(before);
        println!("mount, clean {is_clean}: {opened:?}; first write: {written:?}");
        if is_closed {
            db.close()?;
        }
    }
    Ok(())
}
