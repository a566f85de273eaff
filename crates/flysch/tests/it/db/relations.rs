//! Histories of tables that refer to each other, with keys of several columns, savepoints and power
//! cuts: what was acknowledged is there, constraints hold, and ranges come in order.

use std::collections::{BTreeMap, BTreeSet};

use flysch::db::{
    Check, Constraints, Db, DbError, Direction, Durability, ForeignKey, MountError, OnDelete,
    Options, Transaction,
};
use flysch::media::MediaError;
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value};
use flysch_chip::{FaultInjector, FaultPlan, Prng};
use flysch_nand::Nand;

use super::world::{chip, index};
use crate::told;

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

const PLACE: Table<'static> = Table {
    name: "place",
    columns: &[integer("w"), integer("d"), Column::required("name", ColumnType::Text)],
    indexes: &[index(&[0, 1], IndexKind::Ordered, true)],
    zone: None,
    keep: None,
};
const LINE: Table<'static> = Table {
    name: "line",
    columns: &[
        integer("w"),
        integer("d"),
        integer("n"),
        Column::nullable("amount", ColumnType::Integer),
        Column::required("label", ColumnType::Text),
    ],
    indexes: &[index(&[0, 1, 2], IndexKind::Ordered, true), index(&[0, 1], IndexKind::Hash, false)],
    zone: None,
    keep: None,
};
const NOTE: Table<'static> = Table {
    name: "note",
    columns: &[
        Column::required("title", ColumnType::Text),
        Column::nullable("w", ColumnType::Integer),
        Column::nullable("d", ColumnType::Integer),
    ],
    indexes: &[index(&[0], IndexKind::Ordered, true), index(&[1, 2], IndexKind::Hash, false)],
    zone: None,
    keep: None,
};
const LOCK: Table<'static> = Table {
    name: "lock",
    columns: &[integer("id"), integer("w"), integer("d")],
    indexes: &[index(&[0], IndexKind::Hash, true), index(&[1, 2], IndexKind::Ordered, false)],
    zone: None,
    keep: None,
};
const EXTRA: Table<'static> = Table {
    name: "extra",
    columns: &[integer("a"), integer("b")],
    indexes: &[index(&[1, 0], IndexKind::Ordered, true), index(&[1], IndexKind::Hash, false)],
    zone: None,
    keep: None,
};

/// Nine indexes: some share one of the store.
const SCHEMA: Schema<'static> = Schema { tables: &[PLACE, LINE, NOTE, LOCK, EXTRA] };
const _: () = assert!(SCHEMA.check().is_ok());

const PLACES: u8 = 0;
const LINES: u8 = 1;
const NOTES: u8 = 2;
const LOCKS: u8 = 3;
const EXTRAS: u8 = 4;
/// The foreign key that forbids deletes.
const RESTRICTS: u8 = 2;

const fn refers(table: u8, on_delete: OnDelete) -> ForeignKey {
    ForeignKey { table, index: 1, parent: PLACES, on_delete }
}

const CONSTRAINTS: Constraints<'static> = Constraints {
    checks: &[Check { table: PLACES, holds: |row| row[2] != Value::Text("refused") }],
    foreign_keys: &[
        refers(LINES, OnDelete::Cascade),
        refers(NOTES, OnDelete::SetNull),
        refers(LOCKS, OnDelete::Restrict),
    ],
    ..Constraints::NONE
};

type Place = (i64, i64);

/// What the database ought to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct World {
    places: BTreeMap<Place, String>,
    lines: BTreeMap<(i64, i64, i64), (Option<i64>, String)>,
    notes: BTreeMap<String, Option<Place>>,
    locks: BTreeMap<i64, Place>,
    extras: BTreeSet<Place>,
}

fn ints<const N: usize>(numbers: [i64; N]) -> [Value<'static>; N] {
    numbers.map(Value::Integer)
}

