//! Devices that are full to the brim: what calls do when they are refused, and when rows come and
//! go on them.

use flysch::db::{Db, DbError, Durability, Options, Transaction};
use flysch::row::{Keep, Schema, Table, Value};
use flysch_chip::Prng;

use super::image::Image;
use super::worst::{Most, OPTIONS, SCHEMA, Shape, counted, insert, note, values};
use crate::told;

const SHAPES: [Shape; 4] = [
    (1024, 16, 64, 17_000),
    (1024, 64, 40, 28_000),
    (2048, 32, 40, 22_000),
    (4096, 16, 40, 40_000),
];

/// A log of which the chip keeps what it has room for.
const RING: Schema<'static> =
    Schema { tables: &[Table { keep: Some(Keep::Rows(u32::MAX)), ..SCHEMA.tables[0] }] };

/// The same log, and a table beside it.
const LOG_AND_TABLE: Schema<'static> =
    Schema { tables: &[RING.tables[0], Table { name: "setting", ..SCHEMA.tables[0] }] };

type Brim<'m> = Db<'m, 'static, &'m mut Image>;

/// Reads of a call that is long.
const LONG: u64 = 1_000;

/// What some calls did at most, and how many were taken, refused and long.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    most: Most,
    taken: u32,
    refused: u32,
    long: u32,
}

