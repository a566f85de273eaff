//! Devices that live for a commit or two, some thousands of times.
//!
//! What a life leaves for the next to do, and what it does not tell it, adds up over thousands of
//! lives. The campaign's histories have tens. Here the power goes only between calls, so that a
//! life costs little. Each device lives once without and once with an `NvRam`.
//!
//! `FLYSCH_DEVICES` devices of `FLYSCH_LIVES` lives, from seed `FLYSCH_SEED` on.

use std::collections::BTreeMap;

use flysch::db::{Budget, Db, DbError, Durability, Options};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::Prng;
use flysch_nand::WriteRule;

use super::image::Image;
use super::nvram::{Memory, lent};
use crate::told;

const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "counter",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("count", ColumnType::Integer),
            Column::required("note", ColumnType::Blob),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Hash, is_unique: true },
            Index { columns: &[1], kind: IndexKind::Ordered, is_unique: false },
        ],
        zone: None,
        keep: None,
    }],
};
const RAM: usize = 24_000;
const NOTE: [u8; 100] = [7; 100];

/// How a device is used, drawn from a seed.
#[derive(Debug)]
struct Use {
    /// Page size, pages of a block, blocks.
    shape: (u32, u32, u32),
    ids: u64,
    /// Greatest number of commits of a life, and of rows of a commit.
    most: (u64, u64),
    /// Operations of `maintain` at the end of a life, at most.
    budget: u64,
    /// Of ten lives, those that are closed.
    closed: u64,
}

impl Use {
    fn draw(prng: &mut Prng) -> Self {
        let mut one_of = |choices: &[u32]| choices[prng.below(choices.len() as u64) as usize];
        let shape = (one_of(&[512, 1024, 2048]), one_of(&[8, 16, 32]), one_of(&[24, 40, 64, 100]));
        Self {
            shape,
            ids: 1 + prng.below(60),
            most: (1 + prng.below(3), 1 + prng.below(4)),
            budget: [0, 10, 40, 300][prng.below(4) as usize],
            closed: [0, 5, 10][prng.below(3) as usize],
        }
    }
}

type Rows = BTreeMap<i64, i64>;

/// Commit some rows, new, replaced and deleted ones, or take them back.
fn commit_some(
    db: &mut Db<'_, '_, &mut Image>,
    (prng, used): (&mut Prng, &Use),
    rows: &mut Rows,
) -> Result<(), DbError> {
    let before = rows.clone();
    let mut tx = db.begin()?;
    for _ in 0..=prng.below(used.most.1) {
        let id = prng.below(used.ids).cast_signed();
        if prng.below(8) == 0 {
            assert_eq!(tx.delete(0, &[Value::Integer(id)])?, rows.remove(&id).is_some());
            continue;
        }
        let count = prng.below(1000).cast_signed();
        let note = &NOTE[..prng.below(100) as usize];
        tx.upsert(0, &[Value::Integer(id), Value::Integer(count), Value::Blob(note)])?;
        rows.insert(id, count);
    }
    if prng.below(10) == 0 {
        *rows = before;
        return tx.roll_back();
    }
    tx.commit(Durability::Durable)
}

/// Compare all rows with what they have to be.
fn check_rows(db: &mut Db<'_, '_, &mut Image>, used: &Use, rows: &Rows, story: &str) {
    let mut out = [0; 512];
    for id in 0..used.ids.cast_signed() {
        let row = db.get(0, 0, &[Value::Integer(id)], &mut out).unwrap();
        let count = row.map(|row| row.column(1).unwrap());
        let wanted = rows.get(&id).map(|count| Value::Integer(*count));
        assert_eq!(count, wanted, "row {id}, {story}");
    }
}

fn live(seed: u64, lives: u64, mut nvram: Option<Memory>) {
    let has_nvram = nvram.is_some();
    let mut prng = Prng::new(seed);
    let used = Use::draw(&mut prng);
    let (page_size, pages, blocks) = used.shape;
    let options = Options { partition: None, seed: 3, capacity: 200 };
    let (mut image, mut ram) = (Image::of(page_size, pages, blocks), vec![0; RAM]);
    Db::create_with_nvram(&mut image, lent(&mut nvram), &SCHEMA, options, &mut ram)
        .map(drop)
        .unwrap();
    let mut rows = Rows::new();
    for life in 0..lives {
        let story = format!("life {life} of seed {seed}, NvRam {has_nvram}, {used:?}");
        let mut db = Db::open_with_nvram(&mut image, lent(&mut nvram), &SCHEMA, options, &mut ram)
            .unwrap_or_else(|error| panic!("{error:?}, {story}"));
        if life % 64 == 63 {
            check_rows(&mut db, &used, &rows, &story);
        }
        for _ in 0..=prng.below(used.most.0) {
            commit_some(&mut db, (&mut prng, &used), &mut rows)
                .unwrap_or_else(|error| panic!("{error:?}, {story}"));
        }
        let operations = prng.below(used.budget + 1) as u32;
        db.maintain(Budget { operations }).unwrap();
        if prng.below(10) < used.closed {
            db.close().unwrap();
        }
    }
}

#[test]
fn thousands_of_short_lives_are_survived() {
    let (devices, lives) =
        (told("FLYSCH_DEVICES").unwrap_or(6), told("FLYSCH_LIVES").unwrap_or(1000));
    let first = told("FLYSCH_SEED").unwrap_or(1);
    for seed in first..first + devices {
        live(seed, lives, None);
        live(seed, lives, Some(Memory::new(2048, WriteRule::Overwrite)));
    }
}

/// Devices that once refused a row with space left. Their seed, and lives until then:
///
/// 1. 115, 203: a later transaction of a session began without space for its rows, or without
///    numbers for their blocks.
/// 2. 1000: a block of 32 pages had a page left out behind each one that was written, until there
///    were too many to be remembered. No head had left the block, so it could not be emptied.
#[test]
fn lives_that_were_refused_rows_go_on() {
    for (seed, lives) in [(115, 1100), (203, 2400), (1000, 2300)] {
        live(seed, lives, None);
    }
}
