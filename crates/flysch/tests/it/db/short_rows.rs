//! Short rows are deleted from full devices. A tombstone and its entries may take as much as such a
//! row, so deletes free nothing at first; and a page of moved rows may hold fewer of them than the
//! page on which they were, as their entries do not fit the memory table.

use flysch::db::{Budget, Db, DbError, Direction, Durability, Options};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};

use super::image::Image;
use super::world::index;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "short",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("kind", ColumnType::Integer),
            Column::required("text", ColumnType::Text),
        ],
        indexes: &[index(&[0], IndexKind::Ordered, true), index(&[1], IndexKind::Hash, false)],
        zone: None,
        keep: None,
    }],
};

/// Pages of a block, blocks, bytes of RAM, bytes of the text, and tries that a delete may take;
/// pages have 512 bytes.
const CASES: [(u32, u32, usize, usize, u32); 7] = [
    (16, 64, 16_384, 3, 1),
    (8, 60, 7_000, 10, 1),
    (16, 40, 9_000, 3, 1),
    (16, 24, 9_000, 3, 1),
    (32, 33, 10_000, 3, 1),
    // Longer rows leave nothing to deletes, which are refused for a while.
    (16, 58, 9_000, 60, 150),
    (16, 42, 12_000, 60, 150),
];
const BATCH: i64 = 60;
/// Rows that are deleted, at most: a batch is left in any case.
const DELETED: i64 = 3_000;

type Store<'a> = Db<'a, 'static, &'a mut Image>;

/// Insert batches until five were refused; the number of rows.
fn fill(db: &mut Store<'_>, text: &str) -> i64 {
    let (mut rows, mut refused) = (0, 0);
    while refused < 5 {
        let mut tx = db.begin().unwrap();
        let insert = |id: i64| tx.insert(0, &[id.into(), (id % 11).into(), Value::Text(text)]);
        match (rows..rows + BATCH).try_for_each(insert) {
            Ok(()) => {
                tx.commit(Durability::Durable).unwrap();
                rows += BATCH;
            }
            full => {
                assert_eq!(full, Err(DbError::Full));
                tx.roll_back().unwrap();
                refused += 1;
            }
        }
    }
    rows
}

fn delete(db: &mut Store<'_>, id: i64) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    assert!(tx.delete(0, &[id.into()])?, "row {id} is there");
    tx.commit(Durability::Durable)
}

#[test]
fn short_rows_are_deleted_from_a_full_device() {
    for (pages, blocks, ram, len, tries) in CASES {
        let (mut image, mut ram) = (Image::of(512, pages, blocks), vec![0; ram]);
        let options = Options { partition: None, seed: 3, capacity: 20_000 };
        let mut db = Db::create(&mut image, &SCHEMA, options, &mut ram).unwrap();
        let rows = fill(&mut db, &"t".repeat(len));
        let deleted = DELETED.min(rows - BATCH);
        assert!(deleted >= 2_000, "{rows} rows fill {blocks} blocks of {pages} pages");
        for id in 0..deleted {
            let mut attempts = (0..tries).map(|_| delete(&mut db, id));
            let done = attempts.find(|done| *done != Err(DbError::Full));
            assert_eq!(
                done,
                Some(Ok(())),
                "row {id} of {rows} on {blocks} blocks of {pages} pages"
            );
        }
        while db.maintain(Budget { operations: 1_000 }).unwrap() {}
        let free = db.stats().free_blocks;
        assert!(free > 2, "{free} of {blocks} blocks are free at the end");
        db.close().unwrap();
        let mut db = Db::open(&mut image, &SCHEMA, options, &mut ram).unwrap();
        let scan = &mut db.scan(0, Direction::Forward).unwrap();
        let left = (rows - deleted).cast_unsigned();
        assert_eq!(Cursor::count(scan, &mut db, &mut [0; 200]), Ok(left));
        delete(&mut db, deleted).unwrap();
    }
}
