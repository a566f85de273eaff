//! Ring tables: they keep their newest rows, whole blocks of the oldest go, and what is left of the
//! past is shown.

use std::cell::Cell;
use std::rc::Rc;

use flysch::db::{
    Budget, Clock, Constraints, Db, DbError, Direction, Durability, ForeignKey, OnDelete, Options,
    Transaction, ram_needed,
};
use flysch::row::{Column, ColumnType, Index, IndexKind, Keep, Schema, Table, Value};
use flysch_chip::FaultInjector;
use flysch_nand::Nand;

use super::image::Image;
use super::world::{self, id_of};

const INTEGER: ColumnType = ColumnType::Integer;
const KEY: Index<'static> = Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true };

const COLUMNS: &[Column<'static>] = &[
    Column::required("id", INTEGER),
    Column::required("kind", INTEGER),
    Column::required("text", ColumnType::Text),
];
const INDEXES: &[Index<'static>] =
    &[KEY, Index { columns: &[1], kind: IndexKind::Hash, is_unique: false }];

const fn table(name: &'static str, keep: Option<Keep>) -> Table<'static> {
    Table { name, columns: COLUMNS, indexes: INDEXES, zone: Some(0), keep }
}

const BY_ROWS: Schema<'static> =
    Schema { tables: &[table("note", None), table("event", Some(Keep::Rows(1000)))] };
const BY_BYTES: Schema<'static> =
    Schema { tables: &[table("note", None), table("event", Some(Keep::Bytes(100_000)))] };
const BY_TIME: Schema<'static> =
    Schema { tables: &[table("note", None), table("event", Some(Keep::Time(1000)))] };
pub(super) const LEAST: Schema<'static> =
    Schema { tables: &[table("note", None), table("event", Some(Keep::Rows(1)))] };
pub(super) const ALL: Schema<'static> =
    Schema { tables: &[table("note", None), table("event", Some(Keep::Rows(u32::MAX)))] };
pub(super) const OPTIONS: Options = Options { partition: None, seed: 5, capacity: 2000 };
const NOTE: u8 = 0;
pub(super) const EVENT: u8 = 1;
const TEXT: &str = "something of forty bytes or so has happened";

pub(super) type Open<'d> = Db<'d, 'static, &'d mut FaultInjector>;

pub(super) fn insert<N: Nand>(db: &mut Db<'_, '_, N>, table: u8, id: i64) -> Result<(), DbError> {
    let mut tx = db.begin()?;
    tx.insert(table, &[Value::Integer(id), Value::Integer(id % 7), Value::Text(TEXT)])?;
    tx.commit(Durability::Durable)
}

/// The ids of a table, by a scan, and by the primary key's index the other way round.
fn ids(db: &mut Open<'_>, table: u8) -> Vec<i64> {
    let mut out = [0; 256];
    let mut scan = db.scan(table, Direction::Forward).unwrap();
    let mut found = Vec::new();
    while let Some(row) = scan.next(db, &mut out).unwrap() {
        found.push(id_of(&row));
    }
    let (least, most) = (Value::Integer(i64::MIN), Value::Integer(i64::MAX));
    let mut range = db.range(table, 0, (&least, &most), Direction::Backward).unwrap();
    let mut ranged = Vec::new();
    while let Some(row) = range.next(db, &mut out).unwrap() {
        ranged.push(id_of(&row));
    }
    ranged.reverse();
    let mut sorted = found.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ranged, "a scan and the index show the same rows");
    found
}

fn count(rows: &[i64]) -> i64 {
    i64::try_from(rows.len()).unwrap()
}

/// Run a ring round and round; what it shows each time, with the number of the last row.
fn turn(schema: &'static Schema<'static>, last: i64, mut seen: impl FnMut(&mut Open<'_>, i64)) {
    let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut chip, schema, OPTIONS, &mut ram).unwrap();
    for id in 0..last {
        db.set_time(id.cast_unsigned() + 1);
        insert(&mut db, EVENT, id).unwrap();
        if id % 50 == 0 {
            insert(&mut db, NOTE, id).unwrap();
        }
        if id % 997 == 996 {
            seen(&mut db, id);
        }
    }
    assert_eq!(db.moved_pages(), 0, "no row of a ring is copied");
    // Nothing of it depends on the session.
    let mut db = Db::open(&mut chip, schema, OPTIONS, &mut ram).unwrap();
    db.set_time(last.cast_unsigned());
    seen(&mut db, last - 1);
    let notes: Vec<i64> = (0..last).filter(|id| id % 50 == 0).collect();
    assert_eq!(ids(&mut db, NOTE), notes, "the other table has all of its rows");
}

#[test]
fn a_ring_keeps_its_newest_rows_and_little_more() {
    // A block has seven pages of some 40 rows; notes share the tail with events.
    let block = 400;
    turn(&BY_ROWS, 8000, |db, last| {
        let shown = ids(db, EVENT);
        let (wanted, found) = ((last + 1).min(1000), count(&shown));
        assert!((wanted..wanted + 2 * block).contains(&found), "{found} at {last}");
        assert!(shown.into_iter().eq(last + 1 - found..=last), "the newest");
    });
}

/// A transaction that takes many blocks gives as many back: the ring is no longer than after
/// transactions of one row each.
#[test]
fn a_ring_of_long_transactions_keeps_no_more() {
    for (durability, len) in [(Durability::Durable, 600), (Durability::Lazy, 600)] {
        let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 60_000]);
        let mut db = Db::create(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
        let mut next = 0;
        for turn in 0..20 {
            let mut tx = db.begin().unwrap();
            for id in next..next + len {
                let values = [Value::Integer(id), Value::Integer(id % 7), Value::Text(TEXT)];
                tx.insert(EVENT, &values).unwrap();
            }
            tx.commit(durability).unwrap();
            next += len;
            let blocks = db.stats().ring_blocks;
            // A block has 270 rows or so. A record names 32 blocks, and so comes sooner or later.
            let lag = if durability == Durability::Lazy { 32 } else { 0 };
            let most = u32::try_from(1000 / 270 + len / 270).unwrap() + 2 + lag;
            assert!(blocks <= most, "{blocks} blocks after turn {turn} of {len} rows");
        }
        assert!(count(&ids(&mut db, EVENT)) >= 1000);
    }
}

