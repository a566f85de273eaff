//! Blame: which table, and which statement, each event of a trace is for.

use super::cargo::Cargo;

/// What bytes of a database belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    /// `table`, `index`, `schema`, `free list`, ...
    pub kind: String,
    /// Its own name; empty if it has none.
    pub name: String,
    /// The table that an index belongs to, or the table itself.
    pub table: String,
    /// The kind of file that the bytes lie in: `database`, `journal` or `wal`.
    pub file: String,
}

/// Tables and statements of the events. Without any, an event is for nobody in particular.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    pub tables: Vec<TableName>,
    /// The shares of each event in the tables, by place in the list of tables.
    pub of_tables: Cargo,
    pub statements: Vec<String>,
    /// The shares of each event in the statements that caused it, if it is not for the one that
    /// ran, by place in the list of statements.
    pub of_statements: Cargo,
    /// How often each statement was executed, by place in the list of statements.
    pub executions: Vec<u64>,
}

impl Blame {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.statements.is_empty()
    }
}
