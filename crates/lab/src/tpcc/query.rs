//! Prepared statements whose CPU time is charged to the machine.

use flysch_sqlite::{Database, Prepared, Value, Work};

use super::error::TpccError;

/// Compiles statements of one database and charges the work of compiling and running them.
#[derive(Clone, Copy)]
pub struct Compiler<'d> {
    database: &'d Database,
    charge: &'d dyn Fn(&Work, &str),
}

/// A prepared statement whose work is charged.
pub(super) struct Query<'d> {
    prepared: Prepared<'d>,
    text: &'static str,
    charge: &'d dyn Fn(&Work, &str),
}

/// A row that a query returned.
pub(super) struct Row {
    values: Vec<Value>,
    text: &'static str,
}

/// Build the parameters of a query from anything that converts to a [`Value`].
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(::flysch_sqlite::Value::from($value)),*] };
}
pub(super) use values;

impl<'d> Compiler<'d> {
    /// A compiler for `database`. The work of each statement is passed to `charge`, with the
    /// text that was compiled.
    pub fn new(database: &'d Database, charge: &'d dyn Fn(&Work, &str)) -> Self {
        Self { database, charge }
    }

    /// Compile a statement and charge the work of it.
    pub(super) fn query(self, text: &'static str) -> Result<Query<'d>, TpccError> {
        let prepared = self.database.prepare(text);
        let prepared = prepared.map_err(|error| TpccError::Sqlite { statement: text, error })?;
        (self.charge)(&Work::default(), text);
        Ok(Query { prepared, text, charge: self.charge })
    }
}

impl Query<'_> {
    /// Run the statement and return all rows.
    pub(super) fn rows(&mut self, values: &[Value]) -> Result<Vec<Row>, TpccError> {
        let text = self.text;
        let answer = self.prepared.run(values);
        let answer = answer.map_err(|error| TpccError::Sqlite { statement: text, error })?;
        (self.charge)(&answer.work, "");
        Ok(answer.rows.into_iter().map(|values| Row { values, text }).collect())
    }

    /// Run the statement and return the first row, if there is one.
    pub(super) fn find(&mut self, values: &[Value]) -> Result<Option<Row>, TpccError> {
        Ok(self.rows(values)?.into_iter().next())
    }

    /// Run the statement and return the first row. It is an error if there is none.
    pub(super) fn fetch(&mut self, values: &[Value]) -> Result<Row, TpccError> {
        let text = self.text;
        self.find(values)?.ok_or(TpccError::Unexpected { statement: text })
    }

    /// Run the statement and ignore its rows.
    pub(super) fn execute(&mut self, values: &[Value]) -> Result<(), TpccError> {
        self.rows(values).map(drop)
    }
}

impl Row {
    /// The integer in a column.
    pub(super) fn integer(&self, column: usize) -> Result<i64, TpccError> {
        self.optional(column)?.ok_or(TpccError::Unexpected { statement: self.text })
    }

    /// The integer in a column that may be NULL.
    pub(super) fn optional(&self, column: usize) -> Result<Option<i64>, TpccError> {
        match self.values.get(column) {
            Some(Value::Integer(number)) => Ok(Some(*number)),
            Some(Value::Null) => Ok(None),
            _ => Err(TpccError::Unexpected { statement: self.text }),
        }
    }

    /// The text in a column.
    pub(super) fn text(&self, column: usize) -> Result<String, TpccError> {
        match self.values.get(column) {
            Some(Value::Text(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(TpccError::Unexpected { statement: self.text }),
        }
    }
}
