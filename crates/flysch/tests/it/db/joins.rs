//! Join columns against what ordered maps say: rows that copy values of their parents, changes of
//! these values, deletes, and power cuts among them.

use std::collections::BTreeMap;

use flysch::db::{
    Check, Constraints, Criterion, Db, DbError, Direction, Durability, ForeignKey, JoinColumn,
    MountError, OnDelete, Options, Reader, Transaction,
};
use flysch::media::MediaError;
use flysch::query::Cursor;
use flysch::row::{Column, ColumnType, IndexKind, Schema, Table, Value, ValueError};
use flysch_chip::{FaultInjector, FaultPlan, Prng};
use flysch_nand::Nand;

use super::world::{chip, index};

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

/// Customers, their orders, and lines of these: an order has the city and the rank of its customer,
/// a line has the city of its order.
const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "customer",
            columns: &[
                integer("id"),
                Column::nullable("city", ColumnType::Text),
                integer("rank"),
                integer("visits"),
            ],
            indexes: &[index(&[0], IndexKind::Ordered, true)],
            zone: None,
            keep: None,
        },
        Table {
            name: "order",
            columns: &[
                integer("id"),
                Column::nullable("customer", ColumnType::Integer),
                integer("product"),
                Column::nullable("city", ColumnType::Text),
                Column::nullable("rank", ColumnType::Integer),
            ],
            indexes: &[
                index(&[0], IndexKind::Ordered, true),
                index(&[1], IndexKind::Hash, false),
                index(&[3], IndexKind::Ordered, false),
                index(&[4, 2], IndexKind::Hash, false),
            ],
            zone: None,
            keep: None,
        },
        Table {
            name: "line",
            columns: &[
                integer("id"),
                integer("order"),
                Column::nullable("city", ColumnType::Text),
                integer("amount"),
            ],
            indexes: &[
                index(&[0], IndexKind::Hash, true),
                index(&[1], IndexKind::Hash, false),
                index(&[2], IndexKind::Hash, false),
                index(&[3], IndexKind::Hash, false),
            ],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

const CUSTOMER: u8 = 0;
const ORDER: u8 = 1;
const LINE: u8 = 2;

const KEYS: [ForeignKey; 2] = [
    ForeignKey { table: ORDER, index: 1, parent: CUSTOMER, on_delete: OnDelete::SetNull },
    ForeignKey { table: LINE, index: 1, parent: ORDER, on_delete: OnDelete::Cascade },
];
const JOINS: [JoinColumn; 3] = [
    JoinColumn { key: 0, column: 3, of: 1 },
    JoinColumn { key: 0, column: 4, of: 2 },
    JoinColumn { key: 1, column: 2, of: 3 },
];
const CONSTRAINTS: Constraints<'static> =
    Constraints { foreign_keys: &KEYS, joins: &JOINS, ..Constraints::NONE };
const OPTIONS: Options = Options { partition: None, seed: 5, capacity: 4000 };
const RAM: usize = 16_000;
const LOST: DbError = DbError::Media(MediaError::PowerLost);
const MOUNT_LOST: DbError = DbError::Mount(MountError::Media(MediaError::PowerLost));

/// Cities that agree in their first eight bytes, and none.
const CITIES: [Option<&str>; 4] =
    [Some("the city, above"), Some("the city, below"), Some(""), None];
const AMOUNTS: u64 = 3;
const IDS: u64 = 12;

type City = Option<&'static str>;

fn text(city: City) -> Value<'static> {
    city.map_or(Value::Null, Value::Text)
}

fn some(number: Option<i64>) -> Value<'static> {
    number.map_or(Value::Null, Value::Integer)
}

fn city_of(value: Value<'_>) -> City {
    CITIES.into_iter().find(|city| text(*city) == value).expect("it is one of them")
}

fn int(value: Value<'_>) -> i64 {
    let Value::Integer(number) = value else { panic!("{value:?} is an integer") };
    number
}

