//! Checks the consistency conditions after a run on SQLite.

use flysch_sqlite::{Database, Value};

use super::condition::{Condition, Violation};
use super::error::TpccError;

/// All violations of one condition.
///
/// # Errors
/// Fails if SQLite fails.
pub fn violations(database: &Database, condition: Condition) -> Result<Vec<Violation>, TpccError> {
    let statement = condition.violations();
    let rows = database.query(statement);
    let rows = rows.map_err(|error| TpccError::Sqlite { statement, error })?;
    let integer = |value: &Value| match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    let violation = |row: Vec<Value>| {
        let numbers: Vec<Option<i64>> = row.iter().map(integer).collect();
        match numbers.as_slice() {
            [Some(warehouse), Some(district), found @ ..] => Ok(Violation {
                condition,
                warehouse: *warehouse,
                district: *district,
                found: found.to_vec(),
            }),
            _ => Err(TpccError::Unexpected { statement }),
        }
    };
    rows.into_iter().map(violation).collect()
}

/// Check all conditions.
///
/// # Errors
/// Returns the first violation, or the error of SQLite.
pub fn check(database: &Database) -> Result<(), TpccError> {
    for condition in Condition::ALL {
        if let Some(first) = violations(database, condition)?.into_iter().next() {
            return Err(TpccError::Inconsistent(first));
        }
    }
    Ok(())
}
