//! Several criteria at once against what an ordered map says: among changes, in transactions, at
//! snapshots, and while rows come; and what they cost.

use std::collections::BTreeMap;

use flysch::db::{Criterion, Db, DbError, Direction, Durability, Options, Reader};
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, RowView, Schema, Table, Value};
use flysch_chip::{Counts, FaultInjector, Hooked, Prng};
use flysch_nand::Nand;

use super::world::{chip, chip_of, index};

/// Lamps by number, kind, place and label.
const SCHEMA: Schema<'static> = Schema {
    tables: &[Table {
        name: "lamp",
        columns: &[
            Column::required("number", ColumnType::Integer),
            Column::required("kind", ColumnType::Integer),
            Column::nullable("place", ColumnType::Text),
            Column::required("label", ColumnType::Integer),
            Column::required("text", ColumnType::Blob),
        ],
        indexes: &[
            index(&[0], IndexKind::Ordered, true),
            index(&[1], IndexKind::Hash, false),
            index(&[2], IndexKind::Ordered, false),
            index(&[3], IndexKind::Hash, true),
            index(&[1, 2], IndexKind::Hash, false),
        ],
        zone: None,
        keep: None,
    }],
};
const _: () = assert!(SCHEMA.check().is_ok());

const OPTIONS: Options = Options { partition: None, seed: 5, capacity: 4000 };
const KINDS: u64 = 4;
/// Places that agree in their first eight bytes, and nowhere.
const PLACES: [Option<&str>; 4] =
    [Some("the house, above"), Some("the house, below"), Some(""), None];

type Lamps = BTreeMap<i64, (i64, Option<&'static str>)>;

fn label(number: i64) -> Value<'static> {
    Value::Integer(number * 3)
}

fn place(place: Option<&str>) -> Value<'_> {
    place.map_or(Value::Null, Value::Text)
}

fn number_of(row: &RowView<'_, '_>) -> i64 {
    let Value::Integer(number) = row.column(0).unwrap() else { panic!("it is a number") };
    assert_eq!(row.column(3).unwrap(), label(number), "the row is whole");
    number
}

/// Numbers of the rows of a cursor, sorted.
fn numbers<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    mut cursor: impl Cursor,
) -> Result<Vec<i64>, DbError> {
    let (mut found, mut out) = (Vec::new(), [0; 256]);
    while let Some(row) = cursor.next(reader, &mut out)? {
        found.push(number_of(&row));
    }
    found.sort_unstable();
    Ok(found)
}

/// What is asked: kinds, a place, and perhaps the label of a lamp.
struct Question {
    kinds: [i64; 2],
    place: Option<&'static str>,
    label: Option<i64>,
}

impl Question {
    fn draw(prng: &mut Prng, lamps: u64) -> Self {
        let label = (prng.below(3) == 0).then(|| prng.below(lamps).cast_signed());
        let kinds = [0; 2].map(|_| prng.below(KINDS + 1).cast_signed());
        Self { kinds, place: PLACES[prng.below(4) as usize], label }
    }

    /// Ask in five ways, and compare.
    fn ask<'d, N: Nand + 'd>(
        &self,
        reader: &mut impl Reader<'d, 'static, N>,
        lamps: &Lamps,
    ) -> Result<(), DbError> {
        let [one, other] = self.kinds.map(|kind| [Value::Integer(kind)]);
        let (here, tag) = ([place(self.place)], [label(self.label.unwrap_or(-1))]);
        let both = [one[0], here[0]];
        let [is_one, or_other] = [Criterion::is(1, &one), Criterion::or(1, &other)];
        let [is_here, or_here] = [Criterion::is(2, &here), Criterion::or(2, &here)];
        let wanted = |keep: &dyn Fn(i64, i64, Option<&'static str>) -> bool| -> Vec<i64> {
            let kept = lamps.iter().filter(|(number, (kind, at))| keep(**number, *kind, *at));
            kept.map(|(number, _)| *number).collect()
        };
        let is = |kind| self.kinds.contains(&kind);
        let [kind, _] = self.kinds;

        let all = reader.reading()?.matching(0, [is_one, is_here])?;
        assert_eq!(numbers(reader, all)?, wanted(&|_, k, at| k == kind && at == self.place));
        let same = reader.reading()?.matching(0, [Criterion::is(4, &both)])?;
        assert_eq!(numbers(reader, same)?, wanted(&|_, k, at| k == kind && at == self.place));
        let any = reader.reading()?.matching(0, [is_one, or_here])?;
        assert_eq!(numbers(reader, any)?, wanted(&|_, k, at| k == kind || at == self.place));
        let mixed = reader.reading()?.matching(0, [is_one, or_other, is_here])?;
        assert_eq!(numbers(reader, mixed)?, wanted(&|_, k, at| is(k) && at == self.place));
        let tagged = reader.reading()?.matching(0, [Criterion::is(3, &tag), or_other, is_here])?;
        let keep =
            |number, k, at| (Some(number) == self.label || k == self.kinds[1]) && at == self.place;
        assert_eq!(numbers(reader, tagged)?, wanted(&keep));
        Ok(())
    }
}