#[test]
fn a_ring_keeps_its_newest_bytes_or_its_last_time() {
    turn(&BY_BYTES, 8000, |db, last| {
        let shown = ids(db, EVENT).len();
        let stats = db.stats();
        assert!(last < 4000 || (6..=10).contains(&stats.ring_blocks), "{stats:?}");
        assert!(last < 4000 || shown >= 1400, "{shown} rows on 49 pages");
    });
    turn(&BY_TIME, 6000, |db, last| {
        let shown = count(&ids(db, EVENT));
        assert!(shown >= (last + 1).min(1000), "{shown} at {last}");
        assert!(shown <= 1000 + 800, "{shown} at {last}");
    });
}

/// Fill a device by turns with events and notes until no note fits; how many notes there are.
pub(super) fn fill(db: &mut Open<'_>) -> i64 {
    let mut notes = 0;
    for id in 0.. {
        insert(db, EVENT, id).unwrap();
        match insert(db, NOTE, id) {
            Ok(()) => notes += 1,
            Err(DbError::Full) => break,
            Err(error) => panic!("{error:?}"),
        }
    }
    notes
}

/// Bytes that a note takes at least.
pub(super) const NOTE_LEAST: i64 = 43;

/// Chips and memory of which databases get full: bytes of a page, pages of a block, blocks, and
/// bytes of memory beyond the least.
pub(super) const SHAPES: [(u32, u32, u32, usize); 3] =
    [(2048, 8, 64, 0), (512, 16, 64, 0), (4096, 8, 48, 9000)];

