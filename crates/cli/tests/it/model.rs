//! `flysch model` with the arguments of a user.

use std::collections::BTreeMap;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{complaint_of, output_of};

/// Values of the model that were computed without this project's code.
const REFERENCE: &str = include_str!("../../../../docs/reference/pbfilter-model.json");

fn by_label(json: &str) -> BTreeMap<String, Value> {
    let entries: Vec<Value> = serde_json::from_str(json).expect("a list of values");
    let entry = |entry: &Value| {
        (entry["label"].as_str().expect("a label").to_owned(), entry["value"].clone())
    };
    entries.iter().map(entry).collect()
}

#[test]
fn every_reference_value_is_dumped() {
    let folder = TempDir::new().unwrap();
    let dumped = by_label(&output_of(folder.path(), "model dump --format json"));
    let wanted = by_label(REFERENCE);
    assert_eq!(wanted.len(), 1690);
    for (label, value) in &wanted {
        let found = dumped.get(label).unwrap_or_else(|| panic!("{label} is missing"));
        match (value.as_f64(), found.as_f64()) {
            (Some(wanted), Some(found)) => {
                let off = (found - wanted).abs();
                assert!(off <= 1e-6 * wanted.abs(), "{label}: {found}, not {wanted}");
            }
            _ => assert_eq!(found, value, "{label}"),
        }
    }
    assert!(dumped.keys().eq(wanted.keys()), "labels that no reference value has");
}

#[test]
fn costs_follow_the_parameters() {
    let folder = TempDir::new().unwrap();
    let check = |arguments: &str, method: &str, wanted: &[(&str, f64)]| {
        let json = output_of(folder.path(), &format!("model costs --format json {arguments}"));
        let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
        let row = rows.iter().find(|row| row["method"] == method).expect("a row for the method");
        for (name, value) in wanted {
            let found = row[name].as_f64().unwrap();
            assert!((found - value).abs() <= 5e-4 * value, "{arguments} {name}: {found}");
        }
    };
    // Numbers that the text of the paper states.
    check("", "pbfilter", &[("r_pages", 10.0), ("w_pages", 49_413.0), ("ram_kb", 14.0)]);
    check("--list-max 30", "bftl2", &[("r_pages", 105.0), ("ram_kb", 2728.0)]);
    check("--chain-len 8", "skimpystash", &[("r_pages", 4.0)]);
    let large = "--method pbfilter --n 5000000 --bits-per-key 24 --hash-count 4";
    check(large, "pbfilter", &[("r_pages", 9.0)]);
    check(&format!("{large} --reading consistent"), "pbfilter", &[("r_pages", 17.5)]);
    // Beyond the paper: a page of a quarter of the size, and entries of half the size.
    let small = "--page-size 512 --key-size 4 --pointer-size 4 --buffers 8 --sectors 4 \
                 --partitions 4 --n 10000";
    check(small, "pbfilter", &[("ram_kb", 4.0), ("ir_pages", 48.0)]);
    let table = output_of(folder.path(), "model costs --method bftl2 --variables");
    assert!(table.contains("| bftl2  | 1000000 | Nc       |    10.000 |"), "{table}");
}

#[test]
fn bloom_filters_and_bitmaps_are_rated() {
    let folder = TempDir::new().unwrap();
    let csv = output_of(folder.path(), "model bloom --bits-per-key 16 --hash-count 7 --format csv");
    assert!(csv.contains("\n16,7,0.000701"), "{csv}");
    let csv = output_of(folder.path(), "model bitmap --format csv");
    assert!(csv.contains("\n16x16,30.0,1920.0,3.125,200.0,64.0\n"), "{csv}");
    let arguments = "model bitmap --tuples 4096 --page-size 512 --bases 3x5 --format csv";
    let csv = output_of(folder.path(), arguments);
    assert!(csv.contains("\n3x5,6.0,6.0,2.4"), "{csv}");
}

#[test]
fn nonsense_is_told_with_what_would_do() {
    let folder = TempDir::new().unwrap();
    let check = |arguments: &str, wanted: &str| {
        let line = complaint_of(folder.path(), arguments);
        assert!(line.contains(wanted), "{arguments}: {line}");
    };
    check("model costs --key-size 2000", "bytes of a key: 2000 is too large; at most 236");
    check("model costs --bits-per-key 300", "(d): 300 is too large; at most 128");
    check("model costs --partitions 2", "(L1): 2 is too small; 4 is enough");
    check("model costs --list-max 1", "(C): 1 is too small; 2 is enough");
    check("model costs --method btre", "did you mean 'btree'?");
    check("model bitmap --bases 1x5", "numbers from 2");
    check("model bitmap --page-size 0", "page-size");
}

