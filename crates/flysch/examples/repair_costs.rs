//! What a repair costs on a simulated W25N01GV: readings are logged, some of them are replaced, and
//! a page of an index rots away, then a block of them.
//!
//! `cargo run --profile sim -p flysch --example repair_costs -- ROWS RAM`

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small")]
#![expect(clippy::cast_possible_wrap, reason = "counts are small")]

use std::sync::Arc;

use flysch::db::{Db, DbError, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::{Chip, Clock, FaultInjector, Part, Prng};
use flysch_nand::{Nand, PageAddr};

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("sensor", ColumnType::Integer),
            Column::required("note", ColumnType::Text),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
            Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
        ],
        zone: None,
        keep: None,
    }],
};
/// The kind of pages of runs, in the lower half of a page's first byte, and its second byte where
/// they are of the first index's levels or of recent runs.
const LEVEL: [u8; 2] = [7, 0];

/// A row of some 40 bytes of values.
const fn values(number: i64) -> [Value<'static>; 3] {
    let note = "abcdefghijklmnopqrstuv";
    [Value::Integer(number), Value::Integer(number % 997), Value::Text(note)]
}

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let (rows, ram) = (args.next().unwrap_or(100_000) as i64, args.next().unwrap_or(16_384));
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let mut nand = FaultInjector::new(Chip::new(Arc::new(part), Clock::new(), 1));
    let options = Options { partition: None, seed: 7, capacity: rows.max(1000) as u32 };
    let fields = size_of::<Db<'_, '_, &mut FaultInjector>>();
    let mut memory = vec![0; ram - fields];
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut memory)?;
    let mut prng = Prng::new(1);
    for number in 0..rows + rows / 4 {
        let mut tx = db.begin()?;
        let old = prng.below(rows as u64).cast_signed();
        let is_new = number < rows;
        tx.upsert(0, &values(if is_new { number } else { old }))?;
        tx.commit(Durability::Durable)?;
    }
    for pages in [0, 1, 1, 64] {
        // A page that no run names any more is none that is lost.
        loop {
            rot(db.nand_mut(), pages, &mut prng);
            let before = db.stats().counts;
            let repaired = db.repair()?;
            let after = db.stats().counts;
            let reads = after.reads - before.reads;
            let programs = after.programs_in_all() - before.programs_in_all();
            if repaired.lost_pages > 0 || pages == 0 {
                println!("{pages} pages: {reads} reads, {programs} programs, {repaired:?}");
                break;
            }
        }
    }
    Ok(())
}

/// Let pages rot, from one that is drawn on.
fn rot(nand: &mut FaultInjector, count: u32, prng: &mut Prng) {
    let pages = nand.geometry().page_count();
    if count == 0 {
        return;
    }
    loop {
        let first = prng.below(u64::from(pages)) as u32 / count * count;
        let mut head = [0; 2];
        let read = nand.read(PageAddr(first), 0, &mut head);
        if read.is_ok() && [head[0] & 15, head[1]] == LEVEL {
            for page in first..first + count {
                nand.chip_mut().rot(PageAddr(page), prng);
            }
            return;
        }
    }
}
