//! The rows of items and of their stock.

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::values;
use super::super::random::Random;
use super::super::relation::Relation;
use super::super::scale::{DISTRICTS, Scale};
use super::Sink;

pub(super) fn items(
    sink: &mut dyn Sink,
    random: &mut Random,
    scale: Scale,
) -> Result<(), TpccError> {
    for item in 1..=scale.items() {
        let row = values![
            item,
            random.number(1, 10_000),
            random.text(14, 24).as_str(),
            random.number(100, 10_000),
            random.brand().as_str(),
        ];
        sink.insert(Relation::Item, row)?;
    }
    Ok(())
}

/// Load the stock of a warehouse.
pub(super) fn stock(
    sink: &mut dyn Sink,
    random: &mut Random,
    warehouse: i64,
    scale: Scale,
) -> Result<(), TpccError> {
    for item in 1..=scale.items() {
        let mut row = values![item, warehouse, random.number(10, 100)].to_vec();
        row.extend((0..DISTRICTS).map(|_| Value::from(random.text(24, 24).as_str())));
        row.extend_from_slice(values![0, 0, 0, random.brand().as_str()]);
        sink.insert(Relation::Stock, &row)?;
    }
    Ok(())
}
