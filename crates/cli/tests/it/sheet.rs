//! The tables, CSV and JSON of sweeps: rows that can be told apart, within the width.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::{complaint_of, flysch, output_of};

/// A short run on the platform that others are compared with.
const SHORT: &str = "--requests 20 --platform nandsim-6.1";

const PART: &str = include_str!("../../../../parts/nandsim.toml");

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The output at a width.
fn at_width(folder: &Path, arguments: &str, width: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flysch"));
    command.current_dir(folder).args(arguments.split_whitespace()).env("COLUMNS", width);
    String::from_utf8(command.output().expect("it starts").stdout).expect("UTF-8")
}

#[test]
fn rows_can_be_told_apart_in_every_format() {
    let folder = folder();
    let cases = [
        ("insert --journal-mode delete,memory", "parameters.journal-mode", "journal mode"),
        ("insert --page-size 1024,4096", "parameters.page-size", "page size"),
        ("insert --part nandsim,mt29f2g08", "part", "part"),
        ("insert --aged-fill 0,10", "parameters.aged-fill", "aged fill"),
        (
            "insert --on sqlite/ftl,sqlite/jffs2 --ftl-spare 5,20",
            "parameters.ftl-spare",
            "ftl spare",
        ),
        ("insert --record-size 150,600", "record_size", "record size"),
        ("logger --batch 1,4 --record-size 40 --fill 50", "parameters.batch", "batch"),
    ];
    for (arguments, column, heading) in cases {
        let arguments = format!("bench {arguments} {SHORT}");
        let table = output_of(folder.path(), &arguments);
        let head = table.lines().find(|line| line.starts_with("workload")).expect("a heading");
        assert!(head.contains(heading), "{arguments}: {table}");
        let files = "--format csv --latencies latencies.csv --force";
        let csv = output_of(folder.path(), &format!("{arguments} {files}"));
        let latencies = std::fs::read_to_string(folder.path().join("latencies.csv"));
        let latencies = latencies.expect("it was written");
        let requests: BTreeSet<&str> =
            latencies.lines().filter_map(|line| Some(line.rsplit_once(',')?.0)).collect();
        assert_eq!(requests.len(), latencies.lines().count(), "{arguments}: {latencies}");
        let mut lines = csv.lines();
        let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
        assert!(head.contains(&column), "{arguments}: {csv}");
        let figures = head.iter().position(|name| *name == "time_ns").expect("a time");
        let asked: Vec<String> =
            lines.map(|line| line.split(',').take(figures).collect::<Vec<_>>().join(",")).collect();
        let different: BTreeSet<&String> = asked.iter().collect();
        assert_eq!(asked.len(), different.len(), "{arguments}: {csv}");
    }
}

#[test]
fn parameters_have_types_in_json() {
    let folder = folder();
    let arguments = format!("bench insert --on sqlite/ubifs {SHORT} --format json");
    let json: Value = serde_json::from_str(&output_of(folder.path(), &arguments)).expect("JSON");
    let parameters = &json[0]["parameters"];
    assert_eq!(parameters["page-size"], 1024);
    assert_eq!(parameters["ubi-fastmap"], false);
    assert_eq!(parameters["journal-mode"], "delete");
}

#[test]
fn tables_fit_the_width_and_say_what_they_leave_out() {
    let folder = folder();
    let sweep =
        format!("bench insert,update --on sqlite/jffs2,sqlite/ubifs,flysch --fill 50 {SHORT}");
    let compare = format!("compare --workload insert {SHORT}");
    for (arguments, width) in [(&sweep, 100), (&compare, 100), (&sweep, 80)] {
        let text = at_width(folder.path(), arguments, &width.to_string());
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
    }
    let narrow = at_width(folder.path(), &sweep, "80");
    assert!(narrow.contains("--columns shows more: "), "{narrow}");
    assert!(
        narrow.starts_with("platform nandsim-6.1, record size 600 B, requests 20,"),
        "{narrow}"
    );
    let wide = at_width(folder.path(), &sweep, "300");
    assert!(wide.contains("most erased") && !wide.contains("--columns"), "{wide}");
}

