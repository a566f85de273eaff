//! A program whose schema is not that of the database on flash is told what differs.

use flysch::db::{Db, DbError, Durability, MountError, Options};
use flysch::row::{Column, ColumnType, Difference, Index, IndexKind, Keep, Schema, Table, Value};

use super::queries::{OPTIONS, SCHEMA};
use super::world::chip;

/// A list that lives as long as a schema of the program.
fn listed<T>(all: impl IntoIterator<Item = T>) -> &'static [T] {
    all.into_iter().collect::<Vec<T>>().leak()
}

/// Schemas of programs, and what is told of each.
fn cases() -> Vec<(Schema<'static>, Difference)> {
    use Difference as D;
    let [customer, order] = [SCHEMA.tables[0], SCHEMA.tables[1]];
    let (id, name) = (customer.columns[0], customer.columns[1]);
    let with_name = |name| Table { columns: listed([id, name]), ..customer };
    let with_age = Column::required("age", ColumnType::Integer);
    let with_age = Table { columns: listed([id, name, with_age]), ..customer };
    let (key, date) = (order.indexes[0], order.indexes[1]);
    let with_indexes =
        |indexes: &[Index<'static>]| Table { indexes: listed(indexes.iter().copied()), ..order };
    let without_date =
        Table { columns: listed(order.columns[..3].iter().copied()), ..with_indexes(&[key]) };
    let customers = |table| [table, order].to_vec();
    let orders = |table| [customer, table].to_vec();
    let cases = [
        ([customer].to_vec(), D::Table { table: 1 }),
        ([customer, order, Table { name: "third", ..customer }].to_vec(), D::Table { table: 2 }),
        ([order, customer].to_vec(), D::Table { table: 0 }),
        (orders(Table { name: "orders", ..order }), D::Table { table: 1 }),
        (customers(with_name(Column { name: "label", ..name })), D::Column { table: 0, column: 1 }),
        (
            customers(with_name(Column { is_nullable: true, ..name })),
            D::Column { table: 0, column: 1 },
        ),
        (
            customers(with_name(Column { kind: ColumnType::Blob, ..name })),
            D::Column { table: 0, column: 1 },
        ),
        (customers(with_age), D::Column { table: 0, column: 2 }),
        (orders(without_date), D::Column { table: 1, column: 3 }),
        (
            orders(with_indexes(&[key, Index { kind: IndexKind::Hash, ..date }])),
            D::Index { table: 1, index: 1 },
        ),
        (
            orders(with_indexes(&[key, Index { is_unique: true, ..date }])),
            D::Index { table: 1, index: 1 },
        ),
        (
            orders(with_indexes(&[Index { columns: &[1, 0], ..key }, date])),
            D::Index { table: 1, index: 0 },
        ),
        (orders(with_indexes(&[key])), D::Index { table: 1, index: 1 }),
        (customers(Table { indexes: &[], ..customer }), D::Index { table: 0, index: 0 }),
        (orders(Table { zone: Some(2), ..order }), D::Zone { table: 1 }),
        (orders(Table { keep: Some(Keep::Rows(9)), ..order }), D::Ring { table: 1 }),
    ];
    cases.into_iter().map(|(tables, told)| (Schema { tables: listed(tables) }, told)).collect()
}

/// The roots of the format tell it, those of mounts after a cut, and those of a long session.
#[test]
fn another_schema_is_told_by_what_differs() {
    let cases = cases();
    for (lives, rows) in [(0, 0), (3, 1), (1, 3000)] {
        let (mut nand, mut ram) = (chip(2048, 48), vec![0; 20_000]);
        Db::create(&mut nand, &SCHEMA, OPTIONS, &mut ram).map(drop).unwrap();
        for _ in 0..lives {
            let mut db = Db::open(&mut nand, &SCHEMA, OPTIONS, &mut ram).unwrap();
            for number in 0..rows {
                let mut tx = db.begin().unwrap();
                tx.upsert(0, &[Value::Integer(number % 7), Value::Text("name")]).unwrap();
                tx.commit(Durability::Durable).unwrap();
            }
        }
        let mut open = |schema, options| Db::open(&mut nand, schema, options, &mut ram).map(drop);
        for (schema, difference) in &cases {
            schema.check().unwrap();
            let told = Err(DbError::Mount(MountError::Schema(*difference)));
            assert_eq!(open(schema, OPTIONS), told, "{lives} lives of {rows} rows");
        }
        for options in [
            Options { seed: OPTIONS.seed + 1, ..OPTIONS },
            Options { capacity: OPTIONS.capacity + 1, ..OPTIONS },
        ] {
            let told = Err(DbError::Mount(MountError::Schema(Difference::Options)));
            assert_eq!(open(&SCHEMA, options), told);
        }
        assert_eq!(open(&SCHEMA, OPTIONS), Ok(()), "what was refused is as it was");
    }
}

#[test]
fn a_difference_is_shown_with_names() {
    let shown = |at: usize| {
        let (schema, difference) = cases()[at];
        difference.within(&schema).to_string()
    };
    assert_eq!(shown(0), "table 1, which the program does not have");
    assert_eq!(shown(3), "table 1, \"orders\"");
    assert_eq!(shown(4), "column 1 of table 0, \"label\" of \"customer\"");
    assert_eq!(shown(8), "column 3 of table 1, which \"order\" does not have");
    assert_eq!(shown(9), "index 1 of table 1, \"order\"");
    let opened = DbError::Mount(MountError::Schema(Difference::Ring { table: 1 }));
    assert_eq!(opened.to_string(), "the database was made otherwise: whether table 1 is a ring");
}
