//! `flysch trace` on traces that the lab saved.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use flysch_chip::{Blame, CauseId, CauseTree, Event, EventKind, TaskId, Trace};
use flysch_lab::trace::{load, parse_shape, save};
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{abandoned, complaint_of, flysch, output_of};

/// A small trace of two tasks: an insert that writes, and a garbage collection.
fn sample() -> Trace {
    let mut causes = CauseTree::default();
    let insert = causes.child(CauseId::ROOT, "insert");
    let write = causes.child(insert, "write");
    let gc = causes.child(CauseId::ROOT, "gc");
    let event = |time_us: u64, kind, addr, bytes, (cause, task)| {
        let duration_ns = if kind == EventKind::Mark { 0 } else { 1_000 };
        Event { time_ns: time_us * 1_000, duration_ns, addr, bytes, cause, kind, task }
    };
    let (sqlite, thread) = (TaskId(0), TaskId(1));
    let events = vec![
        event(1, EventKind::Mark, 0, 0, (insert, sqlite)),
        event(2, EventKind::Read, 3, 512, (insert, sqlite)),
        event(4, EventKind::BufferHit, 3, 0, (insert, sqlite)),
        event(5, EventKind::Read, 3, 100, (insert, sqlite)),
        event(6, EventKind::Program, 70, 528, (write, sqlite)),
        event(8, EventKind::Erase, 3, 0, (gc, thread)),
        event(10, EventKind::ProgramOob, 96, 8, (gc, thread)),
        event(12, EventKind::ReadOob, 96, 8, (gc, thread)),
    ];
    let geometry = parse_shape("512+16x32x4").expect("a sound geometry");
    Trace {
        geometry,
        causes,
        tasks: vec!["sqlite3".to_owned(), "gcd".to_owned()],
        events,
        blame: Blame::default(),
        origin: String::new(),
    }
}

/// Create a folder with the sample in every format that can be read.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    save(&sample(), &folder.path().join("run.trace"), false).expect("the sample is sound");
    for (format, name) in
        [("csv", "run.csv"), ("flashmon", "counters"), ("flashmon-log", "run.log")]
    {
        output_of(folder.path(), &format!("trace run.trace export --to {format} --out {name}"));
    }
    folder
}

fn json_of(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&output_of(folder, arguments)).expect("JSON")
}

#[test]
fn every_action_prints_every_format() {
    let folder = folder();
    let heads = [
        ("summary", "kind,events,bytes,time_ns,min_ns,max_ns,blocks", 8),
        ("blocks", "block,page_reads,page_programs,block_erases,oob_reads,", 4),
        ("log", "time_ns,duration_ns,kind,addr,bytes,task,cause", 9),
        ("causes", "cause,own.page_reads,own.page_programs,own.block_erases,", 4),
        ("missed", "why,kind,cause,events", 3),
    ];
    for (action, head, line_count) in heads {
        let run = |format| output_of(folder.path(), &format!("trace run.trace {action}{format}"));
        let csv = run(" --format csv");
        assert!(csv.starts_with(head), "{csv}");
        assert_eq!(csv.lines().count(), line_count, "{csv}");
        let table = run("");
        assert_eq!(table, run(" --format table"));
        assert!(table.starts_with("| ") && !table.contains('\t'), "{table}");
        serde_json::from_str::<Value>(&run(" --format json")).expect("JSON");
    }
    let default = output_of(folder.path(), "trace run.trace");
    assert_eq!(default, output_of(folder.path(), "trace run.trace summary"));
}

