//! `flysch repro` and the folder that it writes.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::command::{complaint_of, output_of};

#[test]
fn a_folder_has_pages_series_and_a_summary() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = output_of(folder.path(), "repro 000 --item table-1 --format json --quick");
    let printed: Vec<Value> = serde_json::from_str(&json).expect("a list of objects");
    let text = fs::read_to_string(folder.path().join("repro/summary.json")).expect("written");
    assert_eq!(text, json, "what is printed is what is written");
    let names = ["paper", "item", "claim", "paper_value", "measured", "band", "verdict", "note"];
    for row in &printed {
        let object = row.as_object().expect("a row is an object");
        let found: BTreeSet<&str> = object.keys().map(String::as_str).collect();
        assert_eq!(found, BTreeSet::from(names));
        assert_eq!((&row["paper"], &row["item"]), (&"000".into(), &"table-1".into()));
        let verdicts = ["reproduced", "shape", "not reproduced"];
        assert!(verdicts.contains(&row["verdict"].as_str().expect("text")), "{row}");
    }
    let csv = fs::read_to_string(folder.path().join("repro/summary.csv")).expect("written");
    assert!(csv.starts_with(&(names.join(",") + "\n")), "{csv}");
    let page = fs::read_to_string(folder.path().join("repro/000.html")).expect("written");
    assert!(page.contains("id=\"table-1\"") && !page.contains("src="), "{page}");
    assert!(page.contains("Fitted constants"), "{page}");
}

/// What Figure 16 shows of `PBFilter`: it is four times faster than scanning the summary and a
/// hundred times faster than scanning the keys. With ten times the tuples it is hardly slower.
#[test]
fn pbfilter_is_faster_than_scans() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = output_of(folder.path(), "repro 004 --item table-1,figure-16 --format json --quick");
    let rows: Vec<Value> = serde_json::from_str(&json).expect("a list of objects");
    let measured = |claim: &str| {
        let row = rows.iter().find(|row| row["claim"].as_str().is_some_and(|c| c.contains(claim)));
        row.unwrap_or_else(|| panic!("no {claim}: {json}"))["measured"].as_f64().expect("a number")
    };
    assert!(measured("than scanning SKA") >= 4.0, "{json}");
    assert!(measured("than scanning KA") >= 100.0, "{json}");
    assert!(measured("growth of PBFilter") <= 1.6, "{json}");
    assert!(measured("17 false positive rates").abs() < 0.5, "{json}");
    let work =
        fs::read_to_string(folder.path().join("repro/004/figure-16-work.csv")).expect("written");
    assert!(work.starts_with("structure,tuples,reads,"), "{work}");
}

#[test]
fn the_papers_and_their_items_are_listed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let csv = output_of(folder.path(), "repro --format csv");
    assert!(csv.starts_with("paper,item,title\n000,table-1,"), "{csv}");
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0);
}

#[test]
fn a_folder_is_written_again_only_where_it_is_ours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let command = "repro 000 --item table-1 --out out --quick";
    fs::create_dir(folder.path().join("out")).expect("a writable folder");
    let line = complaint_of(folder.path(), command);
    assert_eq!(line, "flysch: out: exists; --force writes into it");
    let first = output_of(folder.path(), &format!("{command} --force"));
    assert!(first.contains("| table-1 |") && first.ends_with("report: out/index.html\n"));
    let page = fs::read(folder.path().join("out/000.html")).expect("written");
    assert_eq!(output_of(folder.path(), command), first, "our own, and the same once more");
    assert_eq!(fs::read(folder.path().join("out/000.html")).expect("written"), page);
}

#[test]
fn bad_input_gets_one_line_and_no_folder() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("file"), "mine").expect("a writable folder");
    let cases = [
        ("005", "unknown paper '005'"),
        ("al", "did you mean 'all'?"),
        ("000 --item tabel-1", "did you mean 'table-1'?"),
        ("--item table-1", "<PAPER>"),
        ("000 --out file", "file: is not a folder"),
        ("000 --out missing/out", "cannot be written"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("repro {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1, "{arguments}");
    }
}

/// Several seeds are means with intervals, in the files of figures and in the claims.
#[test]
fn seeds_have_intervals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let csv = output_of(
        folder.path(),
        "repro 000 --item flush-threshold --quick --seeds 2 --format csv --out seeds",
    );
    assert!(csv.lines().next().is_some_and(|head| head.ends_with(",sd,ci95_low,ci95_high")));
    let files = fs::read_dir(folder.path().join("seeds/000")).expect("it was written");
    let series: Vec<String> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .map(|path| fs::read_to_string(path).expect("text"))
        .collect();
    let is_told =
        |text: &String| text.starts_with("panel,series,source,x,y,sd,ci95_low,ci95_high\n");
    assert!(!series.is_empty() && series.iter().all(is_told), "{series:?}");
    let mut spread = 0;
    for line in series.iter().flat_map(|text| text.lines().skip(1)) {
        let end: Vec<&str> = line.rsplitn(5, ',').collect();
        let [high, low, _, mean] = [end[0], end[1], end[2], end[3]].map(str::parse::<f64>);
        if let (Ok(high), Ok(low), Ok(mean)) = (high, low, mean) {
            assert!(low <= mean && mean <= high, "{line}");
            spread += u32::from(low < high);
        }
    }
    assert!(spread > 0, "{series:?}");
    let page = fs::read_to_string(folder.path().join("seeds/000.html")).expect("written");
    assert!(page.contains("class=\"band c0\""));
}