fn on_each_shape(mut work: impl FnMut(&mut Open<'_>)) {
    for (page_size, pages_per_block, block_count, more) in SHAPES {
        let mut chip = world::chip_of(page_size, pages_per_block, block_count);
        let mut ram = vec![0; ram_needed(&ALL, &chip.geometry(), &OPTIONS) + more];
        work(&mut Db::create(&mut chip, &ALL, OPTIONS, &mut ram).unwrap());
    }
}

#[test]
fn a_full_device_takes_rows_of_a_ring_and_of_nothing_else() {
    on_each_shape(|db| {
        let notes = fill(db);
        let (before, moved) = (db.stats(), db.moved_pages());
        let first = 10_000_000;
        let last = first + 2 * notes;
        for id in first..last {
            let inserted = insert(db, EVENT, id);
            assert_eq!(inserted, Ok(()), "{} {:?}", id - first, db.stats());
        }
        let after = db.stats();
        assert!(after.pressed_blocks > before.pressed_blocks + 20, "space was short: {after:?}");
        let more = db.moved_pages() - moved;
        let pages = notes * NOTE_LEAST / i64::from(db.nand().geometry().page_size);
        assert!(i64::from(more) <= pages, "a page of notes is packed once: {more} of {pages}");
        assert_eq!(count(&ids(db, NOTE)), notes, "the other table has all of its rows");
        let shown = ids(db, EVENT);
        assert!(shown.iter().copied().eq(last - count(&shown)..last), "the newest");
        // A snapshot does not make the writer wait: it is too old.
        let snapshot = db.snapshot().unwrap();
        for id in last..last + notes / 3 {
            assert_eq!(insert(db, EVENT, id), Ok(()), "{id} {:?}", db.stats());
        }
        assert_eq!(db.at(&snapshot).map(drop), Err(DbError::Stale));
    });
}

#[test]
fn what_is_deleted_beside_a_ring_makes_room_again() {
    on_each_shape(|db| {
        let notes = fill(db);
        // Every second note goes, while the ring goes on.
        for id in (0..notes).step_by(2) {
            insert(db, EVENT, 10_000_000 + id).unwrap();
            let mut tx = db.begin().unwrap();
            assert_eq!(tx.delete(NOTE, &[Value::Integer(id)]), Ok(true), "{id} of {notes}");
            tx.commit(Durability::Durable).unwrap();
        }
        let mut came = 0;
        while came < notes && insert(db, NOTE, 20_000_000 + came).is_ok() {
            came += 1;
        }
        assert!(came > notes / 4, "half of the room comes back: {came} of {notes} notes");
    });
}

/// A transaction that follows deletes makes the space for its rows once it inserts one. What it saw
/// of a ring before is there still.
#[test]
fn a_ring_gives_nothing_back_once_a_transaction_has_begun() {
    const SMALL: Schema<'static> = Schema {
        tables: &[table("note", Some(Keep::Bytes(20_000))), table("event", Some(Keep::Bytes(1)))],
    };
    let long = TEXT.repeat(4);
    for blocks in 26..30 {
        let (mut chip, mut ram, mut out) = (world::chip_of(512, 8, blocks), [0; 10_000], [0; 256]);
        let mut db = Db::create(&mut chip, &SMALL, OPTIONS, &mut ram).unwrap();
        let mut oldest = |tx: &mut Transaction<'_, '_, '_, &mut FaultInjector>| {
            let mut scan = tx.scan(EVENT, Direction::Forward).unwrap();
            scan.next(tx, &mut out).unwrap().map(|row| id_of(&row))
        };
        for turn in 0..1000 {
            let first = turn * 100;
            (first..first + 6).for_each(|id| insert(&mut db, EVENT, id).unwrap());
            let mut tx = db.begin().unwrap();
            for id in first..first + turn % 16 {
                tx.insert(NOTE, &[Value::Integer(id), Value::Integer(0), Value::Text(&long)])
                    .unwrap();
            }
            tx.commit(Durability::Durable).unwrap();
            let mut tx = db.begin().unwrap();
            assert_eq!(tx.delete(EVENT, &[Value::Integer(first)]), Ok(true));
            tx.commit(Durability::Durable).unwrap();
            let mut tx = db.begin().unwrap();
            let seen = oldest(&mut tx);
            let values = [Value::Integer(first), Value::Integer(0), Value::Text(TEXT)];
            assert_eq!(tx.insert(EVENT, &values), Ok(()), "turn {turn} on {blocks} blocks");
            assert_eq!(oldest(&mut tx), seen, "turn {turn} on {blocks} blocks");
            tx.commit(Durability::Durable).unwrap();
        }
        assert!(db.stats().returned_blocks > 100, "the rings go on: {:?}", db.stats());
    }
}

