//! Lost pages of large levels: units, and the fences by which units are found. A repair gives every
//! index all of its rows back, whichever page was lost, and whatever merge was under way.

use std::collections::{BTreeMap, BTreeSet};

use flysch::db::{Budget, Db, DbError, Direction, Durability, Options};
use flysch::media::MediaError;
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};

use super::image::Image;

const fn ordered(columns: &'static [u8], is_unique: bool) -> Index<'static> {
    Index { columns, kind: IndexKind::Ordered, is_unique }
}

const fn hash(columns: &'static [u8], is_unique: bool) -> Index<'static> {
    Index { kind: IndexKind::Hash, ..ordered(columns, is_unique) }
}

/// Keys that do not lie evenly, so that their levels are packed and have fences.
const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "line",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("rank", ColumnType::Integer),
            Column::required("name", ColumnType::Text),
        ],
        indexes: &[ordered(&[0], true), ordered(&[1], false), ordered(&[2], true)],
        zone: None,
        keep: None,
    }],
};

/// Codes that lie evenly, so that their levels are planned, and have no fences.
const HASHED: Schema<'static> = Schema {
    tables: &[Table {
        indexes: &[hash(&[0], true), hash(&[1], false), hash(&[2], true)],
        ..SCHEMA.tables[0]
    }],
};
const OPTIONS: Options = Options { partition: None, seed: 7, capacity: 10_000 };
const RAM: usize = 14_000;
const RANK: u8 = 1;
const NAME: u8 = 2;

/// A few rows of each rank; most ranks are small.
fn rank(id: i64) -> i64 {
    (id % 577) * (id % 577) * (id % 577)
}

/// Names in bunches.
fn name(id: i64) -> String {
    format!("{}{:04}", ["a", "bb", "bbbb", "z"][usize::try_from(id % 4).unwrap()], id * 7919 % 9973)
}

/// A device of so many rows, in which whatever merge is due is under way.
fn device(schema: &'static Schema<'static>, rows: i64) -> Image {
    let mut image = Image::of(512, 16, 200);
    fill(&mut image, schema, rows, |id| (rank(id), name(id)));
    image
}

/// Create a database of rows of which `of` gives rank and name.
fn fill(
    image: &mut Image,
    schema: &'static Schema<'static>,
    rows: i64,
    of: impl Fn(i64) -> (i64, String),
) {
    let mut ram = vec![0; RAM];
    let mut db = Db::create(image, schema, OPTIONS, &mut ram).unwrap();
    for first in (0..rows).step_by(20) {
        let mut tx = db.begin().unwrap();
        for id in first..(first + 20).min(rows) {
            let (rank, name) = of(id);
            let row = [Value::Integer(id), Value::Integer(rank), Value::Text(&name)];
            tx.insert(0, &row).unwrap();
        }
        tx.commit(Durability::Durable).unwrap();
    }
}

type Ids = BTreeSet<i64>;

/// The ids of the rows that have a key in an index.
fn ids(db: &mut Db<'_, '_, &mut Image>, index: u8, key: Value<'_>) -> Result<Ids, DbError> {
    let mut rows = db.find(0, index, &[key])?;
    let (mut ids, mut out) = (Ids::new(), [0; 64]);
    while let Some(row) = rows.next(db, &mut out)? {
        let Value::Integer(id) = row.column(0)? else { panic!("an id is a number") };
        assert!(ids.insert(id), "row {id} comes once");
    }
    Ok(ids)
}

/// All ids in the order of an index.
fn walk(db: &mut Db<'_, '_, &mut Image>, index: u8) -> Result<Vec<i64>, DbError> {
    let mut rows = db.range_of(0, index, (&[], &[]), Direction::Forward)?;
    let (mut ids, mut out) = (Vec::new(), [0; 64]);
    while let Some(row) = rows.next(db, &mut out)? {
        let Value::Integer(id) = row.column(0)? else { panic!("an id is a number") };
        ids.push(id);
    }
    Ok(ids)
}

/// Ask for every `step`-th row by each index, and for all rows in the order of each ordered one.
fn check(
    db: &mut Db<'_, '_, &mut Image>,
    schema: &Schema<'_>,
    (rows, step): (i64, usize),
    story: &str,
) -> Result<(), DbError> {
    ask(db, (rows, step), story)?;
    for (number, index) in (0..).zip(schema.tables[0].indexes) {
        if index.kind == IndexKind::Ordered {
            let mut walked = walk(db, number)?;
            assert_eq!(walked.len(), usize::try_from(rows).unwrap(), "index {number}, {story}");
            walked.sort_unstable();
            assert!(walked.into_iter().eq(0..rows), "index {number}, {story}");
        }
    }
    Ok(())
}