#[test]
fn the_user_chooses_columns_and_order() {
    let folder = folder();
    let arguments = format!("bench insert --on sqlite/jffs2,sqlite/ftl,flysch {SHORT}");
    let shown = output_of(
        folder.path(),
        &format!("{arguments} --columns page_programs,latency_ns.p99 --sort -page_programs -q"),
    );
    let head: Vec<&str> = shown.lines().next().expect("a head").split_whitespace().collect();
    assert_eq!(head, ["workload", "stack", "programs", "99", "%"]);
    let programs: Vec<u64> = shown
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().nth(2).and_then(|it| it.parse().ok()).expect("a count"))
        .collect();
    assert!(programs.len() == 3 && programs.is_sorted_by(|one, next| one >= next), "{shown}");
    let csv = output_of(folder.path(), &format!("{arguments} --columns oob_reads --format csv"));
    assert!(csv.starts_with("workload,on,platform,record_size,requests,seed,part,oob_reads\n"));
    let all = output_of(folder.path(), &format!("{arguments} --columns all --format csv"));
    assert!(all.lines().next().is_some_and(|head| head.contains(",page_reads_at_open,")), "{all}");
    let twice = "--columns on,seed,oob_reads,page_reads,oob_reads --format csv";
    let csv = output_of(folder.path(), &format!("{arguments} {twice}"));
    let head = "workload,on,platform,record_size,requests,seed,part,oob_reads,page_reads\n";
    assert!(csv.starts_with(head), "{csv}");
    for (option, said) in [
        ("--columns page_program", "did you mean 'page_programs'?"),
        ("--columns page_program --format json", "did you mean 'page_programs'?"),
        ("--sort page_program", "--sort: unknown figure 'page_program'"),
        ("--jobs 0", "--jobs"),
        ("--color loud", "--color"),
    ] {
        let line = complaint_of(folder.path(), &format!("{arguments} {option}"));
        assert!(line.contains(said), "{line}");
    }
}

/// Names are checked before the first run, so each that a result has must be known by then.
#[test]
fn a_figure_that_a_result_has_is_known_before_the_run() {
    let folder = folder();
    let mount = "bench mount --record-size 40 --requests 5 --fill 5 --on sqlite/ubifs";
    for (arguments, name) in [
        ("bench read --requests 5 --file-size 65536", "figures.mean_request_us"),
        ("bench postmark --requests 5 --files 5", "figures.read_mb_s"),
        (&format!("{mount} --synchronous off"), "figures.readings_left"),
        ("bench select --requests 5 --fill 5", "life.years"),
        ("bench insert --requests 5 --on sqlite/ftl+pramfs", "parameters.nvram-files"),
        ("bench insert --requests 5 --on sqlite/ftl+pramfs", "nvram-files"),
        ("compare --workload insert --requests 5 --on sqlite/ftl", "times_best"),
        ("index bench runs --n 1000 --lookup-count 40 --updates 10", "update.w_pages"),
    ] {
        let arguments = format!("{arguments} --columns {name} --sort=-{name} --format csv");
        let csv = output_of(folder.path(), &arguments);
        let last = csv.lines().next().and_then(|head| head.rsplit(',').next());
        assert!(last.is_some_and(|last| last.ends_with(name)), "{arguments}: {csv}");
    }
    // A select wears nothing, so it has no life.
    let arguments = format!("bench select,commit --fill 50 {SHORT} --sort=-life.years -q");
    let table = output_of(folder.path(), &arguments);
    assert!(table.lines().last().is_some_and(|last| last.starts_with("select")), "{table}");
}

/// Where SQLite promises to keep no particular transaction, a mount tells how many are left.
#[test]
fn a_mount_tells_what_is_left_where_commits_may_be_lost() {
    let folder = folder();
    for (options, may_lose) in [
        ("--on sqlite/ubifs --journal-mode wal --synchronous normal", true),
        ("--on sqlite/ubifs,sqlite/ftl --synchronous off", true),
        ("--on sqlite/ubifs --synchronous off --stop clean", false),
        ("--on sqlite/ubifs,flysch", false),
    ] {
        let arguments =
            format!("bench mount {options} --requests 50 --fill 50 --record-size 40 --format json");
        let rows: Vec<Value> =
            serde_json::from_str(&output_of(folder.path(), &arguments)).expect("JSON");
        for row in rows {
            let left = row["figures"]["readings_left"].as_f64();
            assert_eq!(left.is_some(), may_lose, "{arguments}: {row}");
            assert!(left.is_none_or(|left| left <= 51.0), "{arguments}: {row}");
        }
    }
}