/// What the database ought to hold. Copies are not in it: they follow from the parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct World {
    /// City, rank, visits.
    customers: BTreeMap<i64, (City, i64, i64)>,
    /// Customer, product.
    orders: BTreeMap<i64, (Option<i64>, i64)>,
    /// Order, amount.
    lines: BTreeMap<i64, (i64, i64)>,
}

impl World {
    fn city(&self, order: i64) -> City {
        self.orders[&order].0.and_then(|customer| self.customers[&customer].0)
    }

    fn rank(&self, order: i64) -> Option<i64> {
        self.orders[&order].0.map(|customer| self.customers[&customer].1)
    }

    /// Draw a change, and make it in the transaction and here.
    fn change<N: Nand>(
        &mut self,
        tx: &mut Transaction<'_, '_, '_, N>,
        prng: &mut Prng,
    ) -> Result<(), DbError> {
        let [id, other] = [0; 2].map(|_| prng.below(IDS).cast_signed());
        let city = CITIES[prng.below(4) as usize];
        match prng.below(10) {
            0..3 => {
                let (rank, visits) = (prng.below(3).cast_signed(), prng.below(90).cast_signed());
                let values = [Value::Integer(id), text(city), Value::Integer(rank)];
                let [id_value, city_value, rank_value] = values;
                tx.upsert(CUSTOMER, &[id_value, city_value, rank_value, Value::Integer(visits)])?;
                self.customers.insert(id, (city, rank, visits));
            }
            3..6 => {
                let customer = Some(other).filter(|other| self.customers.contains_key(other));
                let product = prng.below(3).cast_signed();
                // What is given for the copies is not looked at.
                let given = if prng.below(2) == 0 { Value::Null } else { Value::Text("nowhere") };
                let [id_value, product_value] = [id, product].map(Value::Integer);
                let values = [id_value, some(customer), product_value, given, Value::Null];
                tx.upsert(ORDER, &values)?;
                self.orders.insert(id, (customer, product));
            }
            6..8 => {
                let amount = (id.unsigned_abs() % AMOUNTS).cast_signed();
                let values = [(0, id), (1, other), (3, amount)];
                let values = values.map(|(column, number)| (column, Value::Integer(number)));
                let wanted = if self.lines.contains_key(&id) {
                    None
                } else if self.orders.contains_key(&other) {
                    Some(Ok(()))
                } else {
                    Some(Err(DbError::ForeignKey { key: 1 }))
                };
                match (tx.insert_columns(LINE, &values), wanted) {
                    (Ok(()), Some(Ok(()))) => {
                        self.lines.insert(id, (other, amount));
                    }
                    (Err(DbError::Duplicate { .. } | DbError::ForeignKey { .. }), None) => {}
                    (done, Some(wanted)) if done == wanted => {}
                    (Err(error), _) => return Err(error),
                    (done, wanted) => panic!("{done:?}, not {wanted:?}"),
                }
            }
            8 => {
                if tx.delete(CUSTOMER, &[Value::Integer(id)])? {
                    self.customers.remove(&id);
                    let own = self.orders.values_mut().filter(|order| order.0 == Some(id));
                    own.for_each(|order| order.0 = None);
                }
            }
            _ => {
                if tx.delete(ORDER, &[Value::Integer(id)])? {
                    self.orders.remove(&id);
                    self.lines.retain(|_, line| line.0 != id);
                }
            }
        }
        Ok(())
    }

