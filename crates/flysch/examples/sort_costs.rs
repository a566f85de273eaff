//! What a sort by way of flash costs on a simulated W25N01GV: readings of 40 bytes, sorted by a
//! value that no index is over.
//!
//! `cargo run --release -p flysch --example sort_costs -- ROWS RAM MEMORY`.

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(clippy::cast_possible_truncation, reason = "counts are small")]

use std::sync::Arc;

use flysch::db::{Db, DbError, Direction, Durability, Options};
use flysch::media::Cause;
use flysch::query::{Order, Sort};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::{Chip, Clock, Counts, Hooked, Part, Prng};

type Store<'a, 'ram, 's> = Db<'ram, 's, &'a mut Hooked<Chip, Counts>>;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("number", ColumnType::Integer),
            Column::required("value", ColumnType::Integer),
            Column::required("note", ColumnType::Text),
        ],
        indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok());

/// Values are drawn below this.
const VALUES: u64 = 1 << 32;
/// Bytes of a row at most.
const ROW_MAX: usize = 60;

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let (rows, ram) = (args.next().unwrap_or(100_000), args.next().unwrap_or(16_384) as usize);
    let memory = args.next().unwrap_or(4096) as usize;
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let chip = Chip::new(Arc::new(part), Clock::new(), 1);
    let mut nand = Hooked { device: chip, hooks: Counts::default() };
    let options = Options { partition: None, seed: 7, capacity: rows as u32 };
    let mut given = vec![0; ram - size_of::<Store<'_, '_, '_>>()];
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut given)?;
    fill(&mut db, rows)?;
    println!("{rows} rows, {ram} bytes of RAM, and {memory} for the sort");

    let mut memory = vec![0; memory];
    let mut sort = Sort::new(&mut memory, ROW_MAX, &[1], Order::Ascending)?;
    let mut step = Step::begin(&db);
    let mut out = [0; 128];
    let mut scan = db.scan(0, Direction::Forward)?;
    sort.collect(&mut db, &mut scan, &mut out)?;
    step.end("rows are collected", &db);
    let (mut last, mut count) = (i64::MIN, 0);
    while let Some(row) = sort.next(&mut db, &mut out)? {
        let Value::Integer(value) = row.column(1)? else { unreachable!("a value is an integer") };
        assert!(value >= last, "values ascend");
        (last, count) = (value, count + 1);
        if count == 1 {
            step.end("the first row comes", &db);
        }
    }
    step.end("the others come", &db);
    assert_eq!(count, rows, "each row comes once");
    Ok(())
}

fn fill(db: &mut Store<'_, '_, '_>, rows: u64) -> Result<(), DbError> {
    let mut prng = Prng::new(3);
    for first in (0..rows).step_by(100) {
        let mut tx = db.begin()?;
        for number in first..(first + 100).min(rows) {
            let value = prng.below(VALUES).cast_signed();
            let number = number.cast_signed();
            let note = Value::Text("abcdefghijklmnopqrstuvwxyz");
            tx.insert(0, &[Value::Integer(number), Value::Integer(value), note])?;
        }
        tx.commit(Durability::Durable)?;
    }
    Ok(())
}

/// Operations since the last line.
struct Step {
    reads: u32,
    programs: u32,
    of_sort: u32,
    erases: u32,
}

impl Step {
    fn begin(db: &Store<'_, '_, '_>) -> Self {
        let counts = db.stats().counts;
        Self {
            reads: counts.reads,
            programs: counts.programs_in_all(),
            of_sort: counts.programs_for(Cause::Sort),
            erases: counts.erases,
        }
    }

    fn end(&mut self, what: &str, db: &Store<'_, '_, '_>) {
        let now = Self::begin(db);
        println!(
            "{what}: {} reads, {} programs, {} of them of the sort, {} erases",
            now.reads - self.reads,
            now.programs - self.programs,
            now.of_sort - self.of_sort,
            now.erases - self.erases
        );
        *self = now;
    }
}
