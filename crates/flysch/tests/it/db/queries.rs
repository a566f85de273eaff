//! Queries against what ordered maps say; input that is refused; a cache that changes no answer.

use std::collections::BTreeMap;

use flysch::cache::Cache;
use flysch::db::{
    Constraints, Db, DbError, Direction, Durability, ForeignKey, OnDelete, Options, Preset,
    SAVEPOINTS_MAX,
};
use flysch::query::{Cursor, Groups, Lookup, Merge, Order, Top};
use flysch::row::{Column, ColumnType, Index, IndexKind, Schema, Table, Value, ValueError};
use flysch_nand::Nand;

use super::world::chip;

const fn integer(name: &str) -> Column<'_> {
    Column::required(name, ColumnType::Integer)
}

/// Orders of customers: by customer and number, and by date.
pub(super) const SCHEMA: Schema<'static> = Schema {
    tables: &[
        Table {
            name: "customer",
            columns: &[integer("id"), Column::required("name", ColumnType::Text)],
            indexes: &[Index { columns: &[0], kind: IndexKind::Ordered, is_unique: true }],
            zone: None,
            keep: None,
        },
        Table {
            name: "order",
            columns: &[
                integer("customer"),
                integer("number"),
                integer("amount"),
                Column::nullable("date", ColumnType::Time),
            ],
            indexes: &[
                Index { columns: &[0, 1], kind: IndexKind::Ordered, is_unique: true },
                Index { columns: &[3], kind: IndexKind::Ordered, is_unique: false },
            ],
            zone: None,
            keep: None,
        },
    ],
};
const _: () = assert!(SCHEMA.check().is_ok());

pub(super) const OPTIONS: Options = Options { partition: None, seed: 5, capacity: 1000 };
const CUSTOMERS: i64 = 20;

/// The amount of an order; customers with an even id have some.
fn orders() -> BTreeMap<(i64, i64), i64> {
    let keys = (0..CUSTOMERS).step_by(2).flat_map(|id| (0..=id / 3).map(move |n| (id, n)));
    keys.map(|(id, n)| ((id, n), (id * 31 + n * 17) % 50 - 10)).collect()
}

fn fill<N: Nand>(db: &mut Db<'_, '_, N>) {
    let mut tx = db.begin().unwrap();
    for id in 0..CUSTOMERS {
        tx.insert(0, &[Value::Integer(id), Value::Text("name")]).unwrap();
    }
    for ((customer, number), amount) in orders() {
        let date = if amount < 0 { Value::Null } else { Value::Time(amount) };
        let ids = [customer, number, amount].map(Value::Integer);
        tx.insert(1, &[ids[0], ids[1], ids[2], date]).unwrap();
    }
    tx.commit(Durability::Durable).unwrap();
}

