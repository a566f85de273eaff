//! The rows that a database has at first (clause 4.3.3.1).

mod goods;
mod orders;
mod people;

use flysch_sqlite::Database;

use super::error::TpccError;
use super::query::Compiler;
use super::random::Random;
use super::scale::Scale;
use super::schema;

/// Make the tables in an empty database, those of orders in the attached `orders_schema` (or
/// `main`), fill them in one transaction, and index them. The same seed gives the same rows.
/// `now_ms` is when customers came and orders were entered, milliseconds since 1970.
///
/// # Errors
/// SQLite's.
pub(super) fn load(
    database: &Database,
    orders_schema: &str,
    scale: Scale,
    seed: u64,
    now_ms: i64,
) -> Result<(), TpccError> {
    let execute = |statement, sql: &str| {
        let done = database.execute(sql).map(drop);
        done.map_err(|error| TpccError::Sqlite { statement, error })
    };
    execute("CREATE TABLE", &schema::tables(orders_schema))?;
    execute("BEGIN", "BEGIN")?;
    let free = |_: &_| {};
    let compiler = Compiler::new(database, &free);
    let mut random = Random::of_load(seed);
    goods::items(compiler, &mut random, scale)?;
    for warehouse in 1..=scale.last_warehouse() {
        people::warehouse(compiler, &mut random, warehouse, scale)?;
        goods::stock(compiler, &mut random, warehouse, scale)?;
        people::districts(compiler, &mut random, warehouse, scale)?;
        people::customers(compiler, &mut random, (warehouse, now_ms), scale)?;
        orders::orders(compiler, &mut random, (warehouse, now_ms), scale)?;
    }
    execute("COMMIT", "COMMIT")?;
    execute("CREATE INDEX", &schema::indexes(orders_schema))
}