/// Put a new version of a lamp, or delete it.
fn change<'d, N: Nand + 'd>(
    db: &mut Db<'d, 'static, N>,
    lamps: &mut Lamps,
    prng: &mut Prng,
    count: u64,
) {
    let number = prng.below(count).cast_signed();
    let (kind, at) = (prng.below(KINDS).cast_signed(), PLACES[prng.below(4) as usize]);
    let text = vec![7; prng.below(120) as usize];
    let before = lamps.clone();
    let mut tx = db.begin().unwrap();
    if prng.below(5) == 0 {
        tx.delete(0, &[Value::Integer(number)]).unwrap();
        lamps.remove(&number);
    } else {
        let columns = [Value::Integer(number), Value::Integer(kind), place(at), label(number)];
        let [number_value, kind_value, at_value, label_value] = columns;
        let text = Value::Blob(&text);
        tx.upsert(0, &[number_value, kind_value, at_value, label_value, text]).unwrap();
        lamps.insert(number, (kind, at));
    }
    if prng.below(20) == 0 {
        Question::draw(prng, count).ask(&mut tx, lamps).unwrap();
    }
    if prng.below(8) == 0 {
        tx.roll_back().unwrap();
        *lamps = before;
    } else {
        tx.commit(Durability::Durable).unwrap();
    }
}

/// Questions among changes, compaction and merges, over lives, and at snapshots.
#[test]
fn rows_that_meet_criteria_are_those_of_the_map() {
    for (seed, count, blocks) in [(1, 60, 40), (2, 300, 40), (3, 300, 30)] {
        let mut prng = Prng::new(seed);
        let (mut nand, mut ram) = (chip_of(2048, 8, blocks), vec![0; 14_000]);
        let mut lamps = Lamps::new();
        Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
        for _ in 0..3 {
            let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
            for _ in 0..250 {
                change(&mut db, &mut lamps, &mut prng, count);
            }
            for _ in 0..10 {
                Question::draw(&mut prng, count).ask(&mut db, &lamps).unwrap();
            }
            let (snapshot, then) = (db.snapshot().unwrap(), lamps.clone());
            for _ in 0..60 {
                change(&mut db, &mut lamps, &mut prng, count);
                if let Ok(mut past) = db.at(&snapshot) {
                    Question::draw(&mut prng, count).ask(&mut past, &then).unwrap();
                }
            }
            db.release(snapshot);
        }
    }
}

