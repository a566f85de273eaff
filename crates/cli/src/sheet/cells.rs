//! Joins runs that differ only in their seed into one row: the mean of each figure, with its
//! standard deviation and 95 % confidence interval (Student's t).

use std::collections::BTreeMap;

use flysch_charts::statistics::Spread;
use serde_json::{Map, Value, json};

/// The field with the deviation and the interval of each figure.
pub(super) const SPREAD: &str = "spread";

/// Join rows for which `asked` returns the same parameters. The rows of a group then differ only in
/// their seed.
pub(super) fn by_cell(rows: &[Value], asked: impl Fn(&Value) -> Vec<String>) -> Vec<Value> {
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut cells: Vec<Vec<&Value>> = Vec::new();
    for row in rows {
        let place = *places.entry(asked(row)).or_insert(cells.len());
        if place == cells.len() {
            cells.push(Vec::new());
        }
        cells[place].push(row);
    }
    cells.iter().map(|rows| merged(rows)).collect()
}

/// One row for a group of rows. Rows without a result are ignored, unless none has one.
fn merged(rows: &[&Value]) -> Value {
    let done: Vec<&Value> = rows.iter().copied().filter(|row| row.get("error").is_none()).collect();
    let Some(first) = done.first() else { return rows[0].clone() };
    let mut spread = Map::new();
    let mut row = (*first).clone();
    if let Some(fields) = row.as_object_mut() {
        fields.remove("seed");
        for (name, value) in fields.iter_mut() {
            if name.starts_with("by_") || name == "parameters" || is_asked(name) {
                continue;
            }
            let of = |row: &Value| row.get(name.as_str()).cloned().unwrap_or(Value::Null);
            let all: Vec<Value> = done.iter().map(|row| of(row)).collect();
            merge(name, value, &all, &mut spread);
        }
        fields.insert("seeds".to_owned(), done.len().into());
        fields.insert(SPREAD.to_owned(), Value::Object(spread));
    }
    row
}

/// Whether a field is a parameter although it is a number.
fn is_asked(name: &str) -> bool {
    matches!(name, "record_size" | "requests" | "n" | "key_size" | "rows_per_key" | "updates")
}

/// Replace a number, or each number of an object, by the mean of `all`.
fn merge(name: &str, value: &mut Value, all: &[Value], spread: &mut Map<String, Value>) {
    if let Value::Object(fields) = value {
        for (field, inner) in fields.iter_mut() {
            let of = |row: &Value| row.get(field.as_str()).cloned().unwrap_or(Value::Null);
            let all: Vec<Value> = all.iter().map(of).collect();
            merge_number(&format!("{name}.{field}"), inner, &all, spread);
        }
        return;
    }
    merge_number(name, value, all, spread);
}

fn merge_number(name: &str, value: &mut Value, all: &[Value], spread: &mut Map<String, Value>) {
    let numbers: Vec<f64> = all.iter().filter_map(Value::as_f64).collect();
    if !value.is_number() || numbers.len() < 2 {
        return;
    }
    let spread_of = Spread::of(&numbers);
    if spread_of.sd > 0.0 {
        *value = spread_of.mean.into();
    }
    let (low, high) = spread_of.interval();
    let interval = json!({"sd": spread_of.sd, "ci95_low": low, "ci95_high": high});
    spread.insert(name.to_owned(), interval);
}

/// Half the width of a figure's interval, as a fraction of its mean. None if there is no interval.
pub(super) fn share(row: &Value, name: &str) -> Option<f64> {
    let of = row.get(SPREAD)?.get(name)?;
    let (low, high) = (of["ci95_low"].as_f64()?, of["ci95_high"].as_f64()?);
    let mean = f64::midpoint(low, high);
    (mean != 0.0 && high > low).then(|| (high - low) / 2.0 / mean.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_become_one_row() {
        let row = |on: &str, seed: u32, time: u32| {
            json!({"on": on, "seed": seed, "time_ns": time, "latency_ns": {"p50": time * 2},
                   "parameters": {"page-size": 1024}})
        };
        let rows = [row("a", 1, 10), row("b", 1, 7), row("a", 2, 14)];
        let cells = by_cell(&rows, |row| vec![row["on"].to_string()]);
        assert_eq!(cells.len(), 2);
        assert_eq!((&cells[0]["time_ns"], &cells[0]["seeds"]), (&json!(12.0), &json!(2)));
        assert_eq!(cells[0]["latency_ns"]["p50"], 24.0);
        assert_eq!(cells[0]["parameters"]["page-size"], 1024);
        assert!(share(&cells[0], "time_ns").is_some_and(|share| (share - 2.118).abs() < 1e-3));
        assert_eq!(share(&cells[1], "time_ns"), None);
    }
}