/// Ask for every `step`-th row by each index.
fn ask(
    db: &mut Db<'_, '_, &mut Image>,
    (rows, step): (i64, usize),
    story: &str,
) -> Result<(), DbError> {
    let mut of_rank = BTreeMap::<i64, Ids>::new();
    (0..rows).for_each(|id| {
        of_rank.entry(rank(id)).or_default().insert(id);
    });
    for id in (0..rows).step_by(step) {
        let one = Ids::from([id]);
        assert_eq!(ids(db, 0, Value::Integer(id))?, one, "id {id}, {story}");
        assert_eq!(ids(db, NAME, Value::Text(&name(id)))?, one, "name of {id}, {story}");
        let like = ids(db, RANK, Value::Integer(rank(id)))?;
        assert_eq!(like, of_rank[&rank(id)], "rank of {id}, {story}");
        assert_eq!(ids(db, 0, Value::Integer(-1 - id))?, Ids::new(), "{story}");
        let absent = format!("{}x", name(id));
        assert_eq!(ids(db, NAME, Value::Text(&absent))?, Ids::new(), "{story}");
    }
    Ok(())
}

/// A device of which pages cannot be read is repaired, and all merges that are due are done.
/// Returns how many pages were lost from runs.
fn repair(image: &Image, rotten: BTreeSet<usize>, (rows, ram): (i64, usize)) -> u32 {
    let story = format!("{rows} rows, pages {rotten:?}");
    let (mut image, mut ram) = (image.clone(), vec![0; ram]);
    image.rotten = rotten;
    let lost = {
        let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let repaired = db.repair().unwrap_or_else(|error| panic!("{error}: {story}"));
        if repaired.lost_pages > 0 {
            check(&mut db, &SCHEMA, (rows, 97), &story)
                .unwrap_or_else(|error| panic!("{error}: {story}"));
        }
        repaired.lost_pages
    };
    // Of a page that was not lost from a run a merge may be the owner. It was stopped, and does not
    // go on after a mount.
    let mut db = Db::open(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
    while db.maintain(Budget { operations: 50 }).unwrap_or_else(|error| panic!("{error}: {story}"))
    {
    }
    check(&mut db, &SCHEMA, (rows, 311), &story).unwrap_or_else(|error| panic!("{error}: {story}"));
    lost
}

#[test]
fn whichever_page_of_a_large_level_is_lost_its_rows_are_found() {
    let mut repairs = 0;
    for rows in [1800, 2480, 3140] {
        let image = device(&SCHEMA, rows);
        for page in image.run_pages().into_iter().step_by(3) {
            let lost = repair(&image, BTreeSet::from([page]), (rows, RAM));
            repairs += u32::from(lost > 0);
        }
    }
    assert!(repairs > 50, "{repairs} repairs");
}

/// Do so many steps of a repair, if there are as many. Returns how many there were, and how many
/// pages were lost.
fn steps_of(db: &mut Db<'_, '_, &mut Image>, most: u32) -> (u32, u32) {
    let (mut repair, mut steps) = (db.begin_repair().unwrap(), 0);
    while steps < most && repair.step().unwrap() {
        steps += 1;
    }
    (steps, repair.report().lost_pages)
}

/// Once all entries are put again, runs are written anew. A repair that is dropped meanwhile leaves
/// lookups that pass over the lost pages.
#[test]
fn a_repair_that_is_dropped_while_it_renews_leaves_no_gap() {
    let (mut dropped, rows) = (0, 2480);
    for schema in [&SCHEMA, &HASHED] {
        let image = device(schema, rows);
        for pages in image.run_pages().chunks(3).step_by(2) {
            let (mut rotting, mut ram) = (image.clone(), vec![0; RAM]);
            rotting.rotten.extend(pages);
            let mut copy = rotting.clone();
            let mut db = Db::open(&mut copy, schema, OPTIONS, &mut ram).unwrap();
            let (steps, lost) = steps_of(&mut db, u32::MAX);
            let renewing = if lost > 0 { steps.saturating_sub(24)..steps } else { 0..0 };
            for most in renewing.rev().step_by(3) {
                let mut copy = rotting.clone();
                let mut db = Db::open(&mut copy, schema, OPTIONS, &mut ram).unwrap();
                steps_of(&mut db, most);
                let story = format!("pages {pages:?}, {most} of {steps} steps");
                match check(&mut db, schema, (rows, 37), &story) {
                    Ok(()) => dropped += 1,
                    // It was dropped earlier, so that lookups come to the lost pages.
                    Err(DbError::Media(MediaError::Corrupt(_))) => break,
                    Err(error) => panic!("{error}: {story}"),
                }
            }
        }
    }
    assert!(dropped > 20, "{dropped} repairs were dropped");
}

/// So many rows have a key that their entries take several units. What lies behind a lost one is
/// found, and not put again.
#[test]
fn a_lost_unit_amid_the_rows_of_a_key_hides_none_of_them() {
    const ROWS: i64 = 6000;
    const FEW: Schema<'static> = Schema {
        tables: &[Table {
            indexes: &[ordered(&[0], true), ordered(&[1], false)],
            ..SCHEMA.tables[0]
        }],
    };
    let mut image = Image::of(512, 16, 640);
    fill(&mut image, &FEW, ROWS, |id| (id * 7919 % 9973 % 3, "x".repeat(300)));
    let mut entries = 0;
    for page in image.run_pages() {
        let (mut image, mut ram) = (image.clone(), vec![0; RAM]);
        image.rotten.insert(page);
        let mut db = Db::open(&mut image, &FEW, OPTIONS, &mut ram).unwrap();
        let repaired = db.repair().unwrap();
        entries += i64::from(repaired.entries);
    }
    assert!((ROWS..=2 * ROWS).contains(&entries), "{entries} entries on all pages");
}