    /// Scan all tables: what is there, with each copy equal to what is copied.
    fn scanned<'d, N: Nand + 'd>(
        reader: &mut impl Reader<'d, 'static, N>,
    ) -> Result<Self, DbError> {
        let (mut world, mut out) = (Self::default(), [0; 256]);
        let mut scan = reader.reading()?.scan(CUSTOMER, Direction::Forward)?;
        while let Some(row) = scan.next(reader, &mut out)? {
            let [id, rank, visits] = [0, 2, 3].map(|column| int(row.column(column).unwrap()));
            world.customers.insert(id, (city_of(row.column(1)?), rank, visits));
        }
        let mut scan = reader.reading()?.scan(ORDER, Direction::Forward)?;
        let mut copies = BTreeMap::new();
        while let Some(row) = scan.next(reader, &mut out)? {
            let id = int(row.column(0)?);
            let customer = (row.column(1)? != Value::Null).then(|| int(row.column(1).unwrap()));
            let rank = (row.column(4)? != Value::Null).then(|| int(row.column(4).unwrap()));
            copies.insert(id, (city_of(row.column(3)?), rank));
            world.orders.insert(id, (customer, int(row.column(2)?)));
        }
        for (id, copy) in copies {
            assert_eq!(copy, (world.city(id), world.rank(id)), "order {id}");
        }
        let mut scan = reader.reading()?.scan(LINE, Direction::Forward)?;
        while let Some(row) = scan.next(reader, &mut out)? {
            let [id, order, amount] = [0, 1, 3].map(|column| int(row.column(column).unwrap()));
            assert_eq!(city_of(row.column(2)?), world.city(order), "line {id}");
            world.lines.insert(id, (order, amount));
        }
        Ok(world)
    }

    /// Ask the join indexes for the lines of a city, those of an amount among them, and for the
    /// orders of a rank.
    fn ask<'d, N: Nand + 'd>(
        &self,
        reader: &mut impl Reader<'d, 'static, N>,
    ) -> Result<(), DbError> {
        let (amount, rank) = ([Value::Integer(1)], [Value::Integer(2), Value::Integer(0)]);
        for city in CITIES {
            let lines = |is_wanted: &dyn Fn(i64) -> bool| {
                let own = self.lines.iter().filter(|(_, line)| self.city(line.0) == city);
                let own = own.filter(|(_, line)| is_wanted(line.1)).map(|(id, _)| *id);
                own.collect::<Vec<_>>()
            };
            let key = [text(city)];
            let find = reader.reading()?.find(LINE, 2, &key)?;
            assert_eq!(ids(reader, find)?, lines(&|_| true), "lines of {city:?}");
            let both = [Criterion::is(2, &key), Criterion::is(3, &amount)];
            let matches = reader.reading()?.matching(LINE, both)?;
            assert_eq!(ids(reader, matches)?, lines(&|amount| amount == 1), "some of {city:?}");
        }
        let find = reader.reading()?.find(ORDER, 3, &rank)?;
        let own =
            self.orders.iter().filter(|(id, order)| self.rank(**id) == Some(2) && order.1 == 0);
        assert_eq!(ids(reader, find)?, own.map(|(id, _)| *id).collect::<Vec<_>>());
        Ok(())
    }
}

/// Ids of the rows of a cursor, sorted.
fn ids<'d, N: Nand + 'd>(
    reader: &mut impl Reader<'d, 'static, N>,
    mut cursor: impl Cursor,
) -> Result<Vec<i64>, DbError> {
    let (mut found, mut out) = (Vec::new(), [0; 256]);
    while let Some(row) = cursor.next(reader, &mut out)? {
        found.push(int(row.column(0)?));
    }
    found.sort_unstable();
    Ok(found)
}

fn is_lost(error: DbError) -> bool {
    error == LOST || error == MOUNT_LOST
}

/// One life of a device: transactions until the power goes or some are done.
fn live(
    nand: &mut FaultInjector,
    (kept, doubtful): (&mut World, &mut World),
    prng: &mut Prng,
) -> Result<(), DbError> {
    let mut ram = vec![0; RAM];
    let mut db = Db::open(nand, &SCHEMA, OPTIONS, &mut ram)?;
    db.set_constraints(CONSTRAINTS)?;
    for _ in 0..40 {
        let mut tx = db.begin()?;
        let mut after = kept.clone();
        for _ in 0..=prng.below(6) {
            after.change(&mut tx, prng)?;
        }
        if prng.below(8) == 0 {
            assert_eq!(World::scanned(&mut tx)?, after);
            after.ask(&mut tx)?;
        }
        if prng.below(6) == 0 {
            tx.roll_back()?;
            continue;
        }
        doubtful.clone_from(&after);
        tx.commit(Durability::Durable)?;
        kept.clone_from(&after);
    }
    kept.ask(&mut db)
}