/// Fill a database, and ask it.
fn ask(asks: impl Fn(&mut Db<'_, 'static, Cache<'_, &mut flysch_chip::FaultInjector>>)) {
    let mut nand = chip(2048, 48);
    for cache_size in [0, 40_000] {
        let (mut ram, mut cache) = (vec![0; 14_000], vec![0; cache_size]);
        let nand = Cache::new(&mut nand, &mut cache);
        let mut db = Db::create(nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
        fill(&mut db);
        asks(&mut db);
    }
}

fn int(value: Value<'_>) -> i64 {
    match value {
        Value::Integer(number) | Value::Time(number) => number,
        other => panic!("{other:?} is no number"),
    }
}

const ALL: (&[Value<'static>], &[Value<'static>]) = (&[], &[]);

#[test]
fn joins_give_each_pair_once() {
    ask(|db| {
        let (mut left, mut right) = ([0; 100], [0; 100]);
        let customers = db.scan(0, Direction::Forward).unwrap();
        let customers = customers.filter(|row| Ok(int(row.column(0)?) > 5));
        // The customers of whom there is an order with their own number: none has so many.
        let mut joined = Lookup::new(customers, (1, 0), &[0, 0]);
        assert_eq!(pairs(|| joined.next(db, &mut left, &mut right).unwrap().map(|_| ())), 0);
        let orders_of = db.range_of(1, 0, ALL, Direction::Forward).unwrap();
        let all = db.range_of(0, 0, ALL, Direction::Forward).unwrap();
        let mut merged = Merge::new(orders_of, all, (&[0], &[0]));
        let mut found = Vec::new();
        while let Some((order, customer)) = merged.next(db, &mut left, &mut right).unwrap() {
            assert_eq!(order.column(0), customer.column(0));
            found.push((int(order.column(0).unwrap()), int(order.column(1).unwrap())));
        }
        assert!(found.iter().eq(orders().keys()), "{found:?}");
        let orders_of = db.range_of(1, 0, ALL, Direction::Forward).unwrap();
        let mut joined = Lookup::new(orders_of, (0, 0), &[0]);
        let count = pairs(|| joined.next(db, &mut left, &mut right).unwrap().map(|_| ()));
        assert_eq!(count, orders().len());
    });
}

fn pairs(next: impl FnMut() -> Option<()>) -> usize {
    std::iter::from_fn(next).count()
}

#[test]
fn totals_groups_and_tops_are_those_of_the_map() {
    ask(|db| {
        let (mut row, mut ahead) = ([0; 100], [0; 100]);
        let total = db.scan(1, Direction::Forward).unwrap().total(db, 2, &mut row).unwrap();
        let amounts: Vec<i64> = orders().values().copied().collect();
        assert_eq!(total.sum, amounts.iter().map(|it| i128::from(*it)).sum::<i128>());
        assert_eq!(
            (total.least, total.greatest),
            (amounts.iter().min().copied(), amounts.iter().max().copied())
        );
        let by_key = db.range_of(1, 0, ALL, Direction::Forward).unwrap();
        let mut groups = Groups::new(by_key, &[0], 2);
        let mut found = BTreeMap::new();
        while let Some((first, total)) = groups.next(db, &mut row, &mut ahead).unwrap() {
            found.insert(int(first.column(0).unwrap()), (total.count, total.sum));
        }
        let mut wanted = BTreeMap::new();
        for ((customer, _), amount) in orders() {
            let group = wanted.entry(customer).or_insert((0, 0));
            *group = (group.0 + 1, group.1 + i128::from(amount));
        }
        assert_eq!(found, wanted);
        let mut memory = [0; 5 * 50];
        let mut top = Top::new(&mut memory, 40, Order::Descending);
        let mut scan = db.scan(1, Direction::Backward).unwrap();
        while let Some(view) = scan.next(db, &mut row).unwrap() {
            let (value, len) = (Value::Integer(int(view.column(2).unwrap())), view.row_len);
            top.offer(&value, &row[..len]).unwrap();
        }
        let mut sorted = amounts;
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        let kept = (0..top.len()).map(|rank| top.row(&SCHEMA, rank).unwrap().unwrap().column(2));
        let kept: Vec<i64> = kept.map(|amount| int(amount.unwrap())).collect();
        assert_eq!(kept, sorted[..5]);
    });
}

/// Rows that come first alike keep the order in which they were offered.
#[test]
fn tops_are_stable() {
    ask(|db| {
        let mut row = [0; 100];
        for order in [Order::Ascending, Order::Descending] {
            let mut memory = [0; 30 * 50];
            let mut top = Top::new(&mut memory, 40, order);
            let mut scan = db.scan(1, Direction::Forward).unwrap();
            let mut offered = Vec::new();
            while let Some(view) = scan.next(db, &mut row).unwrap() {
                let rank = i64::try_from(offered.len()).unwrap() % 3;
                let amount = view.column(2).unwrap();
                offered.push((if order == Order::Ascending { rank } else { -rank }, int(amount)));
                let len = view.row_len;
                // Null comes before the least value.
                let value = match rank {
                    0 => Value::Null,
                    _ => Value::Integer(i64::MIN + rank - 1),
                };
                top.offer(&value, &row[..len]).unwrap();
            }
            offered.sort_by_key(|(rank, _)| *rank);
            let kept = (0..top.len()).map(|at| top.row(&SCHEMA, at).unwrap().unwrap().column(2));
            let kept: Vec<i64> = kept.map(|amount| int(amount.unwrap())).collect();
            let wanted = offered.into_iter().take(30).map(|(_, amount)| amount);
            assert!(kept.len() == 30 && wanted.eq(kept), "{order:?}");
        }
    });
}

/// A row of a byte more than a slot has would lie in the next one, too.
#[test]
fn rows_longer_than_a_slot_are_not_kept() {
    let mut memory = [0; 30];
    let mut top = Top::new(&mut memory, 5, Order::Ascending);
    let answers = [4, 5, 6, 7].map(|len| top.offer(&Value::Integer(1), &[0; 9][..len]));
    let too_long = |needed| Err(DbError::RowTooLong { needed });
    assert_eq!(answers, [Ok(()), Ok(()), too_long(6), too_long(7)]);
}

#[test]
fn ranges_by_first_columns_and_by_nullable_times_are_exact() {
    ask(|db| {
        let mut row = [0; 100];
        for direction in [Direction::Forward, Direction::Backward] {
            let ends = ([Value::Integer(4)], [Value::Integer(12), Value::Integer(2)]);
            let mut range = db.range_of(1, 0, (&ends.0, &ends.1), direction).unwrap();
            let mut found = Vec::new();
            while let Some(row) = range.next(db, &mut row).unwrap() {
                found.push((int(row.column(0).unwrap()), int(row.column(1).unwrap())));
            }
            let mut wanted: Vec<_> = orders().range((4, 0)..=(12, 2)).map(|it| *it.0).collect();
            let null = db.find(1, 1, &[Value::Null]).unwrap().count(db, &mut row).unwrap();
            assert_eq!(null as usize, orders().values().filter(|amount| **amount < 0).count());
            if direction == Direction::Backward {
                wanted.reverse();
            }
            assert_eq!(found, wanted);
        }
    });
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    ask(|db| {
        let mut row = [0; 100];
        let int = Value::Integer;
        let constraints = Constraints {
            foreign_keys: &[ForeignKey {
                table: 1,
                index: 0,
                parent: 0,
                on_delete: OnDelete::Restrict,
            }],
            ..Constraints::NONE
        };
        assert_eq!(db.set_constraints(constraints), Err(DbError::Constraint { number: 0 }));
        let preset = Preset { table: 0, column: 1, value: Value::Null };
        let constraints = Constraints {
            presets: std::slice::from_ref(Box::leak(Box::new(preset))),
            ..Constraints::NONE
        };
        assert_eq!(db.set_constraints(constraints), Err(DbError::Constraint { number: 0 }));
        let refused = db.find(1, 0, &[int(1)]).err();
        assert_eq!(refused, Some(DbError::Value(ValueError::Count { needed: 2, given: 1 })));
        let refused = db.prefix(1, 0, &[Value::Time(1)], Direction::Forward).err();
        assert_eq!(refused, Some(DbError::Value(ValueError::Type { column: 0 })));
        let mut tx = db.begin().unwrap();
        let cases: [(u8, &[Value<'_>], DbError); 5] = [
            (0, &[int(1), Value::Text("again")], DbError::Duplicate { index: 0 }),
            (0, &[int(99)], DbError::Value(ValueError::Count { needed: 2, given: 1 })),
            (0, &[int(99), int(1)], DbError::Value(ValueError::Type { column: 1 })),
            (0, &[int(99), Value::Null], DbError::Value(ValueError::Null { column: 1 })),
            (7, &[int(99), Value::Text("x")], DbError::Unknown),
        ];
        for (table, values, error) in cases {
            assert_eq!(tx.insert(table, values), Err(error));
        }
        // A row that is there is not sought by a key of another type.
        let error = DbError::Value(ValueError::Type { column: 0 });
        let values = [Value::Time(1), Value::Text("x")];
        assert_eq!(tx.insert(0, &values), Err(error));
        assert_eq!(tx.update(0, &values), Err(error));
        assert_eq!(tx.upsert(0, &values), Err(error));
        assert_eq!(tx.delete(0, &values[..1]), Err(error));
        let null = DbError::Value(ValueError::Null { column: 0 });
        assert_eq!(tx.delete(0, &[Value::Null]), Err(null));
        assert_eq!(
            tx.insert_columns(0, &[(0, int(99))]),
            Err(DbError::Value(ValueError::Null { column: 1 }))
        );
        assert_eq!(tx.insert_columns(0, &[(9, int(99))]), Err(DbError::Unknown));
        let savepoints: Vec<_> = (0..SAVEPOINTS_MAX).map(|_| tx.savepoint().unwrap()).collect();
        assert_eq!(tx.savepoint(), Err(DbError::Savepoint));
        tx.roll_back_to(savepoints[0]).unwrap();
        assert_eq!(tx.roll_back_to(savepoints[1]), Err(DbError::Savepoint));
        // Another one in the place of a savepoint that was released is not that one.
        tx.release(savepoints[0]);
        let other = tx.savepoint().unwrap();
        assert_eq!(tx.roll_back_to(savepoints[0]), Err(DbError::Savepoint));
        tx.release(savepoints[0]);
        assert_eq!(tx.roll_back_to(other), Ok(()));
        let long = "x".repeat(70);
        let ends = [Value::Text(&long)];
        assert!(tx.scan(7, Direction::Forward).is_err() && tx.find(0, 3, &ends).is_err());
        tx.commit(Durability::Durable).unwrap();
        let count = db.scan(0, Direction::Forward).unwrap().count(db, &mut row).unwrap();
        assert_eq!(count.cast_signed(), CUSTOMERS);
        assert_eq!(
            db.get(0, 0, &[int(3)], &mut [0; 4]).err(),
            Some(DbError::RowTooLong { needed: 9 })
        );
    });
}
