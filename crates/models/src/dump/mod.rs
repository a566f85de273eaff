//! Every value of the model by its label, for other programs to check theirs against.
//!
//! A label reads from the place in the paper down: `fig12m/d=16/W`. Values are rounded to six
//! decimals. Where the printed formulas can be read in several ways, each way has a label.

mod comparison;
mod growth;
mod layouts;
mod queries;
mod tuning;

pub(super) use queries::{BITMAP_PAGES, SELECTIVITIES, TABLE_PAGES, UPDATE_RATES, updates};
pub(super) use tuning::BITS_PER_KEY;

use serde::Serialize;
use serde_json::Value;

use super::Costs;

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Where it belongs.
    pub label: String,
    /// A number, or whether something holds.
    pub value: Value,
    /// What the text of the paper says, or how a reading differs.
    pub note: String,
}

/// All values.
pub fn values() -> Vec<Entry> {
    let mut entries = Entries(Vec::new());
    comparison::put(&mut entries);
    tuning::put(&mut entries);
    growth::put(&mut entries);
    queries::put(&mut entries);
    layouts::put(&mut entries);
    entries.0
}

struct Entries(Vec<Entry>);

impl Entries {
    fn put(&mut self, label: impl Into<String>, value: f64) {
        self.put_noted(label, value, "");
    }

    fn put_noted(&mut self, label: impl Into<String>, value: f64, note: &str) {
        let rounded = (value * 1e6).round() / 1e6;
        self.0.push(Entry { label: label.into(), value: rounded.into(), note: note.to_owned() });
    }

    /// All fields of something, each by its own name.
    fn put_fields(&mut self, place: &str, fields: &impl Serialize) {
        let value = serde_json::to_value(fields).expect("numbers have JSON values");
        let Value::Object(fields) = value else { unreachable!("fields have names") };
        for (name, value) in fields {
            let label = format!("{place}/{name}");
            match value.as_f64() {
                Some(number) => self.put(label, number),
                None => self.0.push(Entry { label, value, note: String::new() }),
            }
        }
    }

    /// A column of Table 5, by the paper's names.
    fn put_costs(&mut self, place: &str, costs: &Costs, note: &str) {
        for (name, value) in [
            ("R", costs.r_pages),
            ("IR", costs.ir_pages),
            ("W", costs.w_pages),
            ("RAM", costs.ram_kb),
            ("VP", costs.vp_pages),
            ("OP", costs.op_pages),
        ] {
            self.put_noted(format!("{place}/{name}"), value, note);
        }
    }
}
