//! What several criteria at once cost on a simulated W25N01GV: events of a kind and of a place,
//! each with an index, found by one index and a filter, and by both indexes.
//!
//! `cargo run --release -p flysch --example criteria_costs -- ROWS RAM KINDS PLACES`.

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "counts are small"
)]

use std::sync::Arc;

use flysch::db::{Criterion, Db, DbError, Direction, Durability, Options};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, Index, IndexKind, RowView, Schema, Table, Value};
use flysch_chip::{Chip, Clock, Counts, Hooked, Part, Prng};

type Store<'a, 'ram, 's> = Db<'ram, 's, &'a mut Hooked<Chip, Counts>>;

const fn hash(columns: &[u8]) -> Index<'_> {
    Index { columns, kind: IndexKind::Hash, is_unique: false }
}

const KIND: u8 = 1;
const PLACE: u8 = 2;
const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "event",
        columns: &[
            Column::required("number", ColumnType::Integer),
            Column::required("kind", ColumnType::Integer),
            Column::required("place", ColumnType::Integer),
            Column::required("note", ColumnType::Text),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
            hash(&[1]),
            hash(&[2]),
        ],
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok());

/// Questions of each kind.
const ASKED: u64 = 50;

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let (rows, ram) = (args.next().unwrap_or(100_000), args.next().unwrap_or(16_384) as usize);
    let (kinds, places) = (args.next().unwrap_or(8), args.next().unwrap_or(100));
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let chip = Chip::new(Arc::new(part), Clock::new(), 1);
    let mut nand = Hooked { device: chip, hooks: Counts::default() };
    let options = Options { partition: None, seed: 7, capacity: rows as u32 };
    let mut memory = vec![0; ram - size_of::<Store<'_, '_, '_>>()];
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut memory)?;
    let int = |number: u64| Value::Integer(number.cast_signed());
    let mut prng = Prng::new(1);
    for number in 0..rows {
        let note = Value::Text("abcdefghijklmnopqrstuvwxyz");
        let mut tx = db.begin()?;
        tx.insert(0, &[int(number), int(prng.below(kinds)), int(prng.below(places)), note])?;
        tx.commit(Durability::Lazy)?;
    }
    db.sync()?;
    println!("{rows} rows of {kinds} kinds and {places} places, {ram} bytes of RAM");
    let mut found = [0; 4];
    let mut reads = [0; 4];
    for _ in 0..ASKED {
        let (kind, place) = ([int(prng.below(kinds))], [int(prng.below(places))]);
        let is_wanted =
            |row: &RowView<'_, '_>| Ok(row.column(1)? == kind[0] && row.column(2)? == place[0]);
        let both = [Criterion::is(KIND, &kind), Criterion::is(PLACE, &place)];
        for way in 0..4 {
            let (before, mut out) = (db.nand().hooks.0[0], [0; 128]);
            found[way] += match way {
                0 => db.scan(0, Direction::Forward)?.filter(is_wanted).count(&mut db, &mut out)?,
                1 => db.find(0, KIND, &kind)?.filter(is_wanted).count(&mut db, &mut out)?,
                2 => db.find(0, PLACE, &place)?.filter(is_wanted).count(&mut db, &mut out)?,
                _ => db.matching(0, both)?.count(&mut db, &mut out)?,
            };
            reads[way] += db.nand().hooks.0[0] - before;
        }
    }
    let ways = ["a scan", "the index on the kind", "the index on the place", "both indexes"];
    for ((way, found), reads) in ways.iter().zip(found).zip(reads) {
        let [rows, reads] = [found, reads].map(|count| count as f64 / ASKED as f64);
        println!("by {way}: {rows:.1} rows, {reads:.1} reads");
    }
    Ok(())
}