fn int(value: Value<'_>) -> i64 {
    let Value::Integer(number) = value else { panic!("{value:?} is an integer") };
    number
}

fn text(value: Value<'_>) -> String {
    let Value::Text(text) = value else { panic!("{value:?} is a text") };
    text.to_owned()
}

/// Titles agree in their first eight bytes.
fn title(prng: &mut Prng) -> String {
    format!("the title {}", prng.below(25))
}

fn place(prng: &mut Prng) -> Place {
    // Some keys take more than the bytes of a code.
    let far = if prng.below(4) == 0 { 1 << 40 } else { 0 };
    (prng.below(3).cast_signed() + far, prng.below(4).cast_signed() - 1 - far)
}

type Change<'d, 'ram, N> = Transaction<'d, 'ram, 'static, N>;

impl World {
    /// Draw a change, make it in the transaction, and here if it was made there.
    fn change<N: Nand>(
        &mut self,
        tx: &mut Change<'_, '_, N>,
        prng: &mut Prng,
    ) -> Result<(), DbError> {
        let at = place(prng);
        let n = prng.below(6).cast_signed();
        let draw = prng.below(16);
        let (done, wanted) = match draw {
            0..4 => self.put_place(tx, at, prng),
            4..8 => {
                let line = (Some(n).filter(|n| n % 2 == 0), "l".repeat(prng.below(90) as usize));
                let amount = line.0.map_or(Value::Null, Value::Integer);
                let [w, d, number] = ints([at.0, at.1, n]);
                let done = tx.insert(LINES, &[w, d, number, amount, Value::Text(&line.1)]);
                let key = (at.0, at.1, n);
                let wanted = if self.lines.contains_key(&key) {
                    Err(DbError::Duplicate { index: 0 })
                } else {
                    self.require(at, 0)
                };
                if wanted.is_ok() && done.is_ok() {
                    self.lines.insert(key, line);
                }
                (done, wanted)
            }
            8..10 => {
                let (title, at) = (title(prng), Some(at).filter(|_| n > 1));
                let [w, d] = at.map_or([Value::Null; 2], |(w, d)| ints([w, d]));
                let done = tx.upsert(NOTES, &[Value::Text(&title), w, d]).map(|_| ());
                let wanted = at.map_or(Ok(()), |at| self.require(at, 1));
                if wanted.is_ok() && done.is_ok() {
                    self.notes.insert(title, at);
                }
                (done, wanted)
            }
            10 => {
                let done = tx.upsert(LOCKS, &ints([n, at.0, at.1])).map(|_| ());
                let wanted = self.require(at, RESTRICTS);
                if wanted.is_ok() && done.is_ok() {
                    self.locks.insert(n, at);
                }
                (done, wanted)
            }
            11 => {
                self.locks.remove(&n);
                (tx.delete(LOCKS, &ints([n])).map(|_| ()), Ok(()))
            }
            12 => {
                self.extras.insert(at);
                (tx.upsert(EXTRAS, &ints([at.0, at.1])).map(|_| ()), Ok(()))
            }
            _ => {
                let done = tx.delete(PLACES, &ints([at.0, at.1])).map(|_| ());
                let wanted = self.drop_place(at);
                (done, wanted)
            }
        };
        match (done, wanted) {
            (Err(error), _) if is_refusal(error) => Err(error),
            (done, wanted) => {
                assert_eq!(done, wanted, "change {draw} at {at:?}, {n}");
                Ok(())
            }
        }
    }

    fn put_place<N: Nand>(
        &mut self,
        tx: &mut Change<'_, '_, N>,
        at: Place,
        prng: &mut Prng,
    ) -> (Result<(), DbError>, Result<(), DbError>) {
        let is_refused = prng.below(5) == 0;
        let name = if is_refused { "refused" } else { "somewhere" };
        let [w, d] = ints([at.0, at.1]);
        let done = tx.upsert(PLACES, &[w, d, Value::Text(name)]).map(|_| ());
        if is_refused {
            return (done, Err(DbError::Check { check: 0 }));
        }
        if done.is_ok() {
            self.places.insert(at, name.to_owned());
        }
        (done, Ok(()))
    }

