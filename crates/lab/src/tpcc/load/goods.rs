//! The rows of items and of their stock.

use flysch_sqlite::Value;

use super::super::error::TpccError;
use super::super::query::{Compiler, values};
use super::super::random::Random;
use super::super::scale::{DISTRICTS, Scale};

pub(super) fn items(
    compiler: Compiler<'_>,
    random: &mut Random,
    scale: Scale,
) -> Result<(), TpccError> {
    let mut insert = compiler.query("INSERT INTO item VALUES (?, ?, ?, ?, ?)")?;
    for item in 1..=scale.items() {
        insert.execute(values![
            item,
            random.number(1, 10_000),
            random.text(14, 24).as_str(),
            random.number(100, 10_000),
            random.brand().as_str(),
        ])?;
    }
    Ok(())
}

/// Load the stock of a warehouse.
pub(super) fn stock(
    compiler: Compiler<'_>,
    random: &mut Random,
    warehouse: i64,
    scale: Scale,
) -> Result<(), TpccError> {
    let mut insert = compiler
        .query("INSERT INTO stock VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for item in 1..=scale.items() {
        let mut row = values![item, warehouse, random.number(10, 100)].to_vec();
        row.extend((0..DISTRICTS).map(|_| Value::from(random.text(24, 24).as_str())));
        row.extend_from_slice(values![0, 0, 0, random.brand().as_str()]);
        insert.execute(&row)?;
    }
    Ok(())
}