#[test]
fn the_whole_history_of_a_ring_is_there_for_nothing() {
    let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    for id in 0..4000 {
        insert(&mut db, EVENT, id).unwrap();
    }
    let last = db.stats().commits;
    let commit_of = |id: i64| last - u32::try_from(3999 - id).unwrap();
    let oldest = ids(&mut db, EVENT)[0];
    let mut db = Db::open(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    let programs = db.stats().programs;
    let mut out = [0; 256];
    // The commit of each row is its number and one.
    for id in oldest..4000 {
        let commits = commit_of(id);
        let mut then = db.as_of(commits).unwrap();
        let found = then.get(EVENT, 0, &[Value::Integer(id)], &mut out).unwrap();
        assert!(found.is_some(), "{id} was there after its commit");
        let next = then.get(EVENT, 0, &[Value::Integer(id + 1)], &mut out).unwrap();
        assert!(next.is_none(), "{id} was the last one then");
        if id % 100 == 0 {
            let mut scan = then.scan(EVENT, Direction::Backward).unwrap();
            let newest = scan.next(&mut then, &mut out).unwrap();
            assert_eq!(newest.map(|row| id_of(&row)), Some(id));
        }
    }
    let mut before = db.as_of(commit_of(oldest) - 500).unwrap();
    let gone = before.get(EVENT, 0, &[Value::Integer(oldest)], &mut out).map(|row| row.is_some());
    drop(before);
    assert_eq!(gone, Err(DbError::Stale), "nothing is left of what was there then");
    assert_eq!(db.stats().programs, programs, "the past costs no program");
}

/// A clock that the test sets.
#[derive(Debug)]
struct Hand(Cell<u64>);

impl Clock for Hand {
    fn now(&self) -> u64 {
        self.0.get()
    }
}

#[test]
fn the_past_is_asked_by_time() {
    let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 20_000]);
    let hand: &'static Hand = Box::leak(Box::new(Hand(Cell::new(1))));
    let mut db = Db::create(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    db.set_clock(hand);
    for id in 0_i64..1500 {
        hand.0.set(1000 + id.cast_unsigned() * 10);
        for table in [EVENT, NOTE] {
            insert(&mut db, table, id).unwrap();
        }
    }
    let mut out = [0; 256];
    for (table, from) in [(EVENT, ids(&mut db, EVENT)[0]), (NOTE, 0)] {
        let mut worst = 0;
        // Some pages begin with the very next row.
        let close = from + 100..from + 200;
        for at in close.chain((from + 200..1500).step_by(61)) {
            let time = 1000 + at.cast_unsigned() * 10 + 5;
            let mut then = db.as_of_time(table, time).unwrap();
            let mut scan = then.scan(table, Direction::Backward).unwrap();
            let newest = scan.next(&mut then, &mut out).unwrap();
            let newest = newest.map_or(-1, |row| id_of(&row));
            assert!(newest <= at, "nothing later is shown: {newest} at {at}");
            worst = worst.max(at - newest);
        }
        assert!(worst < 70, "{worst} rows of table {table} are missing, more than two pages");
        let early = db.as_of_time(table, 999).map(drop);
        assert_eq!(early, Err(DbError::Stale), "there was nothing then");
    }
    let now = db.as_of_time(EVENT, 1_000_000).map(drop);
    assert_eq!(now, Ok(()), "a time to come is now");
}