#[test]
fn charts_are_numbers_and_a_page() {
    let folder = TempDir::new().unwrap();
    let csv = output_of(folder.path(), "model figure a,n --format csv --report charts.html");
    assert!(csv.contains("figure-12a,") && csv.contains(",pbfilter,10.0\n"), "{csv}");
    // With 16 bits per key, 6 and 7 hash functions are the best.
    assert!(csv.contains(",R,6.0,10.0\n") && csv.contains(",R,5.0,11.0\n"), "{csv}");
    let page = std::fs::read_to_string(folder.path().join("charts.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("http://localhost"));
    let again = output_of(folder.path(), "model figure a --report charts.html --force");
    assert!(again.contains("bftl1"), "{again}");
    let line = complaint_of(folder.path(), "model figure z");
    assert!(line.contains("no chart 'z'"), "{line}");
}

#[test]
fn an_index_is_chosen_or_what_would_do_is_told() {
    let folder = TempDir::new().unwrap();
    let first = |arguments: &str| {
        let json = output_of(folder.path(), &format!("model size --format json {arguments}"));
        let rows: Vec<Value> = serde_json::from_str(&json).unwrap();
        rows[0].clone()
    };
    let large = first("--n 1000000 --key-size 12 --part gemalto-vfl --ram 14336 --absent-share 0");
    assert_eq!(large["method"], "runs");
    assert!(large["ram_bytes"].as_u64().unwrap() <= 14_336);
    // A lookup of an absent key costs less than one of a present key, because it reads no record.
    let cost = |row: &Value| row["mean_ms"].as_f64().unwrap();
    let absent = first("--n 1000000 --absent-share 1 --lookups-per-insert 100");
    let present = first("--n 1000000 --absent-share 0 --lookups-per-insert 100");
    assert!(cost(&absent) < cost(&present), "{absent} {present}");
    // Twice the inserts halve the life of the flash. Longer records shorten it.
    let years = |arguments: &str| first(arguments)["years"].as_f64().unwrap();
    let once = years("--n 100000 --inserts-per-day 1000");
    assert!((once / years("--n 100000 --inserts-per-day 2000") - 2.0).abs() < 1e-9);
    assert!(years("--n 100000 --inserts-per-day 1000 --record-size 1000") < once);
    let check = |arguments: &str, wanted: &str| {
        let line = complaint_of(folder.path(), &format!("model size {arguments}"));
        assert!(line.contains(wanted), "{arguments}: {line}");
    };
    check("--n 1000000 --ram 300", "bytes are enough");
    check("--n 100000000 --ram 1000000", "the part has 1024");
    // A record of more than half a page has a page for itself.
    check("--n 100000 --record-size 1025 --part w25n01gv", "the part has 1024; ");
    check("--n 1000 --key-size 300", "at most 252");
    check("--n 1000 --part nosuch", "unknown part 'nosuch'");
    check("--n 1000 --absent-share 2", "a number from 0 to 1");
    check("--n 1000 --lookups-per-insert x", "a number from 0");
}

/// A row a second for ten years, keeping the newest days: one command has the answer.
#[test]
fn a_ring_of_days_is_sized_with_its_caveats() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let asked = "model size --per-day 86400 --part w25n01gv --record-size 40 --ram 32768";
    let table = output_of(folder.path(), &format!("{asked} --keep-days 5"));
    assert!(table.contains("The newest 5 days are kept"), "{table}");
    assert!(table.contains("86400 inserts a day on the whole of w25n01gv"), "{table}");
    let of_rows = output_of(folder.path(), &format!("{asked} --keep 432000"));
    let (days, rows) = ("newest 5 days", "newest 432000 records");
    assert_eq!(of_rows, table.replace(days, rows), "five days are as many records");
    let line = complaint_of(folder.path(), &format!("{asked} --keep 9000000"));
    assert!(line.contains("keys fit"), "{line}");
    let line = complaint_of(folder.path(), &format!("{asked} --keep 5 --n 5"));
    assert!(line.contains("cannot be used with"), "{line}");
    let line = complaint_of(folder.path(), &format!("{asked} --keep-days 90"));
    assert!(line.contains("keys fit: the newest ") && line.ends_with(" days"), "{line}");
    // What is said to fit does fit, and one more does not.
    for per_day in [86_000, 86_400] {
        let asked = asked.replace("86400", &per_day.to_string());
        let line = complaint_of(folder.path(), &format!("{asked} --keep-days 90"));
        let before = |words: &str| -> u32 {
            let head = line.split(words).next().expect("a part").trim_end();
            head.rsplit(' ').next().expect("a word").parse().expect("a number")
        };
        let (keys, days) = (before("keys fit"), before("days"));
        output_of(folder.path(), &format!("{asked} --n {keys}"));
        output_of(folder.path(), &format!("{asked} --keep-days {days}"));
        complaint_of(folder.path(), &format!("{asked} --n {}", keys + 1));
        complaint_of(folder.path(), &format!("{asked} --keep-days {}", days + 1));
    }
    let line = complaint_of(folder.path(), "model size --keep-days 36525 --per-day 4000000000");
    assert!(line.contains("keys; from 1 to"), "{line}");
}
