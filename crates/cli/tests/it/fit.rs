//! `flysch model fit` and `predict` on runs of `flysch bench`.

use std::fs;

use serde_json::Value;

use crate::command::{complaint_of, output_of};

const BENCH: &str = "bench insert,select --on sqlite/jffs2,sqlite/ubifs --record-size 150,600 \
                     --requests 20..200:60 --fill 200 --format csv --out runs.csv";

#[test]
fn a_fitted_model_predicts_runs_that_were_not_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    output_of(folder.path(), BENCH);
    let csv = output_of(folder.path(), "model fit runs.csv --format csv");
    assert!(csv.starts_with("workload,on,platform,cost,runs,form,error_percent,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 * 2 * 4, "{csv}");
    let predict = "model predict model.json --workload insert --on sqlite/ubifs --requests 100,170 \
                   --record-size 600 --format json";
    let predicted: Vec<Value> =
        serde_json::from_str(&output_of(folder.path(), predict)).expect("a list of objects");
    let bench = "bench insert --on sqlite/ubifs --requests 100,170 --record-size 600 --format json";
    let runs: Vec<Value> =
        serde_json::from_str(&output_of(folder.path(), bench)).expect("a list of objects");
    for (predicted, run) in predicted.iter().zip(&runs) {
        for cost in ["time_ns", "page_programs"] {
            let [one, other] = [predicted, run].map(|it| it[cost].as_f64().expect("a number"));
            assert!((one - other).abs() < other * 0.1, "{cost}: {one}, measured {other}");
        }
        assert_eq!(predicted["is_extrapolated"], false);
    }
    let again = output_of(folder.path(), "model fit runs.csv --format csv --out again.json");
    assert_eq!(again, csv);
    let saved = |name| fs::read(folder.path().join(name)).expect("saved");
    assert_eq!(saved("model.json"), saved("again.json"));
}

#[test]
fn bad_input_gets_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let head = "workload,on,platform,record_size,requests,time_ns,page_reads";
    let whole = format!("{head},page_programs,block_erases");
    let few = format!("{whole}\ninsert,a,b,600,1,2,3,4,5\n");
    let files = [
        ("short.csv", format!("{head}\n")),
        ("few.csv", few),
        ("word.csv", format!("{whole}\ninsert,a,b,600,many,2,3,4,5\n")),
        ("models.json", "{}".to_owned()),
    ];
    for (name, text) in &files {
        fs::write(folder.path().join(name), text).expect("a writable folder");
    }
    let cases = [
        ("fit short.csv", "short.csv: no column page_programs, block_erases"),
        ("fit few.csv", "6 runs or more, and these are 1"),
        ("fit word.csv", "line 2: requests 'many'"),
        ("fit missing.csv", "missing.csv: No such file"),
        ("fit few.csv --out models.json", "exists; --force replaces it"),
        ("predict models.json --workload a --on b --requests 1 --record-size 1", "no saved models"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("model {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
        let left = fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(left, files.len(), "{arguments}");
    }
}
