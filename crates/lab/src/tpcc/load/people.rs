//! The rows of warehouses, districts, customers and their payments.

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::values;
use super::super::random::Random;
use super::super::relation::Relation;
use super::super::scale::{DISTRICTS, Scale};
use super::Sink;

/// What each customer has paid at the start, in cents.
const PAID: i64 = 1_000;
/// Credit limit of each customer in cents.
const CREDIT_LIMIT: i64 = 5_000_000;

/// What the customers of a district have paid at the start, in cents: 30,000.00 at full size.
const fn paid_in_district(scale: Scale) -> i64 {
    scale.customers() * PAID
}

/// A random address: two street lines, city, state and zip code.
fn address(random: &mut Random) -> [Value; 5] {
    [random.text(10, 20), random.text(10, 20), random.text(10, 20), random.text(2, 2), random.zip()]
        .map(|text| Value::from(text.as_str()))
}

/// Load the row of a warehouse.
pub(super) fn warehouse(
    sink: &mut dyn Sink,
    random: &mut Random,
    warehouse: i64,
    scale: Scale,
) -> Result<(), TpccError> {
    let mut row = values![warehouse, random.text(6, 10).as_str()].to_vec();
    row.extend(address(random));
    row.extend_from_slice(values![random.number(0, 2_000), DISTRICTS * paid_in_district(scale)]);
    sink.insert(Relation::Warehouse, &row)
}

/// Load the districts of a warehouse.
pub(super) fn districts(
    sink: &mut dyn Sink,
    random: &mut Random,
    warehouse: i64,
    scale: Scale,
) -> Result<(), TpccError> {
    for district in 1..=DISTRICTS {
        let mut row = values![district, warehouse, random.text(6, 10).as_str()].to_vec();
        row.extend(address(random));
        let (tax, next_order) = (random.number(0, 2_000), scale.customers() + 1);
        row.extend_from_slice(values![tax, paid_in_district(scale), next_order]);
        sink.insert(Relation::District, &row)?;
    }
    Ok(())
}

/// Load the customers of a warehouse, each with one row of history.
pub(super) fn customers(
    sink: &mut dyn Sink,
    random: &mut Random,
    (warehouse, now_ms): (i64, i64),
    scale: Scale,
) -> Result<(), TpccError> {
    for district in 1..=DISTRICTS {
        for id in 1..=scale.customers() {
            let row = customer_row(random, [id, district, warehouse], now_ms, scale);
            sink.insert(Relation::Customer, &row)?;
            let row = values![
                id,
                district,
                warehouse,
                district,
                warehouse,
                now_ms,
                PAID,
                random.text(12, 24).as_str(),
            ];
            sink.insert(Relation::History, row)?;
        }
    }
    Ok(())
}

/// The row of a customer. One in ten customers has bad credit.
fn customer_row(
    random: &mut Random,
    [id, district, warehouse]: [i64; 3],
    now_ms: i64,
    scale: Scale,
) -> Vec<Value> {
    let mut row = values![
        id,
        district,
        warehouse,
        random.text(8, 16).as_str(),
        "OE",
        random.loaded_last_name(id, scale.customers()).as_str(),
    ]
    .to_vec();
    row.extend(address(random));
    row.extend_from_slice(values![
        random.digits(16).as_str(),
        now_ms,
        if random.happens(10) { "BC" } else { "GC" },
        CREDIT_LIMIT,
        random.number(0, 5_000),
        -PAID,
        PAID,
        1,
        0,
        random.text(300, 500).as_str(),
    ]);
    row
}