#[test]
fn copies_equal_what_they_copy_after_changes_and_cuts() {
    let mut cuts = 0;
    for seed in 0..24 {
        let (mut nand, mut prng) = (chip(512, 200), Prng::new(seed));
        let mut ram = vec![0; RAM];
        Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
        let mut kept = World::default();
        for life in 0..6 {
            let story = format!("seed {seed}, life {life}");
            let (cut_at, ppm) = (Some(prng.below(1800)), if seed % 3 == 0 { 5000 } else { 0 });
            let plan = FaultPlan { seed: prng.next(), cut_at, ..FaultPlan::default() };
            nand.arm(FaultPlan { program_failures_ppm: ppm, erase_failures_ppm: ppm, ..plan });
            let mut doubtful = kept.clone();
            match live(&mut nand, (&mut kept, &mut doubtful), &mut prng) {
                Ok(()) => {}
                Err(error) => assert!(is_lost(error), "{error:?}: {story}"),
            }
            cuts += u32::from(!nand.is_on());
            nand.power_up();
            nand.arm(FaultPlan::default());
            let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
            let found = World::scanned(&mut db).unwrap();
            assert!(found == kept || found == doubtful, "{story}");
            found.ask(&mut db).unwrap();
            kept = found;
        }
    }
    assert!(cuts > 60, "{cuts} cuts");
}

/// A value that a hundred rows copy is changed: all follow, in one transaction or not at all.
#[test]
fn many_rows_follow_their_parent() {
    let (mut nand, mut ram) = (chip(512, 300), vec![0; RAM]);
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    db.set_constraints(CONSTRAINTS).unwrap();
    let mut world = World::default();
    let customer = |city| [Value::Integer(1), text(city), Value::Integer(2), Value::Integer(0)];
    let mut tx = db.begin().unwrap();
    tx.insert(CUSTOMER, &customer(CITIES[0])).unwrap();
    tx.commit(Durability::Durable).unwrap();
    for id in 0..100 {
        let mut tx = db.begin().unwrap();
        let order = [(0, id), (1, 1), (2, 0)].map(|(at, number)| (at, Value::Integer(number)));
        tx.insert_columns(ORDER, &order).unwrap();
        let line = [(0, id), (1, id / 2), (3, 1)].map(|(at, number)| (at, Value::Integer(number)));
        tx.insert_columns(LINE, &line).unwrap();
        tx.commit(Durability::Durable).unwrap();
        world.orders.insert(id, (Some(1), 0));
        world.lines.insert(id, (id / 2, 1));
    }
    for (city, is_kept) in [(CITIES[1], false), (CITIES[1], true), (None, true)] {
        let mut tx = db.begin().unwrap();
        assert_eq!(tx.update(CUSTOMER, &customer(city)), Ok(true));
        if is_kept {
            tx.commit(Durability::Durable).unwrap();
        } else {
            tx.roll_back().unwrap();
        }
        world.customers.insert(1, (if is_kept { city } else { CITIES[0] }, 2, 0));
        assert_eq!(World::scanned(&mut db).unwrap(), world);
        world.ask(&mut db).unwrap();
    }
    // A change of what nobody copies writes one row.
    let before = db.stats().counts.programs_in_all();
    let mut tx = db.begin().unwrap();
    let [id, city, rank, _] = customer(None);
    tx.update(CUSTOMER, &[id, city, rank, Value::Integer(5)]).unwrap();
    tx.commit(Durability::Durable).unwrap();
    assert!(db.stats().counts.programs_in_all() - before < 6);
}

