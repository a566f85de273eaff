//! Loads the initial rows into the engine, in transactions of `AT_ONCE` rows.

use flysch::db::{Db, Durability};
use flysch_nand::Nand;
use flysch_sqlite::Value as Cell;

use super::super::error::TpccError;
use super::super::load::{self, Sink};
use super::super::relation::Relation;
use super::super::scale::Scale;
use super::rows::{failed, insert};

/// Rows in each transaction.
const AT_ONCE: usize = 100;

/// Inserts rows, and commits after every [`AT_ONCE`] of them.
struct Loader<'d, 'ram, 's, N> {
    db: &'d mut Db<'ram, 's, N>,
    waiting: Vec<(Relation, Vec<Cell>)>,
    /// Number of rows of the history so far. It is the key of the last one.
    paid: i64,
}

impl<N: Nand> Loader<'_, '_, '_, N> {
    fn commit(&mut self) -> Result<(), TpccError> {
        let Some(&(relation, _)) = self.waiting.first() else { return Ok(()) };
        let mut transaction = self.db.begin().map_err(failed(relation))?;
        for (relation, row) in self.waiting.drain(..) {
            insert(&mut transaction, relation, &row)?;
        }
        transaction.commit(Durability::Durable).map_err(failed(relation))
    }
}

impl<N: Nand> Sink for Loader<'_, '_, '_, N> {
    fn insert(&mut self, relation: Relation, row: &[Cell]) -> Result<(), TpccError> {
        let mut row = row.to_vec();
        if relation == Relation::History {
            self.paid += 1;
            row.insert(0, Cell::Integer(self.paid));
        }
        self.waiting.push((relation, row));
        if self.waiting.len() >= AT_ONCE { self.commit() } else { Ok(()) }
    }
}

/// Fill an empty database with the same rows that SQLite gets for this seed.
///
/// # Errors
/// Fails if the engine fails.
pub fn load<N: Nand>(
    db: &mut Db<'_, '_, N>,
    scale: Scale,
    seed: u64,
    now_ms: i64,
) -> Result<(), TpccError> {
    let mut loader = Loader { db, waiting: Vec::new(), paid: 0 };
    load::rows(&mut loader, scale, seed, now_ms)?;
    loader.commit()
}