#[test]
fn colours_and_jobs_change_no_figure() {
    let folder = folder();
    let arguments = format!("compare --workload insert {SHORT}");
    let plain = output_of(folder.path(), &arguments);
    let painted = output_of(folder.path(), &format!("{arguments} --color always --jobs 1"));
    assert!(painted.contains("\u{1b}[32m") && !plain.contains('\u{1b}'), "{painted}");
    let bare = ["\u{1b}[32m", "\u{1b}[1m", "\u{1b}[0m"];
    assert_eq!(bare.iter().fold(painted, |text, code| text.replace(code, "")), plain);
    assert_eq!(output_of(folder.path(), &format!("{arguments} --color never")), plain);
    let quiet = output_of(folder.path(), &format!("{arguments} --quiet"));
    assert!(quiet.starts_with("workload") && !quiet.contains("report"), "{quiet}");
}

#[test]
fn a_cell_that_fails_is_a_row_and_ends_no_sweep() {
    let folder = folder();
    let arguments =
        format!("bench insert --on sqlite/jffs2,sqlite/ubifs --journal-mode delete,wal {SHORT}");
    let finished = flysch(folder.path(), &arguments);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let said = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "no result: insert, sqlite/jffs2, wal: at opening the database: SQLITE_ERROR (1)";
    assert!(said.contains(why), "{said}");
    let csv = output_of(folder.path(), &format!("{arguments} --format csv"));
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
    assert!(csv.lines().next().is_some_and(|head| head.ends_with(",error")), "{csv}");
    let json = output_of(folder.path(), &format!("{arguments} --format json"));
    let rows: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    assert!(rows[1]["error"].as_str().is_some_and(|why| why.contains("shared memory")), "{json}");
    assert!(rows[0].get("error").is_none() && rows[1].get("time_ns").is_none(), "{json}");

    let full = "compare --workload insert --on sqlite/jffs2 --partition-blocks 6 \
                --requests 20,1000 --platform nandsim-6.1";
    let table = output_of(folder.path(), full);
    assert!(table.contains("SQLITE_FULL") && table.contains("report: report.html"), "{table}");
}