#[test]
fn causes_are_a_tree_with_shares() {
    let folder = folder();
    let tree = output_of(folder.path(), "trace run.trace causes");
    let shown: Vec<Vec<&str>> =
        tree.lines().skip(2).map(|line| line.split('|').map(str::trim_end).collect()).collect();
    let labels: Vec<&str> = shown.iter().map(|cells| cells[1]).collect();
    let wanted = [" all", "   insert", "     (itself)", "     write", "   gc"];
    assert_eq!(labels, wanted);
    assert_eq!(shown[1][2], "   2 100.0%");
    assert_eq!(shown[2][9].trim_start(), "2000  33.3%");
    let json = json_of(folder.path(), "trace run.trace causes --format json");
    assert_eq!(json["all"]["page_reads"], 2);
    assert_eq!(json["nodes"][1]["cause"], "insert > write");
    assert_eq!(json["nodes"][0]["total"]["page_programs"], 1);
}

#[test]
fn filters_hold_for_every_action() {
    let folder = folder();
    let cases = [
        ("--from 5us", 5),
        ("--until 2us", 2),
        ("--from 5us --until 6000", 2),
        ("--events read,erase", 3),
        ("--events read --events erase", 3),
        ("--task gcd", 3),
        ("--cause rit", 1),
        ("--blocks 2", 2),
        ("--blocks 2-3", 5),
        ("--limit 4", 4),
    ];
    for (filter, count) in cases {
        for order in [format!("{filter} summary"), format!("summary {filter}")] {
            let summary = json_of(folder.path(), &format!("trace run.trace {order} --format json"));
            assert_eq!(summary["events"], count, "{order}");
        }
        let log = json_of(folder.path(), &format!("trace run.trace log {filter} --format json"));
        assert_eq!(log.as_array().map(Vec::len), Some(count), "{filter}");
        output_of(folder.path(), &format!("trace run.trace causes {filter}"));
        output_of(folder.path(), &format!("trace run.trace plot --kind scatter {filter}"));
    }
}

#[test]
fn flashmon_misses_what_it_cannot_hook() {
    let folder = folder();
    let cases = [("", 2), ("--subpage-reads", 3), ("--log-entries 1", 7), ("--log-entries 6", 2)];
    for (options, count) in cases {
        let rows =
            json_of(folder.path(), &format!("trace run.trace missed {options} --format json"));
        let events = rows.as_array().expect("a list").iter().map(|row| row["events"].as_u64());
        assert_eq!(events.sum::<Option<u64>>(), Some(count), "{options}");
    }
}

#[test]
fn formats_convert_into_each_other() {
    let folder = folder();
    let log = fs::read_to_string(folder.path().join("run.log")).expect("exported");
    let wanted = "---\n0.000002000;R;3;sqlite3\n0.000004000;C;3;sqlite3\n0.000005000;R;3;sqlite3\n\
        0.000006000;W;70;sqlite3\n0.000008000;E;3;gcd\n";
    assert_eq!(log, wanted);
    let counters = fs::read_to_string(folder.path().join("counters")).expect("exported");
    assert_eq!(counters, "2 0 0\n0 0 0\n0 1 0\n0 0 1\n");

    let shape = "--geometry 512+16x32x4";
    let exported = |arguments: &str| output_of(folder.path(), &format!("trace {arguments}"));
    assert_eq!(exported(&format!("run.log {shape} export --to flashmon-log")), log);
    assert_eq!(exported("counters export --to flashmon"), counters);
    assert_eq!(exported(&format!("run.log {shape} export --to flashmon")), counters);
    let csv = fs::read_to_string(folder.path().join("run.csv")).expect("exported");
    assert_eq!(exported(&format!("run.csv {shape} export --to csv")), csv);
    assert_eq!(exported("run.trace log --format csv"), csv);
    let json: Value = serde_json::from_str(&exported("run.trace export --to json")).expect("JSON");
    assert_eq!(json["geometry"]["block_count"], 4);
    assert_eq!(json["events"].as_array().map(Vec::len), Some(8));

    exported(&format!("run.csv {shape} export --to binary --out back.trace"));
    let back = load(&folder.path().join("back.trace")).expect("just written");
    assert_eq!(back.events.len(), sample().events.len());
}

