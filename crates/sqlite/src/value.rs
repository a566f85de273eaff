//! Values of rows and parameters, and the work that statements took.

/// A value of a row. Text need not be UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Real(f64),
    /// Text, as its bytes.
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// Counts of the work that statements took. With a fixed price for each unit, the CPU time is
/// reproducible.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Work {
    /// Statements compiled and run.
    pub statements: u64,
    /// Instructions of SQLite's virtual machine.
    pub vm_steps: u64,
    /// Rows returned.
    pub rows: u64,
    /// Columns of the results that were compiled.
    pub columns: u64,
    /// Pages that SQLite asked its cache for and found there.
    pub pages: u64,
    /// Values given to the parameters of statements that were compiled before.
    pub bound: u64,
    /// Values of rows that were handed over.
    pub values: u64,
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().to_vec())
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.statements += other.statements;
        self.vm_steps += other.vm_steps;
        self.rows += other.rows;
        self.columns += other.columns;
        self.pages += other.pages;
        self.bound += other.bound;
        self.values += other.values;
    }
}