/// Add so many events and notes, each in a session of its own; the number of each event's commit.
fn insert_in_sessions(
    (chip, ram): (&mut FaultInjector, &mut [u8]),
    schema: &'static Schema<'static>,
    count: u64,
) -> Vec<u32> {
    let mut insert_one = |table, time: u64| {
        let mut db = Db::open(&mut *chip, schema, OPTIONS, &mut *ram).unwrap();
        db.set_time(time);
        insert(&mut db, table, time.cast_signed()).unwrap();
        let commits = db.stats().commits;
        db.close().unwrap();
        commits
    };
    let insert_both = |time| [EVENT, NOTE].map(|table| insert_one(table, time))[0];
    (0..count).map(insert_both).collect()
}

#[test]
fn a_ring_keeps_its_last_time_over_sessions() {
    let (mut chip, mut ram) = (world::chip_of(512, 8, 200), vec![0; 20_000]);
    Db::create(&mut chip, &BY_TIME, OPTIONS, &mut ram).unwrap();
    insert_in_sessions((&mut chip, &mut ram), &BY_TIME, 1400);
    let mut db = Db::open(&mut chip, &BY_TIME, OPTIONS, &mut ram).unwrap();
    let shown = count(&ids(&mut db, EVENT));
    assert!((1000..1200).contains(&shown), "{shown} events are in the last time");
}

#[test]
fn a_ring_knows_over_sessions_which_commits_are_gone() {
    let (mut chip, mut ram) = (world::chip_of(512, 8, 64), vec![0; 20_000]);
    Db::create(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    let commits = insert_in_sessions((&mut chip, &mut ram), &BY_ROWS, 1400);
    let mut db = Db::open(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    let (oldest, mut out) = (ids(&mut db, EVENT)[0], [0; 256]);
    assert!(oldest > 100, "events {oldest} and later are there");
    for (id, commit) in (0..oldest).zip(commits) {
        let mut then = db.as_of(commit).unwrap();
        let found = then.get(EVENT, 0, &[Value::Integer(id)], &mut out).map(|row| row.is_some());
        assert_eq!(found, Err(DbError::Stale), "event {id} of {oldest}");
    }
}

#[test]
fn a_snapshot_keeps_what_a_ring_would_give_back() {
    let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    for id in 0..2000 {
        insert(&mut db, EVENT, id).unwrap();
    }
    let shown = ids(&mut db, EVENT);
    let snapshot = db.snapshot().unwrap();
    for id in 2000..4000 {
        insert(&mut db, EVENT, id).unwrap();
    }
    let mut out = [0; 256];
    let mut at = db.at(&snapshot).unwrap();
    let mut scan = at.scan(EVENT, Direction::Forward).unwrap();
    let mut found = Vec::new();
    while let Some(row) = scan.next(&mut at, &mut out).unwrap() {
        found.push(id_of(&row));
    }
    assert_eq!(found, shown, "a snapshot shows what was there");
    drop(at);
    db.release(snapshot);
    while db.maintain(Budget { operations: 100 }).unwrap() {}
    assert!(ids(&mut db, EVENT).len() < 1800, "then the ring goes on");
}

/// Whenever a snapshot is opened, the next record takes no block of a ring with it.
#[test]
fn a_snapshot_stops_a_block_that_was_to_go() {
    let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut chip, &BY_ROWS, OPTIONS, &mut ram).unwrap();
    let mut out = [0; 256];
    for id in 0..1000 {
        insert(&mut db, EVENT, id).unwrap();
    }
    for id in 1000..2600 {
        insert(&mut db, EVENT, id).unwrap();
        let snapshot = db.snapshot().unwrap();
        let mut oldest = |db: &mut Open<'_>| {
            let mut at = db.at(&snapshot).unwrap();
            let mut scan = at.scan(EVENT, Direction::Forward).unwrap();
            scan.next(&mut at, &mut out).unwrap().map(|row| id_of(&row))
        };
        let before = oldest(&mut db);
        insert(&mut db, NOTE, id).unwrap();
        assert_eq!(oldest(&mut db), before, "the snapshot at event {id}");
        db.release(snapshot);
    }
    assert!(db.stats().returned_blocks > 3, "{:?}", db.stats());
}

