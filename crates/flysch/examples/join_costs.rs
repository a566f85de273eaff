//! What a precomputed join index costs and saves on a simulated W25N01GV: orders of customers, of
//! which each has the city of its customer.
//!
//! `cargo run --release -p flysch --example join_costs -- ORDERS RAM`.

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "counts are small"
)]

use std::sync::Arc;

use flysch::db::{
    Constraints, Criterion, Db, DbError, Durability, ForeignKey, JoinColumn, OnDelete, Options,
};
use flysch::query::{Cursor, Lookup};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value};
use flysch_chip::{Chip, Clock, Counts, Hooked, Part, Prng};

type Store<'a, 'ram, 's> = Db<'ram, 's, &'a mut Hooked<Chip, Counts>>;

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

const fn index(columns: &[u8], is_unique: bool) -> Index<'_> {
    Index { columns, kind: IndexKind::Hash, is_unique }
}

const CUSTOMER: u8 = 0;
const ORDER: u8 = 1;
/// Columns and indexes of orders.
const PRODUCT: u8 = 2;
const CITY: u8 = 3;
const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "customer",
            columns: &[integer("id"), integer("city")],
            indexes: &[index(&[0], true), index(&[1], false)],
            zone: None,
            keep: None,
        },
        Table {
            name: "order",
            columns: &[
                integer("id"),
                integer("customer"),
                integer("product"),
                integer("city"),
                Column::required("note", ColumnType::Text),
            ],
            indexes: &[
                Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true },
                index(&[1], false),
                index(&[PRODUCT], false),
                index(&[CITY], false),
            ],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

const KEYS: &[ForeignKey] =
    &[ForeignKey { table: ORDER, index: 1, parent: CUSTOMER, on_delete: OnDelete::Restrict }];
const RELATED: Constraints<'static> = Constraints { foreign_keys: KEYS, ..Constraints::NONE };
const JOINED: Constraints<'static> =
    Constraints { joins: &[JoinColumn { key: 0, column: CITY, of: 1 }], ..RELATED };

const CUSTOMERS: i64 = 1000;
const CITIES: i64 = 100;
const PRODUCTS: u64 = 100;
/// Questions of each kind.
const ASKED: i64 = 20;

fn main() -> Result<(), DbError> {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let (orders, ram) = (args.next().unwrap_or(100_000), args.next().unwrap_or(16_384) as usize);
    println!("{orders} orders of {CUSTOMERS} customers in {CITIES} cities, {ram} bytes of RAM");
    let related = filled("the program copies the city", RELATED, (orders, ram), |_| Ok(()))?;
    let joined = filled("the engine does", JOINED, (orders, ram), ask)?;
    println!("that takes {:.3} more programs an order", joined - related);
    Ok(())
}

/// Fill a database, and ask it; returns the programs of an order.
fn filled(
    what: &str,
    constraints: Constraints<'static>,
    (orders, ram): (u64, usize),
    ask: impl Fn(&mut Store<'_, '_, 'static>) -> Result<(), DbError>,
) -> Result<f64, DbError> {
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let chip = Chip::new(Arc::new(part), Clock::new(), 1);
    let mut nand = Hooked { device: chip, hooks: Counts::default() };
    let options = Options { partition: None, seed: 7, capacity: orders as u32 };
    let mut memory = vec![0; ram - size_of::<Store<'_, '_, '_>>()];
    let mut db = Db::create(&mut nand, &SCHEMA, options, &mut memory)?;
    db.set_constraints(constraints)?;
    for id in 0..CUSTOMERS {
        let mut tx = db.begin()?;
        tx.insert(CUSTOMER, &[Value::Integer(id), Value::Integer(id % CITIES)])?;
        tx.commit(Durability::Lazy)?;
    }
    let (mut prng, before) = (Prng::new(3), db.stats().counts);
    for first in (0..orders).step_by(50) {
        let mut tx = db.begin()?;
        for id in first..(first + 50).min(orders) {
            let customer = prng.below(CUSTOMERS.unsigned_abs());
            let product = prng.below(PRODUCTS);
            let city = customer % CITIES.unsigned_abs();
            let numbers =
                [id, customer, product, city].map(|number| Value::Integer(number.cast_signed()));
            let [id, customer, product, city] = numbers;
            tx.insert(
                ORDER,
                &[id, customer, product, city, Value::Text("some thirty bytes of a note")],
            )?;
        }
        tx.commit(Durability::Durable)?;
    }
    let counts = db.stats().counts;
    let each = |now: u32, then: u32| f64::from(now - then) / orders as f64;
    let programs = each(counts.programs_in_all(), before.programs_in_all());
    let reads = each(counts.reads, before.reads);
    println!("{what}: {programs:.3} programs and {reads:.2} reads an order");
    ask(&mut db)?;
    Ok(programs)
}

/// Ask for the orders of a city, and for those of a product among them, in two ways each.
fn ask(db: &mut Store<'_, '_, 'static>) -> Result<(), DbError> {
    let (mut row, mut other) = ([0; 128], [0; 128]);
    let mut reads = [0; 4];
    let mut found = [0; 4];
    for city in 0..ASKED {
        let (city, product) = ([Value::Integer(city)], [Value::Integer(city * 3)]);
        for (way, (reads, found)) in reads.iter_mut().zip(&mut found).enumerate() {
            let before = db.stats().counts.reads;
            *found += if way % 2 == 0 {
                let customers = db.find(CUSTOMER, 1, &city)?;
                let mut joined = Lookup::new(customers, (ORDER, 1), &[0]);
                let mut count = 0;
                while let Some((_, order)) = joined.next(db, &mut row, &mut other)? {
                    let is_wanted = way == 0 || order.column(PRODUCT)? == product[0];
                    count += u64::from(is_wanted);
                }
                count
            } else if way == 1 {
                db.find(ORDER, CITY, &city)?.count(db, &mut row)?
            } else {
                let both = [Criterion::is(CITY, &city), Criterion::is(PRODUCT, &product)];
                db.matching(ORDER, both)?.count(db, &mut row)?
            };
            *reads += db.stats().counts.reads - before;
        }
    }
    assert!(found[0] == found[1] && found[2] == found[3], "both ways find the same: {found:?}");
    let each = |number: u64| number as f64 / ASKED as f64;
    for (what, at) in [("orders of a city", 0), ("those of a product among them", 2)] {
        println!(
            "{what}: {:.1} rows; {:.0} reads by nested lookups, {:.0} by the join index",
            each(found[at]),
            each(reads[at].into()),
            each(reads[at + 1].into())
        );
    }
    Ok(())
}