impl Calls {
    /// Make a change by a commit of its own; false where it is refused for lack of space.
    fn make(
        &mut self,
        db: &mut Brim<'_>,
        change: impl FnOnce(&mut Transaction<'_, '_, '_, &mut Image>) -> Result<(), DbError>,
    ) -> bool {
        let before = counted(db.nand());
        let attempt = || {
            let mut tx = db.begin()?;
            change(&mut tx)?;
            tx.commit(Durability::Durable)
        };
        let made = attempt();
        let after = counted(db.nand());
        note(&mut self.most, before, after);
        self.long += u32::from(after[0] - before[0] > LONG);
        match made {
            Ok(()) => self.taken += 1,
            Err(DbError::Full) => self.refused += 1,
            Err(error) => panic!("{error:?}"),
        }
        made.is_ok()
    }
}

/// Insert rows until one is refused; what the inserts did, and the last of them.
fn fill(db: &mut Brim<'_>) -> (Calls, Calls) {
    let mut calls = Calls::default();
    loop {
        let (row, mut last) = (calls.taken.into(), Calls::default());
        if !last.make(db, |tx| insert(tx, row)) {
            return (calls, last);
        }
        calls.taken += 1;
        calls.long += last.long;
        note(&mut calls.most, [0; 3], last.most);
    }
}

fn within(shape: Shape, capacity: u32, run: impl FnOnce(&mut Brim<'_>)) {
    with(&SCHEMA, shape, capacity, run);
}

fn with(
    schema: &'static Schema<'static>,
    (page_size, pages, blocks, ram): Shape,
    capacity: u32,
    run: impl FnOnce(&mut Brim<'_>),
) {
    let (mut image, mut memory) = (Image::of(page_size, pages, blocks), vec![0; ram]);
    let options = Options { capacity, ..OPTIONS };
    run(&mut Db::create(&mut image, schema, options, &mut memory).unwrap());
}

/// A refused call ends soon. What fits a block beside the last rows is not sought row by row.
#[test]
fn a_device_that_is_full_refuses_at_once() {
    for shape in SHAPES {
        within(shape, 1_000_000, |db| {
            let (filled, first) = fill(db);
            let (mut inserts, mut updates, mut prng) =
                (Calls::default(), Calls::default(), Prng::new(7));
            for next in 0..300 {
                let new = filled.taken + inserts.taken;
                inserts.make(db, |tx| insert(tx, new.into()));
                let row = prng.below(filled.taken.into()).cast_signed();
                updates.make(db, |tx| tx.update(0, &values(row, next)).map(drop));
            }
            println!("{shape:?}: {filled:?}, {first:?}, then {inserts:?}, {updates:?}");
            for calls in [filled, first, inserts, updates] {
                let [reads, programs, _] = calls.most;
                assert!(reads <= 1_000 && programs <= 120, "{shape:?}: {calls:?}");
            }
            assert!(inserts.refused > 0 && inserts.taken < 300, "{shape:?} is full: {inserts:?}");
        });
    }
}

/// Deletes are never refused on a full device, and wait for little. They make room for inserts.
/// `FLYSCH_BRIM_SIZES` sizes of RAM for each shape, for what is full when hangs on chance.
#[test]
fn a_full_device_deletes_without_waiting() {
    let sizes = 0..told("FLYSCH_BRIM_SIZES").unwrap_or(1) as usize;
    let each = |shape| sizes.clone().map(move |size| (shape, 300 * size));
    for ((page_size, pages, blocks, ram), more) in SHAPES.into_iter().flat_map(each) {
        let shape = (page_size, pages, blocks, ram + more);
        within(shape, 1_000_000, |db| {
            let (deletes, mean, inserts) = delete_a_tenth(db);
            println!("{shape:?}: {deletes:?}, {mean} reads in the mean, then {inserts:?}");
            assert_eq!(deletes.refused, 0, "{shape:?}");
            assert!(mean <= 30 && deletes.most[0] <= 5_000, "{shape:?}: {deletes:?}");
        });
    }
}

/// Fill the device, delete a tenth of the rows, and insert some. What the deletes did, their reads
/// in the mean, and what the inserts did.
fn delete_a_tenth(db: &mut Brim<'_>) -> (Calls, u64, Calls) {
    let (filled, _) = fill(db);
    let rows = u64::from(filled.taken);
    let (mut deletes, mut inserts, mut prng) = (Calls::default(), Calls::default(), Prng::new(7));
    let [before, ..] = counted(db.nand());
    for _ in 0..rows / 10 {
        let time = values(prng.below(rows).cast_signed(), 0)[0];
        deletes.make(db, |tx| tx.delete(0, &[time]).map(drop));
    }
    let mean = (counted(db.nand())[0] - before) / (rows / 10);
    for more in 0..rows / 25 {
        inserts.make(db, |tx| insert(tx, (rows + more).cast_signed()));
    }
    (deletes, mean, inserts)
}

/// Rows are replaced where they fill four fifths and more of what a device takes. Indexes that hold
/// what was replaced do not stand in the way.
#[test]
fn rows_are_replaced_on_a_device_that_is_nearly_full() {
    for (shape, rows) in [(SHAPES[0], 12_700), (SHAPES[2], 25_000)] {
        within(shape, rows, |db| {
            let (mut inserts, mut updates) = (Calls::default(), Calls::default());
            for row in 0..rows.into() {
                inserts.make(db, |tx| insert(tx, row));
            }
            let mut prng = Prng::new(9);
            for _ in 0..2 * rows {
                let [row, sensor] = [rows.into(), 997].map(|end| prng.below(end).cast_signed());
                updates.make(db, |tx| tx.update(0, &values(row, sensor)).map(drop));
            }
            println!("{rows} rows on {shape:?}: {updates:?}");
            assert_eq!((inserts.refused, updates.refused), (0, 0), "{shape:?}");
            // Space comes little by little: hardly a call waits for the rows of a block.
            assert!(updates.long <= rows / 1_000, "{shape:?}: {updates:?}");
        });
    }
}

/// A transaction behind deletes gets the space for its inserts as the first one comes; but not once
/// it has a savepoint.
#[test]
fn savepoints_stay_behind_deletes() {
    let shape = SHAPES[0];
    within(shape, 1_000_000, |db| {
        let (filled, _) = fill(db);
        let mut taken = 0;
        for row in 0..60 {
            let mut deletes = Calls::default();
            deletes.make(db, |tx| tx.delete(0, &[values(row, 0)[0]]).map(drop));
            let mut tx = db.begin().unwrap();
            let here = tx.savepoint().unwrap();
            let new = i64::from(filled.taken) + row;
            taken += u32::from(insert(&mut tx, new) != Err(DbError::Full));
            tx.roll_back_to(here).unwrap();
            assert_eq!(tx.update(0, &values(new, 1)), Ok(false), "row {new} was taken back");
            tx.commit(Durability::Durable).unwrap();
        }
        assert!(taken > 0, "{shape:?}: some rows were taken before they were taken back");
    });
}

/// Rows that are longer than a page are moved only where they are dead: a block of them is no less
/// full than others.
#[test]
fn long_rows_of_a_full_device_are_left_where_they_are() {
    let shape = SHAPES[0];
    within(shape, 5_000, |db| {
        let long = "x".repeat(3_000);
        let [time, sensor, _] = values(0, 0);
        let (mut calls, mut ids) = (Calls::default(), 0..);
        while calls.refused < 200 {
            let Value::Time(first) = time else { unreachable!("the key is a time") };
            let row = [Value::Time(first + ids.next().unwrap()), sensor, Value::Text(&long)];
            calls.make(db, |tx| tx.insert(0, &row));
        }
        let moved = db.moved_pages();
        println!("{shape:?}: {calls:?}, {moved} pages moved");
        assert!(moved <= calls.taken / 4, "{moved} pages moved of {} rows", calls.taken);
    });
}

/// A ring that has the whole device gives back its oldest rows, and no insert waits for that.
#[test]
fn a_ring_on_a_full_device_goes_on_at_its_pace() {
    for (shape, rows) in [(SHAPES[0], 40_000), (SHAPES[2], 90_000)] {
        with(&RING, shape, 100_000, |db| {
            let mut calls = Calls::default();
            for row in 0..rows {
                calls.make(db, |tx| insert(tx, row));
            }
            println!("{rows} rows of a ring on {shape:?}: {calls:?}");
            assert_eq!(calls.refused, 0, "{shape:?}");
            assert!(db.stats().pressed_blocks > 0, "{shape:?}: {:?}", db.stats());
            assert!(calls.most[0] <= 20 && calls.most[1] <= 4, "{shape:?}: {calls:?}");
        });
    }
}

/// Rows beside a ring that has all other space are replaced at their pace as well.
#[test]
fn a_table_beside_a_ring_goes_on_at_its_pace() {
    const ROWS: u32 = 4_000;
    for shape in [SHAPES[0], SHAPES[2]] {
        with(&LOG_AND_TABLE, shape, 100_000, |db| {
            let (mut logged, mut changed, mut prng) =
                (Calls::default(), Calls::default(), Prng::new(3));
            for row in 0..i64::from(ROWS) {
                changed.make(db, |tx| tx.insert(1, &values(row, 0)));
            }
            let before = db.stats().programs;
            for at in 0..60_000 {
                logged.make(db, |tx| insert(tx, at));
                let row = prng.below(ROWS.into()).cast_signed();
                changed.make(db, |tx| tx.update(1, &values(row, at % 997)).map(drop));
            }
            let programs = db.stats().programs - before;
            println!("{shape:?}: {logged:?}, {changed:?}, {programs} programs");
            assert_eq!((logged.refused, changed.refused), (0, 0), "{shape:?}");
            assert!(logged.most[0].max(changed.most[0]) <= 80, "{shape:?}: {logged:?} {changed:?}");
            assert!(programs <= 4 * 60_000, "{shape:?}: {programs} programs");
        });
    }
}