/// Each block that a transaction takes is a change of the block table, also where a program in it
/// fails. Where there is no room for another change, the record lets no block of a ring go, and the
/// block waits. A snapshot that is opened then keeps it.
#[test]
fn a_snapshot_stops_a_block_that_waits_for_a_record_with_room() {
    let (mut filled, mut ram) = (Image::blank(512, 160), vec![0; 20_000]);
    let mut db = Db::create(&mut filled, &BY_TIME, OPTIONS, &mut ram).unwrap();
    for id in 0..400 {
        insert(&mut db, EVENT, id).unwrap();
    }
    let (long, mut out) = ("x".repeat(2600), vec![0; 4096]);
    let mut waited = 0;
    for blocks in 20..27 {
        let mut image = filled.clone();
        let fails_next = Rc::clone(&image.fails_next);
        let mut db = Db::open(&mut image, &BY_TIME, OPTIONS, &mut ram).unwrap();
        insert(&mut db, NOTE, 0).unwrap();
        db.set_time(100_000);
        let mut tx = db.begin().unwrap();
        let note = |id| [Value::Integer(id), Value::Integer(0), Value::Text(&long)];
        (1..blocks).for_each(|id| tx.insert(NOTE, &note(id)).unwrap());
        fails_next.set(10);
        let last = tx.insert(NOTE, &note(blocks));
        assert!(matches!(last, Ok(()) | Err(DbError::Full)), "{blocks} blocks: {last:?}");
        fails_next.set(0);
        tx.commit(Durability::Durable).unwrap();
        waited += u32::from(db.stats().returned_blocks == 0);
        let snapshot = db.snapshot().unwrap();
        let mut oldest = |db: &mut Db<'_, '_, &mut Image>| {
            let mut at = db.at(&snapshot).unwrap();
            let mut scan = at.scan(EVENT, Direction::Forward).unwrap();
            scan.next(&mut at, &mut out).unwrap().map(|row| id_of(&row))
        };
        let before = oldest(&mut db);
        insert(&mut db, NOTE, 1000).unwrap();
        assert_eq!(oldest(&mut db), before, "a snapshot after {blocks} blocks");
    }
    assert!(waited > 0, "no block had to wait");
}

#[test]
fn rows_of_a_ring_are_nobodys_parents() {
    const CHILD: Index<'static> = Index { columns: &[1], kind: IndexKind::Hash, is_unique: false };
    const SCHEMA: Schema<'static> = Schema {
        tables: &[Table { indexes: &[KEY, CHILD], ..BY_ROWS.tables[0] }, BY_ROWS.tables[1]],
    };
    let (mut chip, mut ram) = (world::chip(2048, 64), vec![0; 20_000]);
    let mut db = Db::create(&mut chip, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let refer =
        |table, parent| ForeignKey { table, index: 1, parent, on_delete: OnDelete::Restrict };
    let keys = [refer(NOTE, EVENT)];
    let constraints = Constraints { foreign_keys: &keys, ..Constraints::NONE };
    assert_eq!(db.set_constraints(constraints), Err(DbError::RingParent { key: 0 }));
    let keys = [refer(EVENT, NOTE)];
    let constraints = Constraints { foreign_keys: &keys, ..Constraints::NONE };
    assert_eq!(db.set_constraints(constraints), Ok(()), "they may be children");
}
