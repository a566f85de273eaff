//! Snapshots: what was there when one was opened is there, once, whatever is written meanwhile;
//! and where there is no room for that the writer goes on.

use std::collections::BTreeMap;

use flysch::db::{At, Budget, Db, DbError, Direction, Durability, Scan, Snapshot};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, Index, IndexKind, RowView, Schema, Table, Value};
use flysch_chip::{FaultInjector, FaultPlan, Prng};

use super::image::Image;
use super::world::{OPTIONS, chip};

/// A counter by its number, in groups, with a name that orders.
const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "counter",
        columns: &[
            Column::required("id", ColumnType::Integer),
            Column::required("group", ColumnType::Integer),
            Column::required("name", ColumnType::Text),
            Column::required("text", ColumnType::Blob),
        ],
        indexes: &[
            Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
            Index { columns: &[1], kind: IndexKind::Hash, is_unique: false },
            Index { columns: &[2], kind: IndexKind::Ordered, is_unique: true },
        ],
        zone: None,
        keep: None,
    }],
};

const GROUPS: i64 = 5;

type Rows = BTreeMap<i64, (i64, String, Vec<u8>)>;
type Row = (i64, (i64, String, Vec<u8>));
type Past<'p, 'd, 'n> = At<'p, 'd, 'static, &'n mut FaultInjector>;
type Open<'d> = Db<'d, 'static, &'d mut FaultInjector>;

fn read(row: &RowView<'_, '_>) -> Row {
    let columns = [0, 1, 2, 3].map(|column| row.column(column).unwrap());
    let [Value::Integer(id), Value::Integer(group), Value::Text(name), Value::Blob(text)] = columns
    else {
        panic!("the columns have their types");
    };
    (id, (group, name.to_owned(), text.to_owned()))
}

/// Change a row: put a new version of it, or delete it.
fn change(db: &mut Open<'_>, kept: &mut Rows, prng: &mut Prng, keys: u64) -> Result<(), DbError> {
    let id = prng.below(keys).cast_signed();
    let group = prng.below(GROUPS as u64).cast_signed();
    // A few names agree in their first eight bytes.
    let name = format!("{:03} of {:03} {}", id * 37 % 1000, id / 2, prng.below(3));
    let text = vec![prng.below(256) as u8; 20 + prng.below(60) as usize];
    let mut after = kept.clone();
    let mut tx = db.begin()?;
    if prng.below(6) == 0 {
        tx.delete(0, &[Value::Integer(id)])?;
        after.remove(&id);
    } else {
        let values =
            [Value::Integer(id), Value::Integer(group), Value::Text(&name), Value::Blob(&text)];
        match tx.upsert(0, &values) {
            Ok(_) => drop(after.insert(id, (group, name, text))),
            Err(DbError::Duplicate { index: 2 }) => {}
            Err(error) => return Err(error),
        }
    }
    if prng.below(10) == 0 {
        return tx.roll_back();
    }
    let durability = if prng.below(4) == 0 { Durability::Lazy } else { Durability::Durable };
    tx.commit(durability)?;
    *kept = after;
    Ok(())
}

/// All rows of a cursor.
fn all(past: &mut Past<'_, '_, '_>, mut cursor: impl Cursor) -> Result<Vec<Row>, DbError> {
    let (mut found, mut out) = (Vec::new(), vec![0; 4096]);
    while let Some(row) = cursor.next(past, &mut out)? {
        found.push(read(&row));
    }
    Ok(found)
}

/// Everything that a snapshot shows, by every way, is what there was.
fn check(db: &mut Open<'_>, snapshot: &Snapshot, kept: &Rows, keys: u64) -> Result<(), DbError> {
    let mut past = db.at(snapshot)?;
    let wanted: Vec<_> = kept.clone().into_iter().collect();
    for direction in [Direction::Forward, Direction::Backward] {
        let scan = past.scan(0, direction)?;
        let mut found = all(&mut past, scan)?;
        found.sort();
        assert!(found == wanted, "a scan {direction:?}: {} of {}", found.len(), wanted.len());
    }
    let mut out = vec![0; 4096];
    for id in 0..keys.cast_signed() {
        let found = past.get(0, 0, &[Value::Integer(id)], &mut out)?.map(|row| read(&row).1);
        assert_eq!(found.as_ref(), kept.get(&id), "row {id}");
    }
    for group in 0..GROUPS {
        let find = past.find(0, 1, &[Value::Integer(group)])?;
        let mut found = all(&mut past, find)?;
        found.sort();
        let of_group = wanted.iter().filter(|row| row.1.0 == group);
        assert!(found.iter().eq(of_group), "group {group}");
    }
    check_ranges(&mut past, &wanted, keys.cast_signed())
}