    fn require(&self, at: Place, key: u8) -> Result<(), DbError> {
        if self.places.contains_key(&at) { Ok(()) } else { Err(DbError::ForeignKey { key }) }
    }

    fn drop_place(&mut self, at: Place) -> Result<(), DbError> {
        if !self.places.contains_key(&at) {
            return Ok(());
        }
        if self.locks.values().any(|lock| *lock == at) {
            return Err(DbError::ForeignKey { key: RESTRICTS });
        }
        self.lines.retain(|key, _| (key.0, key.1) != at);
        for note in self.notes.values_mut().filter(|note| **note == Some(at)) {
            *note = None;
        }
        self.places.remove(&at);
        Ok(())
    }

    /// Changes in one transaction, with savepoints among them.
    fn transact<N: Nand>(
        &self,
        db: &mut Db<'_, 'static, N>,
        prng: &mut Prng,
        count: u64,
        doubtful: &mut Self,
    ) -> Result<(), DbError> {
        let mut tx = db.begin()?;
        let mut after = self.clone();
        let mut saved = Vec::new();
        for _ in 0..count {
            match prng.below(8) {
                0 if saved.len() < 3 => saved.push((tx.savepoint()?, after.clone())),
                1 if !saved.is_empty() => {
                    let number = prng.below(saved.len() as u64) as usize;
                    saved.truncate(number + 1);
                    let (savepoint, before) = &saved[number];
                    tx.roll_back_to(*savepoint)?;
                    after.clone_from(before);
                    if prng.below(2) == 0 {
                        after.ask_inside(&mut tx)?;
                    }
                }
                _ => after.change(&mut tx, prng)?,
            }
        }
        if prng.below(3) == 0 {
            after.ask_inside(&mut tx)?;
        }
        if prng.below(5) == 0 {
            return tx.roll_back();
        }
        doubtful.clone_from(&after);
        tx.commit(Durability::Durable)
    }

    /// A transaction sees what it did: each line by its key, and those of a place in order.
    fn ask_inside<N: Nand>(&self, tx: &mut Change<'_, '_, N>) -> Result<(), DbError> {
        let mut out = vec![0; 1 << 12];
        for &(w, d) in self.places.keys() {
            let mut range = tx.prefix(LINES, 0, &ints([w, d]), Direction::Forward)?;
            let mut found = Vec::new();
            while let Some(row) = range.next(tx, &mut out)? {
                found.push(int(row.column(2)?));
            }
            assert_eq!(found, self.numbers((w, d)), "lines of {w}, {d} in their transaction");
        }
        let mut scan = tx.scan(LINES, Direction::Forward)?;
        assert_eq!(scan.count(tx, &mut out)?, self.lines.len() as u64, "a scan of the lines");
        Ok(())
    }

    fn numbers(&self, (w, d): Place) -> Vec<i64> {
        self.lines.keys().filter(|key| (key.0, key.1) == (w, d)).map(|key| key.2).collect()
    }

    /// What scans of all tables give.
    fn scanned<N: Nand>(db: &mut Db<'_, 'static, N>) -> Result<Self, DbError> {
        let (mut world, mut out) = (Self::default(), vec![0; 1 << 12]);
        for table in 0..SCHEMA.tables.len() as u8 {
            let mut scan = db.scan(table, Direction::Forward)?;
            while let Some(row) = scan.next(db, &mut out)? {
                let values: Vec<Value<'_>> = row.values().collect::<Result<_, _>>()?;
                world.take(table, &values);
            }
        }
        Ok(world)
    }

