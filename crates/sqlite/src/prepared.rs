//! Statements that are compiled once and run many times.

use std::ffi::c_int;

use libsqlite3_sys as sqlite;

use crate::error::Error;
use crate::ffi::statement::Statement;
use crate::value::{Value, Work};

/// A compiled statement of a [`Database`](crate::Database). Dropping it frees it.
pub struct Prepared<'d> {
    statement: Statement<'d>,
}

/// The result of one run of a prepared statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The rows in the order in which SQLite returned them.
    pub rows: Vec<Vec<Value>>,
    /// The work of the run.
    pub work: Work,
}

impl<'d> Prepared<'d> {
    pub(crate) fn new(statement: Statement<'d>) -> Self {
        Self { statement }
    }

    /// Run the statement to its end. `values` holds one value for each parameter, in order.
    ///
    /// # Errors
    /// The error of SQLite, or `SQLITE_RANGE` if the number of values is not the number of
    /// parameters.
    pub fn run(&mut self, values: &[Value]) -> Result<Answer, Error> {
        let wanted = self.statement.parameter_count();
        if values.len() != wanted {
            let message = format!("{} values for {wanted} parameters", values.len());
            return Err(Error::new(sqlite::SQLITE_RANGE, message));
        }
        let statement = &mut self.statement;
        statement.connection().run(|_| {
            let answer = step_through(statement, values);
            statement.reset();
            answer
        })
    }
}

fn step_through(statement: &mut Statement<'_>, values: &[Value]) -> Result<Answer, Error> {
    for (number, value) in (1 as c_int..).zip(values) {
        statement.bind(number, value)?;
    }
    let mut rows = Vec::new();
    while statement.step()? {
        rows.push(statement.row());
    }
    let vm_steps = statement.take_vm_steps();
    let pages = statement.connection().take_pages();
    let work = Work {
        statements: 1,
        rows: rows.len() as u64,
        vm_steps,
        pages,
        bound: values.len() as u64,
        values: rows.iter().map(|row: &Vec<Value>| row.len() as u64).sum(),
        ..Work::default()
    };
    Ok(Answer { rows, work })
}