fn check_ranges(past: &mut Past<'_, '_, '_>, wanted: &[Row], keys: i64) -> Result<(), DbError> {
    let ends = [Value::Integer(keys / 4), Value::Integer(keys * 3 / 4)];
    let range = past.range_of(0, 0, (&ends[..1], &ends[1..]), Direction::Backward)?;
    let found = all(past, range)?;
    let within = wanted.iter().rev().filter(|row| (keys / 4..=keys * 3 / 4).contains(&row.0));
    assert!(found.iter().eq(within), "a range of keys");
    let ends = [Value::Text("050"), Value::Text("150")];
    let range = past.range_of(0, 2, (&ends[..1], &ends[1..]), Direction::Forward)?;
    let found: Vec<_> = all(past, range)?.into_iter().map(|row| row.1.1).collect();
    let mut names: Vec<_> = wanted.iter().map(|row| row.1.1.clone()).collect();
    names.retain(|name| ("050"..="150").contains(&name.as_str()));
    names.sort();
    assert_eq!(found, names, "a range of names");
    Ok(())
}

/// A scan of a snapshot that is pulled a few rows at a time, while others write.
struct Slow {
    scan: Scan,
    found: Vec<i64>,
}

impl Slow {
    fn pull(
        &mut self,
        db: &mut Open<'_>,
        snapshot: &Snapshot,
        count: u64,
    ) -> Result<bool, DbError> {
        let (mut past, mut out) = (db.at(snapshot)?, vec![0; 4096]);
        for _ in 0..count {
            let Some(row) = self.scan.next(&mut past, &mut out)? else { return Ok(false) };
            self.found.push(read(&row).0);
        }
        Ok(true)
    }
}

#[test]
fn a_snapshot_held_over_5000_updates_shows_each_row_as_it_was_once() {
    let keys = 300;
    for (seed, failures) in [(1, 0), (3, 400)] {
        let mut nand = chip(2048, 220);
        let mut ram = vec![0; 16_384];
        Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        nand.arm(FaultPlan { seed, program_failures_ppm: failures, ..FaultPlan::default() });
        let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let (mut prng, mut kept) = (Prng::new(seed), Rows::new());
        for _ in 0..400 {
            change(&mut db, &mut kept, &mut prng, keys).unwrap();
        }
        let (old, then) = (db.snapshot().unwrap(), kept.clone());
        let mut slow = [Direction::Forward, Direction::Backward].map(|direction| {
            let scan = db.at(&old).unwrap().scan(0, direction).unwrap();
            Slow { scan, found: Vec::new() }
        });
        let mut young: Option<(Snapshot, Rows)> = None;
        let moved_before = db.moved_pages();
        for round in 0..5000 {
            change(&mut db, &mut kept, &mut prng, keys).unwrap();
            if round % 40 == 0 {
                for slow in &mut slow {
                    slow.pull(&mut db, &old, 2).unwrap();
                }
                db.maintain(Budget { operations: 150 }).unwrap();
            }
            if round % 1100 == 350 {
                if let Some((snapshot, then)) = young.take() {
                    check(&mut db, &snapshot, &then, keys).unwrap();
                    db.release(snapshot);
                }
                young = Some((db.snapshot().unwrap(), kept.clone()));
            }
            if round % 1700 == 0 {
                check(&mut db, &old, &then, keys).unwrap();
            }
        }
        check(&mut db, &old, &then, keys).unwrap();
        for slow in &mut slow {
            while slow.pull(&mut db, &old, 50).unwrap() {}
            slow.found.sort_unstable();
            assert!(slow.found.iter().eq(then.keys()), "a scan among 5000 updates");
        }
        assert!(db.moved_pages() > moved_before + 20, "there are compactions among them");
    }
}

/// A cursor that began before a snapshot is too old for it as soon as rows moved between them, and
/// one of another snapshot too: it has passed rows that came to lie elsewhere.
#[test]
fn a_cursor_goes_on_at_the_snapshot_at_which_it_began() {
    let keys = 60;
    let mut nand = chip(2048, 64);
    let mut ram = vec![0; 16_384];
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (mut prng, mut kept) = (Prng::new(5), Rows::new());
    let mut out = vec![0; 4096];
    let mut refused = 0;
    for _ in 0..30 {
        for _ in 0..100 {
            change(&mut db, &mut kept, &mut prng, keys).unwrap();
        }
        let mut cursors =
            [Direction::Forward, Direction::Backward].map(|way| db.scan(0, way).unwrap());
        for scan in &mut cursors {
            scan.next(&mut db, &mut out).unwrap();
        }
        let moved = db.moved_pages();
        for _ in 0..40 {
            db.maintain(Budget { operations: 40 }).unwrap();
        }
        let has_moved = db.moved_pages() > moved;
        let snapshot = db.snapshot().unwrap();
        for scan in &mut cursors {
            let mut past = db.at(&snapshot).unwrap();
            let outcome = scan.next(&mut past, &mut out).map(drop);
            assert_eq!(outcome.is_err(), has_moved, "{outcome:?}");
            refused += u32::from(has_moved);
        }
        db.release(snapshot);
    }
    assert!(refused > 0, "rows were moved between cursors and snapshots");
}

