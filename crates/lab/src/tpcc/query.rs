//! Prepared statements whose work is charged.

use flysch_sqlite::{Database, Prepared, Value, Work};

use super::error::TpccError;

/// Compiles statements of one database, and charges their work.
#[derive(Clone, Copy)]
pub struct Compiler<'d> {
    database: &'d Database,
    charge: &'d dyn Fn(&Work),
}

/// A prepared statement.
pub(super) struct Query<'d> {
    prepared: Prepared<'d>,
    text: &'static str,
    charge: &'d dyn Fn(&Work),
}

/// A row of a query.
pub(super) struct Row {
    values: Vec<Value>,
    text: &'static str,
}

/// Values for the parameters of a query, from whatever a [`Value`] can be made of.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(::flysch_sqlite::Value::from($value)),*] };
}
pub(super) use values;

impl<'d> Compiler<'d> {
    /// Compile for `database`; each statement's work goes to `charge`.
    pub fn new(database: &'d Database, charge: &'d dyn Fn(&Work)) -> Self {
        Self { database, charge }
    }

    /// Compile a statement.
    pub(super) fn query(self, text: &'static str) -> Result<Query<'d>, TpccError> {
        let prepared = self.database.prepare(text);
        let prepared = prepared.map_err(|error| TpccError::Sqlite { statement: text, error })?;
        (self.charge)(&Work { sql_bytes: text.len() as u64, ..Work::default() });
        Ok(Query { prepared, text, charge: self.charge })
    }
}

impl Query<'_> {
    /// All rows.
    pub(super) fn rows(&mut self, values: &[Value]) -> Result<Vec<Row>, TpccError> {
        let text = self.text;
        let answer = self.prepared.run(values);
        let answer = answer.map_err(|error| TpccError::Sqlite { statement: text, error })?;
        (self.charge)(&answer.work);
        Ok(answer.rows.into_iter().map(|values| Row { values, text }).collect())
    }

    /// The first row, if there is one.
    pub(super) fn find(&mut self, values: &[Value]) -> Result<Option<Row>, TpccError> {
        Ok(self.rows(values)?.into_iter().next())
    }

    /// The first row, which must be there.
    pub(super) fn fetch(&mut self, values: &[Value]) -> Result<Row, TpccError> {
        let text = self.text;
        self.find(values)?.ok_or(TpccError::Unexpected { statement: text })
    }

    /// Run a statement that gives no rows.
    pub(super) fn execute(&mut self, values: &[Value]) -> Result<(), TpccError> {
        self.rows(values).map(drop)
    }
}

impl Row {
    /// The integer of a column.
    pub(super) fn integer(&self, column: usize) -> Result<i64, TpccError> {
        self.optional(column)?.ok_or(TpccError::Unexpected { statement: self.text })
    }

    /// The integer of a column that may be NULL.
    pub(super) fn optional(&self, column: usize) -> Result<Option<i64>, TpccError> {
        match self.values.get(column) {
            Some(Value::Integer(number)) => Ok(Some(*number)),
            Some(Value::Null) => Ok(None),
            _ => Err(TpccError::Unexpected { statement: self.text }),
        }
    }

    /// The text of a column.
    pub(super) fn text(&self, column: usize) -> Result<String, TpccError> {
        match self.values.get(column) {
            Some(Value::Text(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(TpccError::Unexpected { statement: self.text }),
        }
    }
}