#[test]
fn what_cannot_be_told_apart_is_refused() {
    let folder = folder();
    for name in ["a.toml", "bb.toml"] {
        let own = PART.replace("program_ns = 300_000", &format!("program_ns = {}", name.len()));
        std::fs::write(folder.path().join(name), own).expect("a writable folder");
    }
    let cases = [
        ("insert --seed 1,1", "--seed: a value is given twice"),
        ("insert --page-size 1024,4096,1024", "--page-size: a value is given twice"),
        ("commit --on flysch,flysch", "--on: a value is given twice"),
        ("insert,insert", "WORKLOAD: a value is given twice"),
        ("mount --stop cut,cut", "--stop: a value is given twice"),
        ("read --pattern random,random", "--pattern: a value is given twice"),
        ("read --inter-arrival 0,0", "--inter-arrival: a value is given twice"),
        ("tpcc --scale-divisor 20,20", "--scale-divisor: a value is given twice"),
        ("tpcc --think-times on,on", "--think-times: a value is given twice"),
        ("insert --part a.toml,bb.toml", "--part: two have the name 'nandsim'"),
        ("insert --platform nandsim-6.1,nandsim-6.1", "--platform: two have the name"),
        ("insert --out a --report a", "two outputs cannot go to one file"),
        ("insert --out ./a --trace a", "two outputs cannot go to one file"),
        ("insert --latencies a --trace a", "two outputs cannot go to one file"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("bench {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
    }
}

#[test]
fn an_option_that_no_stack_uses_is_refused_by_name() {
    let folder = folder();
    let cases = [
        ("bench insert --on sqlite/jffs2 --ftl-spare 7", "--ftl-spare"),
        ("bench insert --ram 9K", "--ram"),
        ("bench insert --on flysch --journal-mode wal", "--journal-mode"),
        ("bench read --record-size 600", "--record-size"),
        ("bench insert --fill 10,20", "--fill"),
        ("bench overwrite --alphabet digits", "--alphabet"),
        ("bench insert --on sqlite/yaffs2+tmpfs --pram-size 512", "--pram-size"),
        ("compare --workload insert --on sqlite/ubifs --yaffs2-profile 2009", "--yaffs2-profile"),
    ];
    for (arguments, option) in cases {
        let line = complaint_of(folder.path(), arguments);
        assert!(line.contains(&format!("{option}: no stack or workload of this sweep")), "{line}");
    }
    let used = "bench insert --on sqlite/jffs2,sqlite/ftl --ftl-spare 7 --requests 5";
    output_of(folder.path(), used);
}

#[test]
fn seeds_have_a_mean_and_an_interval() {
    let folder = folder();
    let arguments = format!("bench update --on sqlite/jffs2,flysch --fill 50 {SHORT} --seed 1..4");
    let table = output_of(folder.path(), &arguments);
    let rows = table.lines().filter(|line| line.starts_with("update")).count();
    assert!(rows == 2 && table.contains('\u{b1}') && table.contains("4 seeds"), "{table}");
    let runs = output_of(folder.path(), &format!("{arguments} --format csv"));
    assert_eq!(runs.lines().count(), 1 + 8, "{runs}");
    let cells = output_of(folder.path(), &format!("{arguments} --per cell --format csv"));
    assert_eq!(cells.lines().count(), 1 + 2, "{cells}");
    let column = |text: &str, name: &str| -> Vec<f64> {
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
        let place = head.iter().position(|it| *it == name).expect("a column");
        lines
            .map(|line| {
                line.split(',').nth(place).and_then(|it| it.parse().ok()).expect("a number")
            })
            .collect()
    };
    let times = column(&runs, "time_ns");
    let mean = times[..4].iter().sum::<f64>() / 4.0;
    assert!((column(&cells, "time_ns")[0] - mean).abs() < 1.0, "{cells}");
    let [low, high] = ["low", "high"].map(|end| column(&cells, &format!("time_ns.ci95_{end}"))[0]);
    assert!(low < mean && mean < high, "{low} {mean} {high}");
    assert!(column(&cells, "time_ns.sd")[0] > 0.0);
    let stacks = "--on sqlite/jffs2,sqlite/tmpfs,flysch";
    let compare = format!("compare --workload update {stacks} --fill 50 {SHORT} --seed 1..3");
    let table = output_of(folder.path(), &compare);
    let rows = table.lines().filter(|line| line.starts_with("update ")).count();
    assert_eq!(rows, 3, "{table}");
    assert!(
        table.contains("flysch") && table.contains("1.00") && table.contains('\u{b1}'),
        "{table}"
    );
}

#[test]
fn life_is_a_figure_with_its_assumptions() {
    let folder = folder();
    let arguments = format!("bench commit,select --on sqlite/jffs2 --fill 50 {SHORT}");
    let table = output_of(folder.path(), &arguments);
    let said = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(
            "life: at 86400 rows a day; the erases that the good blocks of the partition"
        ),
        "{said}"
    );
    let years = |rate: &str| -> Vec<Value> {
        let text = output_of(folder.path(), &format!("{arguments} {rate} --format json"));
        let rows: Vec<Value> = serde_json::from_str(&text).expect("JSON");
        assert!(rows[1]["life"].is_null(), "a workload that programs nothing wears nothing");
        ["years", "years_by_programs"].map(|name| rows[0]["life"][name].clone()).to_vec()
    };
    let [one, ten] = ["--per-day 1000", "--per-day 10000"].map(|rate| years(rate)[1].clone());
    let ratio = one.as_f64().zip(ten.as_f64()).map(|(one, ten)| one / ten).expect("numbers");
    assert!((ratio - 10.0).abs() < 1e-9, "{ratio}");
    assert_eq!(years("--per-day 6MB"), years("--per-day 10000"), "10,000 rows of 600 bytes");
    let line = complaint_of(folder.path(), &format!("{arguments} --per-day often"));
    assert!(line.contains("a rate is rows a day"), "{line}");
}

/// The log keeps its newest readings, and its queries find those and no others.
#[test]
fn a_log_keeps_its_newest_readings() {
    let folder = folder();
    let arguments = "bench logger --record-size 40 --requests 60 --batch 5 --keep 200 --queries 4 \
                     --on flysch,sqlite/ubifs --format json";
    let rows: Vec<Value> =
        serde_json::from_str(&output_of(folder.path(), arguments)).expect("JSON");
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["parameters"]["keep"], 200);
        assert!(row["life"]["years"].as_f64() > Some(0.0), "{row}");
    }
    // What a ring costs is what a log costs that keeps all: nothing is deleted.
    let programs = |keep: &str| {
        let arguments = format!("bench logger {keep} --requests 500 --on flysch --format json");
        let rows: Vec<Value> =
            serde_json::from_str(&output_of(folder.path(), &arguments)).expect("JSON");
        rows[0]["page_programs"].as_f64().expect("a count")
    };
    let (ring, all) = (programs("--keep 1000"), programs(""));
    assert!(ring < 1.1 * all, "{ring} programs, and {all} where all readings stay");
    let line = complaint_of(folder.path(), "bench logger --batch 9 --keep 5");
    assert!(line.contains("more than the readings that are kept of 5"), "{line}");
}