/// A reader of the past that is never dropped does not stay: what is done next sees everything.
#[test]
fn a_reader_of_the_past_that_is_forgotten_does_not_stay() {
    let mut nand = chip(2048, 64);
    let mut ram = vec![0; 16_384];
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (mut prng, mut kept, keys) = (Prng::new(6), Rows::new(), 60);
    for _ in 0..30 {
        for _ in 0..100 {
            change(&mut db, &mut kept, &mut prng, keys).unwrap();
        }
        let snapshot = db.snapshot().unwrap();
        for _ in 0..20 {
            change(&mut db, &mut kept, &mut prng, keys).unwrap();
        }
        let _never_dropped = std::mem::ManuallyDrop::new(db.at(&snapshot).unwrap());
        db.release(snapshot);
        for _ in 0..10 {
            db.maintain(Budget { operations: 40 }).unwrap();
        }
        let now = db.snapshot().unwrap();
        check(&mut db, &now, &kept, keys).unwrap();
        db.release(now);
    }
}

/// The device is small, and full of what snapshots hold: they are too old, and no write is refused.
#[test]
fn the_writer_goes_on_and_a_snapshot_is_too_old() {
    let mut nand = chip(512, 64);
    let mut ram = vec![0; 9000];
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (mut prng, mut kept, keys) = (Prng::new(3), Rows::new(), 60);
    let mut went_stale = 0;
    for _ in 0..6 {
        let (snapshot, then) = (db.snapshot().unwrap(), kept.clone());
        for _ in 0..400 {
            let mut tx = db.begin().unwrap();
            let id = prng.below(keys).cast_signed();
            let name = format!("{id}");
            let text = vec![prng.below(256) as u8; 60];
            let values =
                [Value::Integer(id), Value::Integer(1), Value::Text(&name), Value::Blob(&text)];
            tx.upsert(0, &values).unwrap();
            tx.commit(Durability::Durable).unwrap();
            kept.insert(id, (1, name.clone(), text));
        }
        match check(&mut db, &snapshot, &then, keys) {
            Ok(()) => {}
            Err(DbError::Stale) => went_stale += 1,
            Err(error) => panic!("{error:?}"),
        }
        db.release(snapshot);
        let now = db.snapshot().unwrap();
        check(&mut db, &now, &kept, keys).unwrap();
        db.release(now);
    }
    assert!(went_stale > 0, "the device is too small for what a snapshot holds");
}

/// Programs fail while snapshots are open: the rows that they show come to other pages, and are
/// shown there.
#[test]
fn a_snapshot_follows_rows_whose_page_failed() {
    let mut checked = 0;
    for seed in 0..6 {
        let mut nand = chip(2048, 96);
        let mut ram = vec![0; 16_384];
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let plan = FaultPlan { seed, program_failures_ppm: 50_000, ..FaultPlan::default() };
        db.nand_mut().arm(plan);
        let (mut prng, mut kept, keys) = (Prng::new(seed), Rows::new(), 40);
        for _ in 0..25 {
            if change(&mut db, &mut kept, &mut prng, keys).is_err() {
                break;
            }
            let (snapshot, then) = (db.snapshot().unwrap(), kept.clone());
            let changed = (0..6).try_for_each(|_| change(&mut db, &mut kept, &mut prng, keys));
            match check(&mut db, &snapshot, &then, keys) {
                Ok(()) => checked += 1,
                Err(DbError::Stale) => {}
                Err(error) => panic!("{error:?}"),
            }
            db.release(snapshot);
            if changed.is_err() {
                break;
            }
        }
    }
    assert!(checked > 20, "{checked} snapshots");
}

/// A snapshot is of its session: one that was kept over a close shows nothing, and takes no other
/// one away.
#[test]
fn a_snapshot_of_an_earlier_session_is_too_old() {
    let mut nand = chip(2048, 48);
    let mut ram = vec![0; 16_384];
    Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (mut prng, mut kept) = (Prng::new(9), Rows::new());
    let mut before: Option<Snapshot> = None;
    for _ in 0..4 {
        let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        change(&mut db, &mut kept, &mut prng, 40).unwrap();
        let snapshot = db.snapshot().unwrap();
        if let Some(before) = before.take() {
            assert_eq!(check(&mut db, &before, &kept, 40), Err(DbError::Stale));
            db.release(before);
        }
        check(&mut db, &snapshot, &kept, 40).unwrap();
        before = Some(snapshot);
        db.close().unwrap();
    }
}

