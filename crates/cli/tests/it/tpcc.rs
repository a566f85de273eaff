//! `flysch bench tpcc` with the arguments of a user. The databases have a hundredth of the
//! specification's size.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::{complaint_of, output_of};

const SMALL: &str = "--scale-divisor 100 --partition-blocks 64";
const HYBRID: &str = "--on sqlite/yaffs2+pramfs";

fn runs(arguments: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = output_of(folder.path(), &format!("bench tpcc {arguments} --format json"));
    serde_json::from_str(&text).expect("a list of objects")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn json_has_times_and_operations_of_each_transaction() {
    let runs = runs(&format!("{SMALL} {HYBRID} --warehouses 1 --transactions 46 --beside all"));
    let [run] = runs.as_slice() else { panic!("one run") };
    assert_eq!((&run["workload"], &run["requests"]), (&"tpcc".into(), &46.into()));
    let parameters = [
        ("warehouses", json!(1)),
        ("scale-divisor", json!(100)),
        ("terminals", json!(1)),
        ("think-times", json!(false)),
        ("rollback-percent", json!(1)),
        ("database-files", json!(1)),
        ("nvram-files", json!("journal+super-journal+statement-journal+temporary")),
    ];
    for (name, wanted) in parameters {
        assert_eq!(run["parameters"][name], wanted, "{name}");
    }
    let counts = [
        ("new_order", 20),
        ("payment", 20),
        ("order_status", 2),
        ("delivery", 2),
        ("stock_level", 2),
    ];
    let mut programs = 0.0;
    for (kind, wanted) in counts {
        let cost = &run["by_kind"][kind];
        assert_eq!(cost["count"], wanted, "{kind}");
        let [min, p50, p90, max] =
            ["min", "p50", "p90", "max"].map(|name| number(&cost["latency_ns"][name]));
        assert!(0.0 < min && min <= p50 && p50 <= p90 && p90 <= max, "{kind}");
        programs += number(&cost["operations"]["page_programs"]);
    }
    assert!(programs > 0.0 && programs <= number(&run["page_programs"]));
    let minutes = number(&run["time_ns"]) / 60e9;
    let per_minute = number(&run["figures"]["new_orders_per_minute"]);
    assert!((per_minute * minutes - 20.0).abs() < 1e-6, "{per_minute}");
}

/// Ten terminals without think times wait for each other. With the specification's times they
/// seldom meet.
#[test]
fn terminals_wait_for_each_other_unless_they_think() {
    let runs = runs(&format!(
        "{SMALL} --on sqlite/yaffs2 --terminals 1,10 --think-times off,on --transactions 60"
    ));
    let of = |terminals: u32, think_times: bool, figure: &str| {
        let run = runs.iter().find(|run| {
            let parameters = &run["parameters"];
            parameters["terminals"] == terminals && parameters["think-times"] == think_times
        });
        number(&run.expect("every combination")["figures"][figure])
    };
    let waits = of(10, false, "response_ns_mean") / of(10, false, "service_ns_mean");
    assert!((8.0..=10.0).contains(&waits), "{waits}");
    let alone = of(1, false, "response_ns_mean") / of(1, false, "service_ns_mean");
    assert!((alone - 1.0).abs() < 1e-9, "{alone}");
    let thinking = of(10, true, "response_ns_mean") / of(10, true, "service_ns_mean");
    assert!((1.0..2.0).contains(&thinking), "{thinking}");
    let name = "new_orders_per_minute";
    assert!(of(1, true, name) < 2.0 && of(10, true, name) < 12.86 * 1.3);
}

#[test]
fn rollbacks_and_files_are_as_asked() {
    let runs = runs(&format!(
        "{SMALL} {HYBRID} --rollback-percent 0,50 --database-files 1,2 --transactions 69"
    ));
    assert_eq!(runs.len(), 4);
    for run in &runs {
        let rolled_back = number(&run["figures"]["new_orders_rolled_back"]);
        let none = run["parameters"]["rollback-percent"] == 0;
        assert_eq!(rolled_back == 0.0, none, "{rolled_back}");
        let causes = run["by_cause"].as_object().expect("causes");
        let labels: BTreeSet<&str> = causes.keys().flat_map(|path| path.split(" > ")).collect();
        let has_two = run["parameters"]["database-files"] == 2;
        assert_eq!(labels.contains("super_journal"), has_two, "{labels:?}");
    }
}

#[test]
fn what_makes_no_sense_is_told_in_one_line() {
    let cases = [
        ("insert --terminals 3", "--terminals is for tpcc"),
        ("insert --warehouses 2", "--warehouses is for tpcc"),
        ("insert --scale-divisor 2", "--scale-divisor is for tpcc"),
        ("insert --think-times on", "--think-times is for tpcc"),
        ("insert --rollback-percent 5", "--rollback-percent is for tpcc"),
        ("insert --database-files 2", "--database-files is for tpcc"),
        ("tpcc --scale-divisor 101", "--scale-divisor 101: more than the limit of 100"),
        ("tpcc --warehouses 0", "--warehouses 0: must be from 1"),
        ("tpcc --rollback-percent 101", "101 is not in 0..=100"),
        ("tpcc --database-files 3", "unknown number of files '3'"),
        ("tpcc --think-times maybe", "unknown choice 'maybe'"),
        ("tpcc --nvram-files journal", "--nvram-files: no stack or workload"),
        ("tpcc --on sqlite/yaffs2+pramfs --nvram-files jornal", "did you mean 'journal'?"),
        ("tpcc --on file/yaffs2", "--on file/yaffs2: tpcc runs on stacks such as sqlite/yaffs2"),
        ("tpcc --on sqlite/yaffs2 --partition-blocks 40", "tpcc needs 60 MiB or more"),
    ];
    for (arguments, wanted) in cases {
        let line = complaint_of(Path::new("."), &format!("bench {arguments}"));
        assert!(line.contains(wanted), "{arguments}: {line}");
    }
}

#[test]
fn the_orders_a_minute_are_in_every_format() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let arguments = format!("bench tpcc {SMALL} --on sqlite/yaffs2 --transactions 20");
    let table = output_of(folder.path(), &arguments);
    assert!(table.contains("new orders per minute") && !table.contains("KB/s"), "{table}");
    let csv = output_of(folder.path(), &format!("{arguments} --format csv"));
    assert!(csv.contains("figures.new_orders_per_minute"), "{csv}");
}