/// Where a row may not have the value that it would copy, the change of its parent is refused, and
/// nothing is changed.
#[test]
fn a_change_that_a_copy_may_not_follow_is_refused_whole() {
    const STRICT: Constraints<'static> = Constraints {
        checks: &[Check { table: ORDER, holds: |row| row[4] < Value::Integer(9) }],
        ..CONSTRAINTS
    };
    let (mut nand, mut ram) = (chip(512, 200), vec![0; RAM]);
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    db.set_constraints(STRICT).unwrap();
    let int = Value::Integer;
    let mut tx = db.begin().unwrap();
    tx.insert(CUSTOMER, &[int(1), text(CITIES[0]), int(8), int(0)]).unwrap();
    for id in 0..5 {
        tx.insert_columns(ORDER, &[(0, int(id)), (1, int(1)), (2, int(0))]).unwrap();
    }
    let refused = tx.update(CUSTOMER, &[int(1), text(CITIES[1]), int(9), int(0)]);
    assert_eq!(refused, Err(DbError::Check { check: 0 }));
    tx.commit(Durability::Durable).unwrap();
    let found = World::scanned(&mut db).unwrap();
    assert_eq!(found.customers, BTreeMap::from([(1, (CITIES[0], 8, 0))]));
    assert_eq!(found.orders.len(), 5);
    // The rows of which some were changed before the refusal are all as they were.
    let mut tx = db.begin().unwrap();
    assert_eq!(tx.update(CUSTOMER, &[int(1), text(CITIES[1]), int(7), int(0)]), Ok(true));
    tx.commit(Durability::Durable).unwrap();
    World::scanned(&mut db).unwrap().ask(&mut db).unwrap();
}

#[test]
fn join_columns_that_do_not_fit_are_refused_by_name() {
    let (mut nand, mut ram) = (chip(512, 100), vec![0; RAM]);
    let mut db = Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
    let join = |key, column, of| JoinColumn { key, column, of };
    let cases = [
        ("no such foreign key", vec![join(2, 3, 1)], 0),
        ("no such column", vec![join(0, 5, 1)], 0),
        ("no such column of the parent", vec![join(0, 3, 4)], 0),
        ("another type", vec![join(0, 3, 2)], 0),
        ("the foreign key itself", vec![join(0, 1, 2)], 0),
        ("the primary key", vec![join(0, 0, 2)], 0),
        ("a column that takes no null", vec![join(0, 2, 2)], 0),
        ("one column twice", vec![join(0, 4, 2), join(0, 4, 3)], 1),
        ("a copy of what is copied later", vec![join(1, 2, 3), join(0, 3, 1)], 0),
    ];
    for (story, joins, number) in cases {
        let refused =
            db.set_constraints(Constraints { joins: &joins.clone().leak()[..], ..CONSTRAINTS });
        assert_eq!(refused, Err(DbError::Constraint { number }), "{story}");
    }
    db.set_constraints(CONSTRAINTS).unwrap();
    let mut tx = db.begin().unwrap();
    let [one, long] = [Value::Integer(1), Value::Integer(0)];
    let count = Err(DbError::Value(ValueError::Count { needed: 5, given: 2 }));
    assert_eq!(tx.insert(ORDER, &[one, long]), count);
    let kind = Err(DbError::Value(ValueError::Type { column: 1 }));
    let values = [one, Value::Text("one"), one, Value::Null, Value::Null];
    assert_eq!(tx.insert(ORDER, &values), kind);
    // The parent's text is longer than what a row copies.
    let text = "t".repeat(300);
    tx.insert(CUSTOMER, &[one, Value::Text(&text), one, one]).unwrap();
    let refused = tx.insert(ORDER, &[one, one, one, Value::Null, Value::Null]);
    assert_eq!(refused, Err(DbError::RowTooLong { needed: 300 }));
    tx.insert(ORDER, &[one, Value::Null, one, Value::Null, Value::Null]).unwrap();
    tx.commit(Durability::Durable).unwrap();
}