/// So many entries are lost at once that they are put again in several transactions.
#[test]
fn whole_levels_that_are_lost_are_put_again_part_by_part() {
    let mut most = 0;
    for rows in [1800, 3140] {
        let image = device(&SCHEMA, rows);
        for pages in image.run_pages().chunks(48) {
            let lost = repair(&image, pages.iter().copied().collect(), (rows, RAM));
            most = most.max(lost);
        }
    }
    assert!(most > 20, "{most} pages of runs were lost together");
}

/// Rows that were deleted so long ago that their tombstones are gone may rise. A repair counts all
/// rows that it cannot tell from those.
#[test]
fn rows_that_may_have_risen_are_counted() {
    const NOTES: Schema<'static> = Schema {
        tables: &[Table {
            name: "note",
            columns: &[
                Column::required("id", ColumnType::Integer),
                Column::required("text", ColumnType::Text),
            ],
            indexes: &[Index { columns: &[0], kind: IndexKind::Hash, is_unique: true }],
            zone: None,
            keep: None,
        }],
    };
    let (mut image, mut ram) = (Image::of(512, 8, 40), vec![0; RAM]);
    let mut db = Db::create(&mut image, &NOTES, OPTIONS, &mut ram).unwrap();
    let mut wanted: Ids = (0..400).collect();
    for id in 0..400 {
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[Value::Integer(id), Value::Text("a note of some length")]).unwrap();
        tx.commit(Durability::Lazy).unwrap();
    }
    for turn in 0..6_000 {
        let mut tx = db.begin().unwrap();
        if turn % 20 == 0 && turn < 1_000 {
            let id = 3 + turn / 20 * 7;
            assert_eq!(tx.delete(0, &[Value::Integer(id)]), Ok(wanted.remove(&id)));
        } else {
            let id = 1 + turn % 13 * 28;
            tx.upsert(0, &[Value::Integer(id), Value::Text("a note that changed")]).unwrap();
            wanted.insert(id);
        }
        tx.commit(Durability::Lazy).unwrap();
    }
    while db.maintain(Budget { operations: 50 }).unwrap() {}
    db.close().unwrap();
    let mut doubtful = 0;
    for page in image.run_pages() {
        let (mut image, mut ram) = (image.clone(), vec![0; RAM]);
        image.rotten.insert(page);
        let mut db = Db::open(&mut image, &NOTES, OPTIONS, &mut ram).unwrap();
        let repaired = db.repair().unwrap();
        let (mut scan, mut out) = (db.scan(0, Direction::Forward).unwrap(), [0; 64]);
        let mut found = Ids::new();
        while let Some(row) = scan.next(&mut db, &mut out).unwrap() {
            let Ok(Value::Integer(id)) = row.column(0) else { panic!("an id is a number") };
            assert!(found.insert(id), "row {id} comes once, page {page}");
        }
        assert!(wanted.is_subset(&found), "page {page}");
        let risen = found.len() - wanted.len();
        assert!(risen <= repaired.doubtful as usize, "{risen} rose, {repaired:?}, page {page}");
        doubtful += repaired.doubtful;
    }
    // Each row that is there has its entry on one page of those of its level.
    assert!(doubtful > 100, "{doubtful} rows of a table with deletes");
}