#[test]
fn drawings_are_files_or_printed() {
    let folder = folder();
    for (input, kind) in [("run.trace", "scatter"), ("run.trace", "blocks"), ("counters", "blocks")]
    {
        let plot = format!("trace {input} plot --kind {kind}");
        let printed = output_of(folder.path(), &plot);
        assert!(printed.starts_with("<svg ") && printed.contains(input), "{plot}");
        assert_eq!(output_of(folder.path(), &format!("{plot} --out {kind}.svg --force")), "");
        let file = folder.path().join(format!("{kind}.svg"));
        assert_eq!(fs::read_to_string(file).expect("just drawn"), printed, "{plot}");
    }
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = folder();
    let path = folder.path().join("kept");
    for action in ["export --to csv", "export --to binary", "plot --kind scatter"] {
        fs::write(&path, "kept").expect("a folder of our own");
        let line = complaint_of(folder.path(), &format!("trace run.trace {action} --out kept"));
        assert_eq!(line, "flysch: kept: exists; --force replaces it");
        assert_eq!(fs::read_to_string(&path).expect("still there"), "kept");
        output_of(folder.path(), &format!("trace run.trace {action} --out kept --force"));
        assert_ne!(fs::read(&path).expect("still there"), b"kept", "{action}");
    }
    fs::create_dir(folder.path().join("folder")).expect("a folder of our own");
    let line = complaint_of(folder.path(), "trace run.trace export --to csv --out folder --force");
    assert_eq!(line, "flysch: folder: is not a regular file");
}

#[test]
fn complaints_are_one_line() {
    let folder = folder();
    let bytes = fs::read(folder.path().join("run.trace")).expect("saved");
    fs::write(folder.path().join("short.trace"), &bytes[..bytes.len() - 1]).expect("our folder");
    fs::write(folder.path().join("noise"), [0x80, 0xFF, 0]).expect("our folder");
    fs::write(folder.path().join("empty"), "").expect("our folder");
    let cases = [
        ("", "requires a subcommand"),
        ("trace", "not provided: <FILE>"),
        ("trade", "unrecognized subcommand 'trade'"),
        ("trace run.trace sumary", "sumary"),
        ("trace run.trace summary --format xml", "invalid value 'xml'"),
        ("trace run.trace --events look", "invalid value 'look'"),
        ("trace run.trace --from 1.5ms", "a whole number"),
        ("trace run.trace --blocks 3-1", "a number or a range"),
        ("trace run.trace export", "not provided: --to"),
        ("trace run.trace export --to binary", "needs --out FILE"),
        ("trace run.trace export --to csv --force", "not provided: --out"),
        (
            "trace run.trace export --to csv --out no/such/folder",
            "no/such/folder: cannot be written: there is no such folder",
        ),
        ("trace run.trace export --to csv --out /proc/out", "/proc/out: cannot be written: "),
        ("trace missing", "missing: No such file"),
        (".", "unrecognized subcommand"),
        ("trace .", "."),
        ("trace empty", "empty: neither a flysch trace"),
        ("trace noise", "noise: neither a flysch trace"),
        ("trace short.trace", "short.trace: byte "),
        ("trace run.log", "run.log: a Flashmon log does not tell the chip's geometry"),
        ("trace run.csv", "run.csv: a CSV trace does not tell"),
        ("trace run.log --geometry 512", "PAGE+OOB"),
        ("trace run.log --geometry 512+16x32x3", "run.log: line 6: block 3 is beyond 2"),
        ("trace run.trace --geometry 512+16x32x4", "run.trace: --geometry is for CSV traces"),
        ("trace counters blocks --geometry 512+16x32x4", "counters: --geometry is for CSV traces"),
        ("trace run.trace statements", "run.trace: it names no statements and tables"),
        ("trace run.trace tables", "run.trace: it names no statements and tables"),
        ("trace counters", "counters: Flashmon counters hold"),
        ("trace counters blocks --limit 1", "counters: Flashmon counters hold"),
        ("trace counters plot --kind scatter", "counters: Flashmon counters hold"),
    ];
    for (arguments, wanted) in cases {
        let line = complaint_of(folder.path(), arguments);
        assert!(line.contains(wanted), "{arguments}: {line}");
    }
}

