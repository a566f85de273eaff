//! Settings, an event log of the newest ninety days, and relations in one store: keys of several
//! columns, foreign keys, a check, a savepoint, a join and a total.

#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::error::Error;
use std::sync::Arc;

use flysch::db::{
    Check, Constraints, Db, DbError, Direction, Durability, ForeignKey, OnDelete, Options, Preset,
};
use flysch::query::{Cursor, Lookup};
use flysch::row::{Column, ColumnType, Index, IndexKind, Keep, Schema, Table, Value};
use flysch_chip::{Chip, Clock, Part};

const fn column(name: &str, kind: ColumnType) -> Column<'_> {
    Column::required(name, kind)
}

const fn index(columns: &[u8], kind: IndexKind, is_unique: bool) -> Index<'_> {
    Index { columns, kind, is_unique }
}

const SETTING: u8 = 0;
const EVENT: u8 = 1;
const ROOM: u8 = 2;
const LAMP: u8 = 3;

const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "setting",
            columns: &[column("name", ColumnType::Text), column("value", ColumnType::Blob)],
            indexes: &[index(&[0], IndexKind::Hash, true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "event",
            columns: &[
                column("at", ColumnType::Time),
                column("lamp", ColumnType::Integer),
                column("watt", ColumnType::Integer),
            ],
            indexes: &[index(&[0], IndexKind::Ordered, true)],
            zone: Some(0),
            keep: Some(Keep::days(90)),
        },
        Table {
            name: "room",
            columns: &[
                column("floor", ColumnType::Integer),
                column("number", ColumnType::Integer),
                column("name", ColumnType::Text),
            ],
            indexes: &[index(&[0, 1], IndexKind::Ordered, true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "lamp",
            columns: &[
                column("id", ColumnType::Integer),
                column("floor", ColumnType::Integer),
                column("room", ColumnType::Integer),
                column("watt", ColumnType::Integer),
            ],
            indexes: &[index(&[0], IndexKind::Hash, true), index(&[1, 2], IndexKind::Hash, false)],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

const CONSTRAINTS: Constraints<'static> = Constraints {
    checks: &[Check { table: LAMP, holds: |lamp| lamp[3] > Value::Integer(0) }],
    foreign_keys: &[ForeignKey {
        table: LAMP,
        index: 1,
        parent: ROOM,
        on_delete: OnDelete::Cascade,
    }],
    presets: &[Preset { table: LAMP, column: 3, value: Value::Integer(9) }],
    ..Constraints::NONE
};
const OPTIONS: Options = Options { partition: None, seed: 0x5EED, capacity: 10_000 };

fn main() -> Result<(), Box<dyn Error>> {
    let int = Value::Integer;
    let mut chip = Chip::new(Arc::new(Part::named("w25n01gv")?), Clock::new(), 1);
    let (mut ram, mut row, mut other) = ([0; 16_384], [0; 128], [0; 128]);
    let mut db = Db::create(&mut chip, &SCHEMA, OPTIONS, &mut ram)?;
    db.set_constraints(CONSTRAINTS)?;

    let mut tx = db.begin()?;
    tx.upsert(SETTING, &[Value::Text("brightness"), Value::Blob(&[80])])?;
    for (floor, number, name) in [(0, 1, "hall"), (0, 2, "kitchen"), (1, 1, "attic")] {
        tx.insert(ROOM, &[int(floor), int(number), Value::Text(name)])?;
    }
    for (id, floor, room) in [(1, 0, 1), (2, 0, 2), (3, 0, 2), (4, 1, 1)] {
        // The watts are preset.
        tx.insert_columns(LAMP, &[(0, int(id)), (1, int(floor)), (2, int(room))])?;
        tx.insert(EVENT, &[Value::Time(id * 1000), int(id), int(9)])?;
    }
    let savepoint = tx.savepoint()?;
    tx.delete(ROOM, &[int(0), int(2)])?;
    println!("without its kitchen the ground floor has {} lamps", lamps(&mut tx, 0, &mut row)?);
    tx.roll_back_to(savepoint)?;
    let refused = tx.insert(LAMP, &[int(5), int(7), int(7), int(9)]);
    println!("a lamp in no room: {refused:?}");
    assert_eq!(refused, Err(DbError::ForeignKey { key: 0 }));
    tx.commit(Durability::Durable)?;

    let rooms = db.prefix(ROOM, 0, &[int(0)], Direction::Forward)?;
    let mut lit = Lookup::new(rooms, (LAMP, 1), &[0, 1]);
    while let Some((room, lamp)) = lit.next(&mut db, &mut row, &mut other)? {
        println!("{:?} has lamp {:?}", room.column(2)?, lamp.column(0)?);
    }
    let ends = (&Value::Time(2000), &Value::Time(4000));
    let total = db.range(EVENT, 0, ends, Direction::Forward)?.total(&mut db, 2, &mut row)?;
    println!("{} events, {} watts, {:?} on average", total.count, total.sum, total.mean());

    let snapshot = db.snapshot()?;
    let mut tx = db.begin()?;
    tx.delete(ROOM, &[int(0), int(2)])?;
    tx.commit(Durability::Durable)?;
    let then = lamps(&mut db.at(&snapshot)?, 0, &mut row)?;
    let now = lamps(&mut db, 0, &mut row)?;
    println!("there were {then} lamps on the ground floor, and there are {now}");
    assert_eq!((then, now), (3, 1));
    db.release(snapshot);
    db.close()?;
    Ok(())
}

/// The lamps of a floor, asked through whatever reads.
fn lamps<'ram, 's, N: flysch_nand::Nand>(
    reader: &mut impl flysch::db::Reader<'ram, 's, N>,
    floor: i64,
    row: &mut [u8],
) -> Result<u64, DbError> {
    let all = reader.reading()?.all(LAMP)?;
    let is_here =
        |lamp: &flysch::row::RowView<'_, '_>| Ok(lamp.column(1)? == Value::Integer(floor));
    all.filter(is_here).count(reader, row)
}