    fn take(&mut self, table: u8, row: &[Value<'_>]) {
        let at = |place: usize| (int(row[place]), int(row[place + 1]));
        let is_new = match table {
            PLACES => self.places.insert(at(0), text(row[2])).is_none(),
            LINES => {
                let amount = (row[3] != Value::Null).then(|| int(row[3]));
                let (w, d) = at(0);
                self.lines.insert((w, d, int(row[2])), (amount, text(row[4]))).is_none()
            }
            NOTES => {
                let refers_to = (row[1] != Value::Null).then(|| at(1));
                assert_eq!(row[1] == Value::Null, row[2] == Value::Null, "both or none: {row:?}");
                self.notes.insert(text(row[0]), refers_to).is_none()
            }
            LOCKS => self.locks.insert(int(row[0]), at(1)).is_none(),
            _ => self.extras.insert(at(0)),
        };
        assert!(is_new, "{row:?} came twice");
    }

    /// Ask by keys, by their first columns, and by ranges of them, both ways.
    fn ask<N: Nand>(&self, db: &mut Db<'_, 'static, N>, story: &str) -> Result<(), DbError> {
        let mut out = vec![0; 1 << 12];
        for direction in [Direction::Forward, Direction::Backward] {
            let (least, greatest) = (ints([0]), ints([1, 1]));
            let mut range = db.range_of(LINES, 0, (&least, &greatest), direction)?;
            let mut found = Vec::new();
            while let Some(row) = range.next(db, &mut out)? {
                found.push((int(row.column(0)?), int(row.column(1)?), int(row.column(2)?)));
            }
            let mut wanted: Vec<_> = self.lines.keys().copied().collect();
            wanted.retain(|&(w, d, _)| w >= 0 && (w, d) <= (1, 1));
            if direction == Direction::Backward {
                wanted.reverse();
            }
            assert_eq!(found, wanted, "lines, {direction:?}: {story}");
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let ends = [Value::Text("the title 1"), Value::Text("the title 2")];
            let mut range = db.range(NOTES, 0, (&ends[0], &ends[1]), direction)?;
            let mut found = Vec::new();
            while let Some(row) = range.next(db, &mut out)? {
                found.push(text(row.column(0)?));
            }
            let (least, greatest) = ("the title 1".to_owned(), "the title 2".to_owned());
            let mut wanted: Vec<_> =
                self.notes.range(least..=greatest).map(|it| it.0.clone()).collect();
            if direction == Direction::Backward {
                wanted.reverse();
            }
            assert_eq!(found, wanted, "titles, {direction:?}: {story}");
        }
        for (title, refers_to) in &self.notes {
            let row = db.get(NOTES, 0, &[Value::Text(title)], &mut out)?;
            let row = row.unwrap_or_else(|| panic!("{title} is there: {story}"));
            let found = (row.column(1)? != Value::Null).then_some(row.column(1)?).map(int);
            assert_eq!(found, refers_to.map(|at| at.0), "{title}: {story}");
        }
        for &(w, d) in self.places.keys() {
            let found = db.find(LINES, 1, &ints([w, d]))?.count(db, &mut out)?;
            assert_eq!(found as usize, self.numbers((w, d)).len(), "lines of {w}, {d}: {story}");
            let mut found = db.prefix(LOCKS, 1, &ints([w, d]), Direction::Forward)?;
            let wanted = self.locks.values().filter(|at| **at == (w, d)).count();
            let found = found.count(db, &mut out)? as usize;
            assert_eq!(found, wanted, "locks of {w}, {d}: {story}");
        }
        for &(a, b) in &self.extras {
            assert!(db.get(EXTRAS, 0, &ints([b, a]), &mut out)?.is_some(), "{a}, {b}: {story}");
        }
        Ok(())
    }
}

fn is_refusal(error: DbError) -> bool {
    let is_short = matches!(error, DbError::Full | DbError::TransactionTooLong);
    is_short || is_lost(error)
}

fn is_lost(error: DbError) -> bool {
    const LOST: MediaError = MediaError::PowerLost;
    error == DbError::Media(LOST) || error == DbError::Mount(MountError::Media(LOST))
}

#[derive(Debug)]
struct Case {
    page_size: u32,
    block_count: u32,
    transaction_max: u64,
    ram: usize,
    capacity: u32,
}

const CASES: [Case; 3] = [
    Case { page_size: 512, block_count: 64, transaction_max: 20, ram: 9500, capacity: 4 },
    Case { page_size: 2048, block_count: 48, transaction_max: 40, ram: 17_000, capacity: 1000 },
    Case { page_size: 512, block_count: 64, transaction_max: 150, ram: 9500, capacity: 1000 },
];

/// Change rows until the power goes or the life is over. True where it was cut.
fn live(
    nand: &mut FaultInjector,
    case: &Case,
    prng: &mut Prng,
    (kept, doubtful): (&mut World, &mut World),
) -> Result<bool, DbError> {
    let mut ram = vec![0; case.ram];
    let mut db = match Db::open(nand, &SCHEMA, options(case), &mut ram) {
        Err(error) if is_lost(error) => return Ok(true),
        opened => opened?,
    };
    db.set_constraints(CONSTRAINTS)?;
    for _ in 0..=prng.below(60) {
        let count = 1 + prng.below(case.transaction_max);
        doubtful.clone_from(kept);
        match kept.transact(&mut db, prng, count, doubtful) {
            Ok(()) => kept.clone_from(doubtful),
            Err(error) if is_lost(error) => return Ok(true),
            Err(error) if is_refusal(error) => doubtful.clone_from(kept),
            Err(error) => return Err(error),
        }
    }
    match db.close() {
        Err(error) if is_refusal(error) => Ok(true),
        closed => closed.map(|_| false),
    }
}

fn options(case: &Case) -> Options {
    Options { partition: None, seed: 3, capacity: case.capacity }
}

fn history(case: &Case, seed: u64) -> u64 {
    let mut prng = Prng::new(seed);
    let mut nand = chip(case.page_size, case.block_count);
    let mut ram = vec![0; case.ram];
    Db::create(&mut nand, &SCHEMA, options(case), &mut ram).unwrap();
    let (mut kept, mut cuts) = (World::default(), 0);
    for life in 0..10 {
        let story = format!("seed {seed}, life {life}, {case:?}");
        let cut_at = prng.below([12, 60, 300, 2000][life % 4]);
        nand.arm(FaultPlan { seed: prng.next(), cut_at: Some(cut_at), ..FaultPlan::default() });
        let mut doubtful = kept.clone();
        let lost = live(&mut nand, case, &mut prng, (&mut kept, &mut doubtful));
        cuts += u64::from(lost.unwrap_or_else(|error| panic!("{error:?}: {story}")));
        nand.power_up();
        nand.arm(FaultPlan::default());
        let mut ram = vec![0; case.ram];
        let opened = Db::open(&mut nand, &SCHEMA, options(case), &mut ram);
        let mut db = opened.unwrap_or_else(|error| panic!("{error:?}: {story}"));
        let found = World::scanned(&mut db).unwrap();
        if found == doubtful {
            kept = doubtful;
        }
        assert!(found == kept, "{found:#?}\nis not\n{kept:#?}\n{story}");
        kept.ask(&mut db, &story).unwrap();
    }
    cuts
}

/// `FLYSCH_SEEDS` histories of each case; 8 where it does not say.
#[test]
fn relations_survive_cuts() {
    let seeds = told("FLYSCH_SEEDS");
    let seeds = 0..seeds.unwrap_or(8);
    let cuts: u64 =
        CASES.iter().flat_map(|case| seeds.clone().map(|seed| history(case, seed))).sum();
    println!("{cuts} cuts");
    assert!(cuts > 0, "some lives end by a cut");
}