/// A cursor that is pulled while rows come gives each row once, and all that were there.
#[test]
fn a_cursor_goes_on_while_rows_come() {
    for seed in 1..6 {
        let mut prng = Prng::new(seed);
        let (mut nand, mut ram, mut out) = (chip(2048, 64), vec![0; 14_000], [0; 256]);
        let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        let mut lamps = Lamps::new();
        let mut add = |db: &mut Db<'_, 'static, &mut FaultInjector>, number: i64| {
            let (kind, at) = (prng.below(2).cast_signed(), PLACES[prng.below(2) as usize]);
            let ids = [Value::Integer(number), Value::Integer(kind), place(at), label(number)];
            let mut tx = db.begin().unwrap();
            tx.insert(0, &[ids[0], ids[1], ids[2], ids[3], Value::Blob(b"text")]).unwrap();
            tx.commit(Durability::Durable).unwrap();
            lamps.insert(number, (kind, at));
        };
        (0..400).for_each(|number| add(&mut db, number));
        let key = ([Value::Integer(1)], [place(PLACES[0])]);
        let criteria = [Criterion::is(1, &key.0), Criterion::is(2, &key.1)];
        let mut cursor = db.matching(0, criteria).unwrap();
        let (mut found, mut next) = (Vec::new(), 400);
        while let Some(row) = cursor.next(&mut db, &mut out).unwrap() {
            found.push(number_of(&row));
            if next < 700 {
                add(&mut db, next);
                next += 1;
            }
        }
        let wanted = lamps.iter().filter(|(_, lamp)| **lamp == (1, PLACES[0]));
        let wanted: Vec<i64> = wanted.map(|(number, _)| *number).collect();
        found.sort_unstable();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "each once: {found:?}");
        let old = |numbers: &[i64]| numbers.iter().filter(|it| **it < 400).count();
        assert_eq!(old(&found), old(&wanted), "seed {seed}: all that were there");
        assert!(found.iter().all(|number| wanted.contains(number)), "and no other");
    }
}

/// Rows that do not meet all criteria are not read: what they cost is their share of the index.
#[test]
fn only_rows_that_meet_all_criteria_are_read() {
    let (mut ram, mut out) = (vec![0; 16_000], [0; 256]);
    let mut nand = Hooked { device: chip_of(2048, 32, 128), hooks: Counts::default() };
    let options = Options { capacity: 20_000, ..OPTIONS };
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut ram).unwrap();
    for number in 0..20_000 {
        let (kind, at) = (number % 40, PLACES[2 * usize::from(number / 40 % 40 == 0)]);
        let ids = [Value::Integer(number), Value::Integer(kind), place(at), label(number)];
        let mut tx = db.begin().unwrap();
        tx.insert(0, &[ids[0], ids[1], ids[2], ids[3], Value::Blob(&[7; 20])]).unwrap();
        tx.commit(Durability::Lazy).unwrap();
    }
    db.sync().unwrap();
    let key = ([Value::Integer(7)], [place(PLACES[2])]);
    let mut reads = |db: &mut Db<'_, 'static, &mut Hooked<FaultInjector, Counts>>, is_both| {
        let before = db.nand().hooks.0[0];
        let found = if is_both {
            let criteria = [Criterion::is(1, &key.0), Criterion::is(2, &key.1)];
            db.matching(0, criteria).unwrap().count(db, &mut out).unwrap()
        } else {
            let find = db.find(0, 1, &key.0).unwrap();
            let is_here = |row: &RowView<'_, '_>| Ok(row.column(2)? == key.1[0]);
            find.filter(is_here).count(db, &mut out).unwrap()
        };
        assert_eq!(found, 13, "500 are of the kind, and 13 of those are there");
        db.nand().hooks.0[0] - before
    };
    let (alone, both) = (reads(&mut db, false), reads(&mut db, true));
    println!("{alone} reads with one index, {both} with two");
    assert!(alone > 400 && both < 60, "{alone} reads with one index, {both} with two");
}

#[test]
fn wrong_criteria_are_refused() {
    let (mut nand, mut ram) = (chip(2048, 48), vec![0; 14_000]);
    let db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let (one, text) = ([Value::Integer(1)], [Value::Text("x")]);
    for (table, criterion) in [
        (0, Criterion::is(5, &one)),
        (1, Criterion::is(0, &one)),
        (0, Criterion::is(1, &text)),
        (0, Criterion::is(4, &one)),
        (0, Criterion::or(1, &[])),
    ] {
        let refused = db.matching(table, [Criterion::is(1, &one), criterion]);
        let error = refused.err();
        assert!(matches!(error, Some(DbError::Unknown | DbError::Value(_))), "{error:?}");
    }
    db.scan(0, Direction::Forward).expect("the database goes on");
}
