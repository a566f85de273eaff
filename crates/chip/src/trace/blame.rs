//! Blame: the tables and statements that each event of a trace is for.

use super::cargo::Cargo;

/// The table, index or other content that bytes of a file belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    /// `table`, `index`, `schema`, `free list`, ...
    pub kind: String,
    /// The name of the table or index. Empty for other content.
    pub name: String,
    /// The table that an index belongs to, or the table itself.
    pub table: String,
    /// The kind of file that the bytes lie in: `database`, `journal` or `wal`.
    pub file: String,
}

/// The tables and statements that events are for. An event may have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    pub tables: Vec<TableName>,
    /// The tables that each event is for, with weights. A table is named by its index in the list
    /// of tables.
    pub of_tables: Cargo,
    pub statements: Vec<String>,
    /// The statements that each event is for, with weights, if it is not for the statement that
    /// ran. A statement is named by its index in the list of statements.
    pub of_statements: Cargo,
    /// How often each statement was executed, by its index in the list of statements.
    pub executions: Vec<u64>,
}

impl Blame {
    /// Whether neither tables nor statements are known.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.statements.is_empty()
    }
}