/// Rows that are only added keep their whole history, over cuts and mounts; a table of which rows
/// were replaced has none.
#[test]
fn a_table_that_only_grows_is_shown_as_of_any_commit() {
    let mut nand = chip(2048, 48);
    let mut ram = vec![0; 16_384];
    Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut counts = Vec::new();
    let mut id = 0;
    for life in 0..4_i64 {
        let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        for round in 0..60 {
            let mut tx = db.begin().unwrap();
            for _ in 0..=round % 3 {
                let name = format!("{id}");
                let values = [int(id), int(id % GROUPS), Value::Text(&name), Value::Blob(&[1; 30])];
                tx.insert(0, &values).unwrap();
                id += 1;
            }
            tx.commit(Durability::Durable).unwrap();
            counts.push((db.stats().commits, id));
        }
        for (commits, count) in counts.iter().copied().step_by(7) {
            let mut past = db.as_of(commits).unwrap();
            let scan = past.scan(0, Direction::Backward).unwrap();
            let mut found: Vec<i64> =
                all(&mut past, scan).unwrap().into_iter().map(|row| row.0).collect();
            found.sort_unstable();
            assert!(found.into_iter().eq(0..count), "life {life}, after {commits} commits");
            let mut out = [0; 256];
            let last = past.get(0, 0, &[int(count - 1)], &mut out).unwrap().is_some();
            let next = past.get(0, 0, &[int(count)], &mut out).unwrap().is_some();
            assert_eq!((last, next), (true, false), "after {commits} commits");
            let ends = ([int(0)], [int(i64::MAX)]);
            let range = past.range_of(0, 0, (&ends.0, &ends.1), Direction::Forward).unwrap();
            let found = all(&mut past, range).unwrap().into_iter().map(|row| row.0);
            assert!(found.eq(0..count), "a range after {commits} commits");
        }
    }
    let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let mut tx = db.begin().unwrap();
    tx.delete(0, &[int(3)]).unwrap();
    tx.commit(Durability::Durable).unwrap();
    let mut past = db.as_of(counts[9].0).unwrap();
    let asked = past.get(0, 0, &[int(0)], &mut [0; 256]).map(|row| row.is_some());
    assert_eq!(asked, Err(DbError::Stale));
}

const fn int(number: i64) -> Value<'static> {
    Value::Integer(number)
}

/// Put a row of this number.
fn put(db: &mut Db<'_, 'static, &mut Image>, id: i64, byte: u8) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    let name = format!("{id}");
    let values =
        [Value::Integer(id), Value::Integer(0), Value::Text(&name), Value::Blob(&[byte; 60])];
    tx.upsert(0, &values)?;
    tx.commit(Durability::Durable)
}

/// The program of the page fails that a snapshot ends in. The block to which its rows come rests
/// as the others do, though all of its rows are replaced.
#[test]
fn a_snapshot_keeps_the_block_to_which_its_last_rows_came() {
    let mut checked = 0;
    for (rows, behind) in (10..22).flat_map(|rows| (0..8).map(move |behind| (rows, behind))) {
        let mut image = Image::blank(512, 64);
        let mut ram = vec![0; 12_000];
        let mut db = Db::create(&mut image, &SCHEMA, OPTIONS, &mut ram).unwrap();
        (0..rows).for_each(|id| put(&mut db, id, 1).unwrap());
        let snapshot = db.snapshot().unwrap();
        for id in 0..60 {
            if id == behind {
                let changes = db.nand().changes;
                db.nand_mut().fails_every = Some(changes[0] + changes[1] + 1);
            }
            put(&mut db, id % 20, 2).unwrap();
            db.nand_mut().fails_every = None;
        }
        while db.maintain(Budget { operations: 200 }).unwrap() {}
        let mut out = [0; 512];
        let Ok(mut past) = db.at(&snapshot) else { continue };
        for id in 0..rows {
            let row = past.get(0, 0, &[Value::Integer(id)], &mut out).unwrap();
            let text = row.map(|row| row.column(3).unwrap() == Value::Blob(&[1; 60]));
            assert_eq!(text, Some(true), "row {id} of {rows}, commit {behind} fails");
        }
        checked += 1;
    }
    assert!(checked > 50, "{checked} snapshots were open to the end");
}