#[test]
fn help_ends_with_an_example() {
    let folder = folder();
    let actions = ["summary", "blocks", "log", "causes", "missed", "export", "plot"];
    let of_actions = actions.map(|action| format!("trace run.trace {action} --help"));
    for arguments in of_actions.iter().map(String::as_str).chain(["--help", "trace --help"]) {
        let help = output_of(folder.path(), arguments);
        let last = help.trim_end().lines().last().expect("help says something");
        assert!(last.trim_start().starts_with("flysch trace "), "{arguments}: {last}");
    }
    assert!(output_of(folder.path(), "--version").starts_with("flysch"));
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = folder();
    let mut long = sample();
    let last = long.events[7];
    long.events.extend(std::iter::repeat_n(last, 20_000));
    save(&long, &folder.path().join("long.trace"), false).expect("the sample is sound");
    for arguments in ["trace long.trace log --format csv", "trace long.trace log", "--help"] {
        assert_eq!(abandoned(folder.path(), arguments), (Some(0), String::new()), "{arguments}");
    }
    assert_eq!(flysch(folder.path(), "trace long.trace log").stdout.lines().count(), 20_008 + 42);
}

/// Sweeps that meet every layer of the stacks.
const EXPLAINED: [&str; 7] = [
    "commit logger mount contacts select --requests 40 \
     --on sqlite/jffs2,sqlite/yaffs2,sqlite/ubifs,sqlite/ftl,flysch",
    "update join --requests 40 --on sqlite/jffs2,sqlite/ubifs,flysch+nvram",
    "insert --requests 40 --on sqlite/jffs2+pramfs,sqlite/ubifs+tmpfs,sqlite/tmpfs",
    "insert --requests 40 --on sqlite/ubifs,sqlite/yaffs2 --journal-mode wal,truncate,persist",
    "overwrite read --requests 3 --on file/jffs2,file/yaffs2,file/ubifs,file/ftl",
    "postmark --requests 40 --on file/jffs2,file/yaffs2,file/ubifs,file/ftl",
    "tpcc --on sqlite/ubifs,flysch --scale-divisor 100 --transactions 30",
];

#[test]
fn every_label_of_every_stack_is_explained() {
    let folder = TempDir::new().expect("a writable folder");
    let all = output_of(folder.path(), "trace causes --explain --format json");
    let all: Value = serde_json::from_str(&all).expect("JSON");
    let all = all.as_array().expect("a list");
    let explained: BTreeSet<&str> =
        all.iter().map(|meaning| meaning["label"].as_str().expect("a name")).collect();
    for workload in EXPLAINED {
        let line = format!("bench {workload} --format json");
        let runs: Value = serde_json::from_str(&output_of(folder.path(), &line)).expect("JSON");
        for run in runs.as_array().expect("a list") {
            let causes = run["by_cause"].as_object().expect("causes by name");
            for label in causes.keys().flat_map(|path| path.split(" > ")) {
                assert!(explained.contains(label), "{workload}: {label} on {}", run["on"]);
            }
        }
    }
}

#[test]
fn the_labels_of_a_trace_are_explained() {
    let folder = TempDir::new().expect("a writable folder");
    output_of(folder.path(), "bench insert --on sqlite/yaffs2 --requests 20 --trace run.trace");
    let text = output_of(folder.path(), "trace run.trace causes --explain");
    assert!(text.contains("| YAFFS2 ") && text.contains("chunks and the header"), "{text}");
    assert!(!text.contains("jffs2_write"), "{text}");
}
