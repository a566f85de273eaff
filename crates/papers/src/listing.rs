//! Listings: tables of a paper, with measured values.

use serde_json::{Map, Value};

/// A table of names and numbers.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The item of the paper that it belongs to.
    pub item: &'static str,
    /// Name of its files without extension: letters, digits and hyphens.
    pub name: String,
    /// What the table shows.
    pub title: String,
    /// Names of the columns, with units.
    pub head: Vec<&'static str>,
    /// The cells: text, a number, or null for an empty cell.
    pub rows: Vec<Vec<Value>>,
}

impl Listing {
    /// The rows as objects, whose keys are the names of the columns.
    pub fn objects(&self) -> Vec<Map<String, Value>> {
        let object = |row: &Vec<Value>| {
            let names = self.head.iter().map(|&name| name.to_owned());
            names.zip(row.iter().cloned()).collect()
        };
        self.rows.iter().map(object).collect()
    }
}
