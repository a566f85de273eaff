//! The output files: pages, data of figures and tables as CSV and JSON, and the summary.

use std::path::{Path, PathBuf};

use flysch_charts::figure::Figure;
use flysch_charts::page;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::claim::Row;
use super::listing::Listing;
use super::page::{index_page, paper_page};
use super::paper::Findings;

/// The page with links to the others. If a folder contains it, this program wrote the folder.
const INDEX: &str = "index.html";

/// The columns of `summary.csv`: the fields of [`Row`].
const COLUMNS: [&str; 8] =
    ["paper", "item", "claim", "paper_value", "measured", "band", "verdict", "note"];

/// Further columns of a summary that was measured with several seeds.
const SPREAD: [&str; 3] = ["sd", "ci95_low", "ci95_high"];

/// The columns of the summary of these rows.
pub fn columns(rows: &[Row]) -> Vec<&'static str> {
    let mut columns = COLUMNS.to_vec();
    if rows.iter().any(|row| row.interval.is_some()) {
        columns.extend(SPREAD);
    }
    columns
}

/// A file to write: its path in the output folder, and its content.
pub type File = (PathBuf, Vec<u8>);

/// Whether this program wrote the folder, so that it may be replaced.
pub fn is_own(folder: &Path) -> bool {
    page::is_own(&folder.join(INDEX))
}

/// All files for these findings.
pub fn files(all: &[Findings]) -> Vec<File> {
    let rows: Vec<Row> = all.iter().flat_map(Findings::rows).collect();
    let mut files = vec![
        ("summary.json".into(), json_bytes(&rows)),
        ("summary.csv".into(), csv_bytes(&columns(&rows), &objects(&rows))),
    ];
    for findings in all {
        let number = findings.paper.number;
        files.push((format!("{number}.html").into(), paper_page(findings).into_bytes()));
        for figure in &findings.evidence.figures {
            files.extend(figure_files(Path::new(number), figure));
        }
        for listing in &findings.evidence.listings {
            files.extend(listing_files(Path::new(number), listing));
        }
    }
    files.push((INDEX.into(), index_page(all).into_bytes()));
    files
}

fn figure_files(folder: &Path, figure: &Figure) -> [File; 2] {
    let data = figure.data();
    let axes = |panel: &flysch_charts::figure::Panel| json!({"panel": panel.title, "x": panel.x.name, "y": panel.y.name});
    let axes: Vec<Value> = figure.panels.iter().map(axes).collect();
    let whole = json!({
        "item": figure.item, "title": figure.title, "caption": figure.caption, "panels": axes,
        "data": data,
    });
    let mut columns = vec!["panel", "series", "source", "x", "y"];
    if data.iter().any(|datum| datum.interval.is_some()) {
        columns.extend(SPREAD);
    }
    pair(folder, &figure.name, csv_bytes(&columns, &objects(&data)), json_bytes(&whole))
}

fn listing_files(folder: &Path, listing: &Listing) -> [File; 2] {
    let rows = listing.objects();
    let whole = json!({"item": listing.item, "title": listing.title, "rows": rows});
    pair(folder, &listing.name, csv_bytes(&listing.head, &rows), json_bytes(&whole))
}

fn pair(folder: &Path, name: &str, csv: Vec<u8>, json: Vec<u8>) -> [File; 2] {
    [(folder.join(format!("{name}.csv")), csv), (folder.join(format!("{name}.json")), json)]
}

fn json_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("findings have JSON values");
    bytes.push(b'\n');
    bytes
}

fn objects<T: Serialize>(rows: &[T]) -> Vec<Map<String, Value>> {
    let object = |row| match serde_json::to_value(row) {
        Ok(Value::Object(object)) => object,
        other => unreachable!("a row is an object, not {other:?}"),
    };
    rows.iter().map(object).collect()
}

fn csv_bytes(columns: &[&str], rows: &[Map<String, Value>]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).expect("memory takes what is written");
    for row in rows {
        let cells = columns.iter().map(|&column| match row.get(column) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        });
        writer.write_record(cells).expect("memory takes what is written");
    }
    writer.into_inner().expect("memory takes what is written")
}
