//! The worst call: what one insert with its commit does at most, on chips of any shape.

use flysch::db::{Db, DbError, Durability, Options, Reader, Transaction};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use crate::told;

/// A row of some 40 bytes with a key in order and an index on the sensor.
pub(super) const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "reading",
        columns: &[
            Column::required("time", ColumnType::Time),
            Column::required("sensor", ColumnType::Integer),
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

pub(super) const OPTIONS: Options = Options { partition: None, seed: 7, capacity: 100_000 };

/// A shape of a chip: bytes of a page, pages of a block, blocks; and the RAM given.
pub(super) type Shape = (u32, u32, u32, usize);

const SHAPES: &[Shape] = &[
    (512, 32, 96, 14_000),
    (512, 32, 1024, 16_384),
    (512, 32, 512, 16_384),
    (1024, 32, 512, 16_384),
    (2048, 64, 24, 16_384),
    (2048, 64, 128, 16_384),
    (2048, 64, 1024, 16_384),
    (2048, 64, 8192, 65_536),
    (4096, 64, 1024, 32_768),
    (4096, 64, 8192, 65_536),
    (4096, 128, 256, 32_768),
    (8192, 64, 512, 65_536),
    (16_384, 256, 48, 131_072),
];

/// The most reads, programs and erases of a call.
pub(super) type Most = [u64; 3];

pub(super) fn counted(image: &Image) -> Most {
    [image.reads, image.changes[0], image.changes[1]]
}

fn worst(shape: Shape, rows: i64) -> Most {
    let (page_size, pages, blocks, ram) = shape;
    let mut image = Image::of(page_size, pages, blocks);
    let mut memory = vec![0; ram];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut memory).unwrap();
    let mut most = [0; 3];
    for row in 0..rows {
        change(&mut db, &mut most, |tx| insert(tx, row).unwrap());
    }
    most
}

/// Make a change by a commit of its own, and note what both did.
fn change(
    db: &mut Db<'_, 'static, &mut Image>,
    most: &mut Most,
    make: impl FnOnce(&mut Transaction<'_, '_, '_, &mut Image>),
) {
    let before = counted(db.nand());
    let mut tx = db.begin().unwrap();
    make(&mut tx);
    tx.commit(Durability::Durable).unwrap();
    note(most, before, counted(db.nand()));
}

pub(super) fn insert(
    tx: &mut Transaction<'_, '_, '_, &mut Image>,
    row: i64,
) -> Result<(), DbError> {
    tx.insert(0, &values(row, row * 7919 % 997))
}

pub(super) fn values(row: i64, sensor: i64) -> [Value<'static>; 3] {
    let time = Value::Time(1_700_000_000_000_000 + row * 1_000_000);
    [time, Value::Integer(sensor), Value::Text("abcdefghijklmnopqrstuv")]
}

pub(super) fn note(most: &mut Most, before: Most, after: Most) {
    for (most, (after, before)) in most.iter_mut().zip(after.into_iter().zip(before)) {
        *most = (*most).max(after - before);
    }
}

/// Pages of 512 bytes hold half a record: a checkpoint of several pages and its table do not wait,
/// nor do the erases of the next log block and of the next root.
const SMALL_PAGE: Most = [20, 10, 2];

/// An erase, three programs, and the reads of a slice of a merge, whose fan-in grows with the page.
const fn limit(page_size: u32) -> Most {
    match page_size {
        512 => SMALL_PAGE,
        1024 | 2048 => [20, 3, 1],
        4096 | 8192 => [30, 3, 1],
        _ => [50, 3, 1],
    }
}

#[test]
fn an_insert_with_its_commit_does_no_more_than_it_says() {
    for &shape in SHAPES {
        let rows = told("FLYSCH_WORST_ROWS").unwrap_or(6_000).cast_signed();
        let most = worst(shape, rows);
        println!("{shape:?}: reads, programs and erases {most:?}");
        check(shape, most, limit(shape.0));
    }
}

fn check(shape: Shape, most: Most, limit: Most) {
    let is_kept = most.iter().zip(limit).all(|(most, limit)| *most <= limit);
    assert!(is_kept, "{shape:?}: reads, programs and erases {most:?}");
}

/// A run of a large memory table takes several pages. On small pages merges fall behind, and a row
/// does eight slices.
const fn limit_within(page_size: u32) -> Most {
    match page_size {
        512 | 1024 => [60, 10, 2],
        2048 => [20, 4, 1],
        4096 => [30, 4, 1],
        _ => [50, 4, 1],
    }
}

/// The most that a row of one large transaction does, its commit apart.
fn worst_within(shape: Shape, rows: i64) -> Most {
    let (page_size, pages, blocks, ram) = shape;
    let mut image = Image::of(page_size, pages, blocks);
    let mut memory = vec![0; ram];
    let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut memory).unwrap();
    let mut tx = db.begin().unwrap();
    let mut most = [0; 3];
    for row in 0..rows {
        let before = counted(tx.reading().unwrap().nand());
        match insert(&mut tx, row) {
            Err(DbError::Full | DbError::TransactionTooLong) => break,
            inserted => inserted.unwrap(),
        }
        note(&mut most, before, counted(tx.reading().unwrap().nand()));
    }
    tx.commit(Durability::Durable).unwrap();
    most
}