#[test]
fn figures_tell_where_they_come_from() {
    let folder = folder();
    let arguments = format!("bench insert {SHORT} --seed 7");
    let shown = format!("flysch {arguments}");
    let json = output_of(folder.path(), &format!("{arguments} --format json"));
    let rows: Vec<Value> = serde_json::from_str(&json).expect("JSON");
    let provenance = &rows[0]["provenance"];
    assert_eq!(provenance["command"], shown.as_str());
    for field in ["flysch", "commit", "sqlite"] {
        assert!(provenance[field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    let files = "--format csv --out runs.csv --report page.html";
    output_of(folder.path(), &format!("{arguments} {files}"));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it is there");
    assert!(read("runs.csv.provenance.json").contains(&shown));
    assert!(read("page.html").contains(&shown));
    let line = complaint_of(folder.path(), &format!("{arguments} --format csv --out runs.csv"));
    assert!(line.contains("exists"), "{line}");
    let version = output_of(folder.path(), "--version");
    assert!(version.starts_with("flysch 0.1.0 (commit "), "{version}");
}

/// Every command of the page of questions does what the page says.
#[test]
fn the_questions_of_the_documents_are_answered() {
    const QUESTIONS: &str = include_str!("../../../../docs/questions.md");
    let folder = folder();
    let commands: Vec<&str> =
        QUESTIONS.lines().filter_map(|line| line.strip_prefix("flysch ")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        // Twenty seeds of a whole figure are for the reader's patience.
        let command = &command.replace("--seeds 20", "--seeds 2 --quick");
        let finished = flysch(folder.path(), command);
        if finished.code == Some(0) {
            assert_eq!(finished.stderr, "", "{command}");
            continue;
        }
        // The page quotes the answer of the one command that says that it does not fit.
        let said = finished.stderr.split("; ").last().expect("a line").trim_end();
        let page: Vec<&str> = QUESTIONS.split_whitespace().collect();
        assert!(page.join(" ").contains(said), "{command}: {}", finished.stderr);
    }
    let table = at_width(
        folder.path(),
        "bench commit --on sqlite/jffs2,sqlite/ubifs,sqlite/yaffs2,flysch --journal-mode \
         delete,wal --per-day 86400 --sort time_ns",
        "100",
    );
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("commit ")).collect();
    assert!(rows.len() == 7 && rows.iter().all(|row| QUESTIONS.contains(row)), "{table}");
}
