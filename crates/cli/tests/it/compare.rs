//! `flysch compare` with the arguments of a new user.

use std::fs;

use serde_json::Value;

use crate::command::{Finished, complaint_of, flysch, output_of};

/// A small comparison: two workloads and two numbers of requests on every stack.
const SMALL: &str =
    "compare --platform nandsim-6.1 --workload insert,select --requests 20,40 --fill 50";

#[test]
fn a_comparison_is_a_table_and_a_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = output_of(folder.path(), SMALL);
    let is_row = |line: &&str| line.starts_with("insert ") || line.starts_with("select ");
    let rows: Vec<&str> = table.lines().filter(is_row).collect();
    let stacks = [
        "sqlite/jffs2",
        "sqlite/jffs2+pramfs",
        "sqlite/yaffs2",
        "sqlite/yaffs2+pramfs",
        "sqlite/ubifs",
        "sqlite/ubifs+pramfs",
        "sqlite/ftl",
        "sqlite/tmpfs",
        "flysch",
    ];
    assert_eq!(rows.len(), 2 * stacks.len(), "the largest of each workload and stack: {table}");
    assert!(stacks.iter().all(|stack| table.contains(stack)), "{table}");
    assert!(table.ends_with("\nreport: report.html\n"), "{table}");
    let page = fs::read_to_string(folder.path().join("report.html")).expect("it was written");
    assert!(page.contains("<svg") && !page.contains("http-equiv") && !page.contains("src="));

    let json = output_of(folder.path(), &format!("{SMALL} --format json"));
    let runs: Vec<Value> = serde_json::from_str(&json).expect("a list of objects");
    assert_eq!(runs.len(), 2 * 2 * stacks.len());
    let csv = output_of(folder.path(), &format!("{SMALL} --format csv --on sqlite/jffs2"));
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "{csv}");
    assert!(
        csv.starts_with("workload,on,platform,part,record_size,requests,seed,time_ns,"),
        "{csv}"
    );
}

#[test]
fn the_same_comparison_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pages = ["a.html", "b.html"].map(|name| {
        let json = output_of(folder.path(), &format!("{SMALL} --format json --report {name}"));
        (json, fs::read(folder.path().join(name)).expect("it was written"))
    });
    assert!(pages[0] == pages[1], "two runs of one command differ");
}

#[test]
fn a_report_is_replaced_only_where_it_is_ours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("report.html");
    fs::write(&path, "<!doctype html>mine").expect("a writable folder");
    let line = complaint_of(folder.path(), SMALL);
    assert!(line.contains("report.html: exists; --force replaces it"), "{line}");
    assert_eq!(fs::read(&path).expect("it stays"), b"<!doctype html>mine");
    output_of(folder.path(), &format!("{SMALL} --force"));
    let first = fs::read(&path).expect("it was replaced");
    output_of(folder.path(), &format!("{SMALL} --seed 2"));
    assert_ne!(fs::read(&path).expect("it was replaced again"), first);
}

#[test]
fn bad_input_gets_one_line_and_no_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = [
        ("--workload inset", "did you mean 'insert'?"),
        ("--on flysh", "unknown stack 'flysh'"),
        ("--platform apf27-2.6.28", "did you mean 'apf27-2.6.29'?"),
        ("--partition-blocks 5000", "does not fit on part"),
        ("--partition-blocks 6 --requests 1000 --on sqlite/jffs2", "SQLITE_FULL"),
        ("--report missing/report.html", "cannot be written"),
        ("--report .", "not a regular file"),
        ("insert", "unexpected argument 'insert'"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("compare {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
        let left = fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(left, 0, "{arguments}");
    }
}

#[test]
fn the_engine_stands_beside_sqlite_as_far_as_it_takes_the_workloads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cases = [
        ("--workload join --requests 20 --fill 50", true),
        ("--workload insert --requests 5 --nvram-files all", true),
        ("--workload select --requests 20 --fill 50 --aged-fill 10", false),
        ("--workload select --requests 20 --fill 50 --on sqlite/tmpfs", false),
        ("--workload logger --requests 10 --fill 50 --record-size 40", true),
        ("--workload mount --requests 10 --fill 50 --record-size 40", true),
    ];
    for (arguments, is_there) in cases {
        let finished = flysch(folder.path(), &format!("compare {arguments}"));
        let Finished { code, stdout: table, stderr } = finished;
        assert_eq!(code, Some(0), "{arguments}: {stderr}");
        assert_eq!(table.contains(" flysch "), is_there, "{arguments}: {table}");
        let is_told =
            stderr == "flysch: flysch is not compared: it has no files of others beside it\n";
        assert_eq!(is_told, arguments.contains("--aged-fill"), "{arguments}: {stderr}");
    }
}

#[test]
fn the_best_is_an_answer_and_no_floor() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = output_of(folder.path(), SMALL);
    let (answers, others) = table.split_once("For comparison only").expect("two tables");
    for name in ["sqlite/tmpfs", "+pramfs"] {
        assert!(!answers.contains(name) && others.contains(name), "{table}");
    }
    assert!(answers.contains("  1.00  "), "{answers}");
    let json = output_of(folder.path(), &format!("{SMALL} --format json"));
    let runs: Vec<Value> = serde_json::from_str(&json).expect("a list of objects");
    for run in &runs {
        let (time, ratio) = (run["time_ns"].as_f64(), run["times_best"].as_f64());
        let best = time.zip(ratio).map(|(time, ratio)| time / ratio).expect("numbers");
        let same =
            |other: &&Value| ["workload", "requests"].iter().all(|name| other[name] == run[name]);
        let answers = runs.iter().filter(same).filter(|other| other["standing"] == "answer");
        let least = answers.filter_map(|it| it["time_ns"].as_f64()).fold(f64::INFINITY, f64::min);
        assert!((best - least).abs() < 1.0, "{run}");
    }
    let of = |on: &str| runs.iter().find(|run| run["on"] == on).expect("a run").clone();
    assert_eq!(of("sqlite/tmpfs")["standing"], "floor");
    assert_eq!(of("sqlite/ubifs+pramfs")["standing"], "needs_nvram");
    let page = fs::read_to_string(folder.path().join("report.html")).expect("it was written");
    assert!(!page.contains("Fastest:</b> <b>sqlite/tmpfs"), "a floor is no answer");
    assert!(page.contains("sqlite/tmpfs"), "it is shown");
}

/// Figures in a file have another beside them that tells where they come from, and the seeds are
/// intervals in the charts.
#[test]
fn a_file_of_figures_tells_where_it_comes_from() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let command = format!("{SMALL} --seed 1,2 --on sqlite/jffs2 --format csv --out a.csv");
    assert_eq!(output_of(folder.path(), &command), "");
    let csv = fs::read_to_string(folder.path().join("a.csv")).expect("it was written");
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * 2, "{csv}");
    let provenance = fs::read(folder.path().join("a.csv.provenance.json")).expect("it was written");
    let provenance: Value = serde_json::from_slice(&provenance).expect("JSON");
    assert!(
        provenance["command"].as_str().is_some_and(|it| it.contains("--seed 1,2")),
        "{provenance}"
    );
    let page = fs::read_to_string(folder.path().join("report.html")).expect("it was written");
    assert!(page.contains("class=\"band c0\"") && page.contains("class=\"interval\""));
    let line = complaint_of(folder.path(), &format!("{SMALL} --out same --report same"));
    assert!(line.contains("two outputs"), "{line}");
}
