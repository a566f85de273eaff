//! Every value of the model with a label, so that other programs can compare theirs.
//!
//! A label begins with the place in the paper: `fig12m/d=16/W`. Values are rounded to six decimals.
//! If a printed formula can be interpreted in several ways, each interpretation has its own label.

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

/// A value of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The place in the paper and the name of the value.
    pub label: String,
    /// A number, or a boolean.
    pub value: Value,
    /// What the paper says about the value, or how the interpretation differs from others.
    pub note: String,
}

/// All values of the model.
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

    /// Add all fields of a struct, each under its own name.
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

    /// Add a column of Table 5 under the paper's names.
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
