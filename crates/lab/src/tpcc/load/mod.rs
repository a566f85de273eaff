//! The initial rows of a database (clause 4.3.3.1).

mod goods;
mod orders;
mod people;

use flysch_sqlite::{Database, Value};

use super::error::TpccError;
use super::query::{Compiler, Query};
use super::random::Random;
use super::relation::Relation;
use super::scale::Scale;
use super::schema;

/// Takes the rows that are loaded.
pub(super) trait Sink {
    fn insert(&mut self, relation: Relation, row: &[Value]) -> Result<(), TpccError>;
}

/// Inserts rows into an SQLite database, with one prepared statement for each table.
struct Inserts<'d>(Vec<Query<'d>>);

impl Sink for Inserts<'_> {
    fn insert(&mut self, relation: Relation, row: &[Value]) -> Result<(), TpccError> {
        self.0[relation as usize].execute(row)
    }
}

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
    let free = |_: &_, _: &_| {};
    let compiler = Compiler::new(database, &free);
    let inserts = Relation::ALL.map(|relation| compiler.query(relation.insert()));
    let mut inserts = Inserts(inserts.into_iter().collect::<Result<_, _>>()?);
    rows(&mut inserts, scale, seed, now_ms)?;
    drop(inserts);
    execute("COMMIT", "COMMIT")?;
    execute("CREATE INDEX", &schema::indexes(orders_schema))
}

/// Pass all rows to `sink`.
///
/// # Errors
/// Fails if the sink fails.
pub(super) fn rows(
    sink: &mut dyn Sink,
    scale: Scale,
    seed: u64,
    now_ms: i64,
) -> Result<(), TpccError> {
    let mut random = Random::of_load(seed);
    goods::items(sink, &mut random, scale)?;
    for warehouse in 1..=scale.last_warehouse() {
        people::warehouse(sink, &mut random, warehouse, scale)?;
        goods::stock(sink, &mut random, warehouse, scale)?;
        people::districts(sink, &mut random, warehouse, scale)?;
        people::customers(sink, &mut random, (warehouse, now_ms), scale)?;
        orders::orders(sink, &mut random, (warehouse, now_ms), scale)?;
    }
    Ok(())
}
