//! Deletes that take the rows with them which refer to the deleted one: what they cost, and where
//! keys lie in long rows.

use flysch::db::{Constraints, Db, DbError, Direction, Durability, ForeignKey, OnDelete};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};

use super::image::Image;
use super::world::OPTIONS;

const fn index(columns: &'static [u8], is_unique: bool) -> Index<'static> {
    Index { columns, kind: IndexKind::Hash, is_unique }
}

const COLUMNS: [Column<'static>; 2] =
    [Column::required("id", ColumnType::Integer), Column::nullable("parent", ColumnType::Integer)];
const INDEXES: [Index<'static>; 2] = [index(&[0], true), index(&[1], false)];

const fn table(name: &'static str) -> Table<'static> {
    Table { name, columns: &COLUMNS, indexes: &INDEXES, zone: None, keep: None }
}

const SCHEMA: Schema<'static> =
    Schema { tables: &[table("parent"), table("child"), table("grandchild"), table("last")] };

const fn refers(table: u8, on_delete: OnDelete) -> ForeignKey {
    ForeignKey { table, index: 1, parent: table - 1, on_delete }
}

/// The reads of a transaction that deletes row 1 of the first table.
fn delete(db: &mut Db<'_, '_, &mut Image>) -> u32 {
    let before = db.stats().counts.reads;
    let mut tx = db.begin().unwrap();
    assert_eq!(tx.delete(0, &[1.into()]), Ok(true));
    tx.commit(Durability::Durable).unwrap();
    db.stats().counts.reads - before
}

/// The rows of a table.
fn rows(db: &mut Db<'_, '_, &mut Image>, table: u8) -> u64 {
    db.scan(table, Direction::Forward).unwrap().count(db, &mut [0; 64]).unwrap()
}

/// Children are gone through by one cursor. Each was sought among all those that were deleted
/// before it, so that 800 of them took 379,472 reads.
#[test]
fn a_delete_reads_as_much_for_many_children_as_for_few() {
    for (on_delete, left) in [(OnDelete::Cascade, 0), (OnDelete::SetNull, 500)] {
        let constraints = Constraints {
            foreign_keys: Box::leak(Box::new([refers(1, on_delete), refers(2, OnDelete::Cascade)])),
            ..Constraints::NONE
        };
        let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 24_000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        db.set_constraints(constraints).unwrap();
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[1.into(), Value::Null]).unwrap();
        for id in 0..500 {
            tx.insert(1, &[Value::Integer(id), 1.into()]).unwrap();
        }
        // Three of the children have children themselves.
        for id in 0..30 {
            tx.insert(2, &[Value::Integer(id), Value::Integer(id % 3 * 200)]).unwrap();
        }
        tx.commit(Durability::Durable).unwrap();
        let reads = delete(&mut db);
        println!("{on_delete:?}: {reads} reads");
        assert!(reads < 10 * 500, "{on_delete:?}: {reads} reads");
        let counts = [0, left, if left == 0 { 0 } else { 30 }];
        assert_eq!([0, 1, 2].map(|table| rows(&mut db, table)), counts, "{on_delete:?}");
    }
}

/// A delete that is refused has nothing to take back. Each was a way back to a savepoint: with 40
/// of them a transaction of 2,000 rows took 588 programs, where it takes 60.
#[test]
fn a_refused_delete_writes_nothing() {
    let foreign_keys = &[refers(1, OnDelete::Restrict)];
    let (mut image, mut ram) = (Image::of(2048, 32, 96), vec![0; 24_000]);
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    db.set_constraints(Constraints { foreign_keys, ..Constraints::NONE }).unwrap();
    let mut reads = Vec::new();
    for (parent, tries) in [(0, false), (1, true)] {
        let before = db.stats().counts;
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[parent.into(), Value::Null]).unwrap();
        for id in 0..2_000 {
            tx.insert(1, &[Value::Integer(parent * 2_000 + id), parent.into()]).unwrap();
            if tries && id % 50 == 49 {
                assert_eq!(tx.delete(0, &[parent.into()]), Err(DbError::ForeignKey { key: 0 }));
            }
        }
        tx.commit(Durability::Durable).unwrap();
        let now = db.stats().counts;
        let programs = now.programs_in_all() - before.programs_in_all();
        println!("tries: {tries}, {programs} programs, {} reads", now.reads - before.reads);
        assert!(programs <= 150, "{programs} programs");
        reads.push(now.reads - before.reads);
    }
    assert!(reads[1] <= reads[0] + 40 * 100, "{reads:?}");
    assert_eq!([0, 1].map(|table| rows(&mut db, table)), [2, 4_000]);
}

/// Children that have children themselves are gone through by one cursor as well. The search began
/// at the first child for each, so that 400 of them with two each took 190,504 reads.
#[test]
fn a_delete_reads_as_much_for_many_levels_as_for_few() {
    // Children of each row on each level.
    let shapes: [&[i64]; 5] = [&[60, 2], &[400, 2], &[20, 30, 1], &[30, 20, 2], &[3, 3, 150]];
    for shape in shapes {
        let keys: Vec<ForeignKey> = (1..4).map(|table| refers(table, OnDelete::Cascade)).collect();
        let constraints = Constraints { foreign_keys: keys.leak(), ..Constraints::NONE };
        let (mut image, mut ram) = (Image::of(2048, 32, 128), vec![0; 24_000]);
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        db.set_constraints(constraints).unwrap();
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[1.into(), Value::Null]).unwrap();
        tx.insert(0, &[0.into(), Value::Null]).unwrap();
        let (mut inserted, mut count) = (2, 1);
        for (table, children) in (1..).zip(shape) {
            count *= children;
            for id in 0..count {
                // The parents' keys begin with 0, and those of the first table with 1.
                let parent = id / children + i64::from(table == 1);
                tx.insert(table, &[id.into(), parent.into()]).unwrap();
            }
            inserted += u32::try_from(count).unwrap();
        }
        tx.commit(Durability::Durable).unwrap();
        let reads = delete(&mut db);
        println!("{shape:?}: {reads} reads for {inserted} rows");
        assert!(reads < 12 * inserted, "{shape:?}: {reads} reads for {inserted} rows");
        assert_eq!([0, 1, 2, 3].map(|table| rows(&mut db, table)), [1, 0, 0, 0], "{shape:?}");
    }
}

/// Rows that change on the way, because others go, may come to lie before those that a cursor gave:
/// page numbers begin again at 0 after 512 pages. They go as well.
#[test]
fn rows_that_change_on_the_way_are_not_left() {
    const LINKED: [Column<'static>; 3] =
        [COLUMNS[0], COLUMNS[1], Column::nullable("other", ColumnType::Integer)];
    const LINKED_INDEXES: [Index<'static>; 3] = [INDEXES[0], INDEXES[1], index(&[2], false)];
    const FILLING: [Column<'static>; 2] = [COLUMNS[0], Column::required("text", ColumnType::Text)];
    let linked = Table { columns: &LINKED, indexes: &LINKED_INDEXES, ..table("linked") };
    let filling = Table { columns: &FILLING, indexes: &INDEXES[..1], ..table("filling") };
    let tables = [table("parent"), linked, table("other"), filling];
    let schema = Schema { tables: &tables };
    let to_other = ForeignKey { table: 1, index: 2, parent: 2, on_delete: OnDelete::SetNull };
    let keys = [refers(1, OnDelete::Cascade), refers(2, OnDelete::Cascade), to_other];
    let constraints = Constraints { foreign_keys: &keys, ..Constraints::NONE };
    let (mut image, mut ram) = (Image::of(2048, 8, 24), vec![0; 24_000]);
    let mut db = Db::create(&mut image, &schema, OPTIONS, &mut ram).unwrap();
    db.set_constraints(constraints).unwrap();
    let text = "t".repeat(1_800);
    for round in 0..1_500 {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[round.into(), Value::Null]).unwrap();
        let (one, two) = (2 * round, 2 * round + 1);
        tx.insert(1, &[one.into(), round.into(), Value::Null]).unwrap();
        tx.insert(2, &[round.into(), one.into()]).unwrap();
        tx.insert(1, &[two.into(), round.into(), round.into()]).unwrap();
        tx.commit(Durability::Durable).unwrap();
        // A page at least lies between the rows and what becomes of them.
        let mut tx = db.begin().unwrap();
        tx.upsert(3, &[0.into(), Value::Text(&text)]).unwrap();
        tx.commit(Durability::Durable).unwrap();
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.delete(0, &[round.into()]), Ok(true));
        tx.commit(Durability::Durable).unwrap();
        let keys = [(0, 0, round), (1, 0, one), (1, 0, two), (1, 1, round), (2, 0, round)];
        for (table, index, key) in keys {
            let mut row = [0; 64];
            let left = db.get(table, index, &[key.into()], &mut row).unwrap();
            assert!(left.is_none(), "{left:?} of table {table}, round {round}");
        }
    }
}

/// Keys behind a long text. A row was refused its delete where its key lay behind 512 bytes.
const LONG_COLUMNS: [Column<'static>; 3] = [
    Column::required("about", ColumnType::Text),
    Column::required("name", ColumnType::Text),
    Column::nullable("parent", ColumnType::Text),
];
const LONG_INDEXES: [Index<'static>; 2] = [index(&[1], true), index(&[2], false)];
const LONG: Schema<'static> = Schema {
    tables: &[
        Table { columns: &LONG_COLUMNS, indexes: &LONG_INDEXES, ..table("parent") },
        Table { columns: &LONG_COLUMNS, indexes: &LONG_INDEXES, ..table("child") },
    ],
};

#[test]
fn rows_go_wherever_their_keys_lie() {
    let about = "a".repeat(1200);
    // With its bytes, a key of 512 bytes is as long as a delete takes it.
    for (len, is_taken) in [(3, true), (300, true), (512, true), (513, false)] {
        let constraints = Constraints {
            foreign_keys: Box::leak(Box::new([refers(1, OnDelete::Cascade)])),
            ..Constraints::NONE
        };
        let (mut image, mut ram) = (Image::of(4096, 16, 64), vec![0; 40_000]);
        let mut db = Db::create(&mut image, &LONG, OPTIONS, &mut ram).unwrap();
        db.set_constraints(constraints).unwrap();
        let names = [0, 1].map(|row| format!("{row}{}", "n".repeat(len - 1)));
        let names = names.each_ref().map(|name| Value::Text(name));
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[Value::Text(&about), names[0], Value::Null]).unwrap();
        tx.insert(0, &[Value::Text(&about), names[1], Value::Null]).unwrap();
        tx.insert(1, &[Value::Text(&about), names[1], names[0]]).unwrap();
        tx.commit(Durability::Durable).unwrap();
        let mut tx = db.begin().unwrap();
        let said = tx.delete(0, &[names[0]]);
        assert!(if is_taken { said == Ok(true) } else { is_too_long(&said) }, "{len}: {said:?}");
        tx.commit(Durability::Durable).unwrap();
        let mut db = Db::open(&mut image, &LONG, OPTIONS, &mut ram).unwrap();
        for (table, left) in [(0, 1), (1, 0)] {
            let count = db.scan(table, Direction::Forward).unwrap().count(&mut db, &mut [0; 4096]);
            assert_eq!(count, Ok(left + u64::from(!is_taken)), "table {table}, {len} bytes");
            let is_there = db.get(table, 0, &[names[0]], &mut [0; 4096]).unwrap().is_some();
            assert_eq!(is_there, table == 0 && !is_taken, "table {table}, {len} bytes");
        }
    }
}

const fn is_too_long(said: &Result<bool, DbError>) -> bool {
    matches!(said, Err(DbError::RowTooLong { .. }))
}
