//! The rows that a database has at the start (clause 4.3.3.1).

mod goods;
mod orders;
mod people;

use flysch_sqlite::Database;

use super::error::TpccError;
use super::query::Compiler;
use super::random::Random;
use super::scale::Scale;
use super::schema;

/// Make the tables in an empty database, fill them in one transaction, and index them. The tables
/// of orders go to `orders_schema`, which is `main` or an attached file. The same seed gives the
/// same rows. Customers and orders get the time `now_ms`, in milliseconds since 1970.
///
/// # Errors
/// Fails if SQLite fails.
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