#[test]
fn a_row_of_a_large_transaction_does_no_more_than_it_says() {
    for &shape in SHAPES.iter().filter(|shape| shape.2 >= 128) {
        let rows = told("FLYSCH_WORST_ROWS").unwrap_or(20_000).cast_signed();
        let most = worst_within(shape, rows);
        println!("{shape:?}: reads, programs and erases {most:?}");
        check(shape, most, limit_within(shape.0));
    }
}

/// Replace rows at any place, each by a commit of its own, until blocks have to be freed for long.
fn worst_update(shape: Shape, rows: u32) -> Most {
    let (page_size, pages, blocks, ram) = shape;
    let mut image = Image::of(page_size, pages, blocks);
    let mut memory = vec![0; ram];
    let options = Options { capacity: rows, ..OPTIONS };
    let mut db = Db::create(&mut image, &SCHEMA, options, &mut memory).unwrap();
    for row in 0..rows.into() {
        change(&mut db, &mut [0; 3], |tx| insert(tx, row).unwrap());
    }
    let (mut most, mut prng) = ([0; 3], Prng::new(9));
    for _ in 0..4 * rows.min(30_000) {
        let [row, sensor] = [rows.into(), 997].map(|end| prng.below(end).cast_signed());
        change(&mut db, &mut most, |tx| {
            assert_eq!(tx.update(0, &values(row, sensor)), Ok(true));
        });
    }
    assert!(db.stats().erases > 3 * blocks, "{:?}", db.stats());
    most
}

/// Blocks are freed by what each commit pays, from the first one of a session on: none waits for a
/// whole block.
#[test]
fn an_update_with_its_commit_does_no_more_than_it_says() {
    for (shape, rows, limit) in [
        ((2048, 16, 64, 16_384), 8_000, [40, 3, 1]),
        // Two thirds of all blocks are full of rows.
        ((2048, 16, 64, 16_384), 16_000, [55, 3, 1]),
        ((2048, 64, 48, 16_384), 12_000, [26, 3, 1]),
        // A run takes two pages.
        ((1024, 64, 64, 35_840), 30_000, [52, 4, 1]),
        ((4096, 64, 40, 32_768), 20_000, [36, 3, 1]),
    ] {
        let most = worst_update(shape, rows);
        println!("{rows} rows on {shape:?}: reads, programs and erases {most:?}");
        check(shape, most, limit);
    }
}

/// As many rows as fit before the first is refused, each by a commit of its own.
fn fitting((page_size, pages, blocks, ram): Shape) -> u32 {
    let mut image = Image::of(page_size, pages, blocks);
    let mut memory = vec![0; ram];
    let options = Options { capacity: 1_000_000, ..OPTIONS };
    let mut db = Db::create(&mut image, &SCHEMA, options, &mut memory).unwrap();
    let mut take = |row| {
        let mut tx = db.begin()?;
        insert(&mut tx, row)?;
        tx.commit(Durability::Durable)
    };
    (0..1_000_000).map(&mut take).take_while(|taken| *taken != Err(DbError::Full)).count() as u32
}

/// A shape of a chip, and how many rows it is to have: up to six tenths of those that fit. What
/// fewer blocks and fuller ones come to is told in docs/design.md.
fn draw(prng: &mut Prng) -> (Shape, u32) {
    let mut one_of = |all: &[u32]| all[prng.below(all.len() as u64) as usize];
    let (page_size, pages) = (one_of(&[1024, 2048, 4096]), one_of(&[32, 64]));
    let (blocks, ram) = (one_of(&[40, 52, 64]), one_of(&[16_384, 24_576, 36_864]));
    let shape = (page_size, pages, blocks, ram as usize + 2 * page_size as usize);
    (shape, fitting(shape) / 10 * one_of(&[3, 5, 6]))
}

/// No call waits for a whole merge or a whole block, whatever the chip: `FLYSCH_WORST_DRAWS` of
/// them from seed `FLYSCH_WORST_SEED` on.
#[test]
fn an_update_on_a_drawn_chip_waits_for_nothing_whole() {
    let first = told("FLYSCH_WORST_SEED").unwrap_or(10);
    for seed in first..first + told("FLYSCH_WORST_DRAWS").unwrap_or(3) {
        let (shape, rows) = draw(&mut Prng::new(seed));
        let most = worst_update(shape, rows);
        println!("{seed}: {rows} rows on {shape:?}: reads, programs and erases {most:?}");
        check(shape, most, [110, 8, 1]);
    }
}
