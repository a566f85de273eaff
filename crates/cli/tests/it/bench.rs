//! `flysch bench` with the arguments of a user.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{complaint_of, flysch, output_of};

/// The fields of a run in JSON, as the design promises them.
const FIELDS: [&str; 19] = [
    "workload",
    "on",
    "platform",
    "record_size",
    "requests",
    "seed",
    "time_ns",
    "cpu_ns",
    "begin_ns",
    "end_ns",
    "latency_ns",
    "page_reads",
    "page_programs",
    "block_erases",
    "oob_programs",
    "bytes",
    "throughput_kb_s",
    "energy_mj",
    "wear",
];

/// A valid part. The tests change one line of it.
const PART: &str = r#"
name = "own"
description = "4 MiB SLC"
source = "made for this test"
endurance = 100_000
[geometry]
page_size = 2048
oob_size = 64
sectors_per_page = 4
partial_programs = 4
pages_per_block = 16
block_count = 128
in_order = true
[timing]
command_ns = 0
sense_ns = 25_000
transfer_ps_per_byte = 25_000
program_ns = 200_000
erase_ns = 1_000_000
[ecc]
bits = 1
step_size = 256
"#;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn runs(folder: &Path, arguments: &str) -> Vec<Value> {
    let text = output_of(folder, &format!("bench {arguments} --format json"));
    serde_json::from_str(&text).expect("a list of objects")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("it is readable").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn json_has_all_that_the_design_promises() {
    let folder = folder();
    for workload in ["insert", "select", "join", "update"] {
        let fill = if workload == "insert" { "" } else { "--fill 80" };
        let runs = runs(folder.path(), &format!("{workload} --requests 50 {fill}"));
        let [run] = runs.as_slice() else { panic!("one run") };
        for field in FIELDS {
            assert!(!run[field].is_null(), "{workload}: {field}");
        }
        for part in ["min", "p50", "p90", "p99", "max"] {
            assert!(run["latency_ns"][part].is_u64(), "{workload}: {part}");
        }
        assert!(run["wear"]["max_erase_count"].is_u64());
        assert_eq!(run["bytes"], 50 * 600);
        let causes = run["by_cause"].as_object().expect("causes by name");
        let programs = causes.values().map(|cause| cause["page_programs"].as_u64());
        assert_eq!(programs.sum::<Option<u64>>(), run["page_programs"].as_u64());
    }
}

#[test]
fn every_format_tells_the_same() {
    let folder = folder();
    let arguments = "bench insert,update --requests 20 --fill 30";
    let csv = output_of(folder.path(), &format!("{arguments} --format csv"));
    let runs = runs(folder.path(), "insert,update --requests 20 --fill 30");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = csv.lines().map(cells);
    let head = lines.next().expect("a head");
    assert_eq!(head[..6], ["workload", "on", "platform", "record_size", "requests", "seed"]);
    for (row, run) in lines.zip(&runs) {
        assert_eq!(row[0], run["workload"].as_str().expect("a name"));
        for (name, cell) in head.iter().zip(&row).skip(3) {
            let value = run.pointer(&format!("/{}", name.replace('.', "/")));
            let value = value.expect("CSV has no field that JSON lacks");
            // Numbers are read, as the last digit of one may change when it is written again.
            let is_same = match value {
                Value::Null => cell.is_empty(),
                Value::String(text) => cell == text,
                other => serde_json::from_str(cell).is_ok_and(|told: Value| told == *other),
            };
            assert!(is_same, "{name}: {cell} and {value}");
        }
    }
    assert_eq!((csv.lines().count(), runs.len()), (3, 2));
}

#[test]
fn lists_and_ranges_make_every_combination() {
    let folder = folder();
    let cases = [
        ("insert --requests 100..300:100 --record-size 150,300", 6),
        ("insert,select --on sqlite/jffs2,sqlite/tmpfs --requests 10", 4),
        ("insert --requests 10 --seed 1..3 --platform nandsim-6.1,apf27-2.6.29", 6),
        ("insert --requests 10 --part nandsim,mt29f2g08 --partition-blocks 50,60", 4),
        ("insert --requests 10 --alphabet bytes,base64,digits,constant", 4),
        ("select --requests 10 --fill 10,20 --page-size 1024,4096", 4),
        ("insert --requests 10 --cache-size 10,-100 --synchronous off,normal,full,extra", 8),
        ("insert --requests 10 --journal-mode delete,truncate,persist,memory,off", 5),
        ("select --requests 10 --fill 10 --read-ahead on,off,4 --ecc hardware,soft", 6),
        ("insert --requests 10 --compression none,zlib,lzo+zlib+rtime", 3),
        ("insert --requests 10 --on sqlite/jffs2,sqlite/yaffs2 --yaffs2-profile 2009,today", 3),
        (
            "insert --requests 10 --on sqlite/ubifs --ubifs-maker mount,mkfs --ubi-wear-threshold 2,9",
            4,
        ),
        ("read --requests 8 --on file/ubifs --file-size 65536 --ubifs-bulk-read on,off", 2),
        ("read --requests 8 --on file/ubifs,file/jffs2 --file-size 65536 --ubi-fastmap on,off", 3),
        ("insert --requests 10 --on sqlite/ftl --ftl page,page-cost-benefit,log-block", 3),
        ("insert --requests 10 --on sqlite/ftl,sqlite/jffs2 --ftl-spare 5,20", 3),
        ("insert --requests 10 --on sqlite/jffs2+pramfs --pram-size 512,1024", 2),
        ("insert --requests 10 --on sqlite/ftl+pramfs,sqlite/ftl --nvram-files journal,all", 3),
        ("overwrite --on file/jffs2,file/ftl --requests 2 --partition-blocks 40", 2),
        ("insert --requests 10 --aged-fill 0,10 --aged-invalid 0,5 --aged-erases 0,9", 8),
        (
            "read --requests 8 --pattern sequential,random --request-size 512,4096 --file-size 65536",
            4,
        ),
        ("read --requests 8 --on file/jffs2,file/yaffs2 --file-size 65536,131072", 4),
        ("read --requests 8 --file-size 65536 --inter-arrival 0,500 --read-ahead fadvise,off", 4),
        ("contacts --requests 5 --records 20,40 --text-size 64,128 --pattern random", 4),
        ("contacts --requests 5 --records 20 --alphabet digits,bytes --read-ahead on,fadvise", 4),
        ("postmark --requests 9 --on file/yaffs2,file/ubifs --percent 25,50,100 --files 5", 6),
        ("postmark --requests 9 --files 5,9 --size-min 100,200 --size-max 300,400", 8),
    ];
    for (arguments, count) in cases {
        let runs = runs(folder.path(), arguments);
        let asked = |run: &Value| {
            let fields = ["workload", "on", "platform", "part", "record_size", "requests", "seed"];
            let fields = fields.map(|field| run[field].to_string());
            (fields, run["parameters"].to_string())
        };
        let different: BTreeMap<_, &Value> = runs.iter().map(|run| (asked(run), run)).collect();
        assert_eq!((runs.len(), different.len()), (count, count), "{arguments}");
    }
}

#[test]
fn the_same_command_gives_the_same_bytes() {
    let folder = folder();
    let files = ["a", "b"].map(|name| {
        let arguments = format!(
            "bench insert,update --requests 50,100 --fill 200 --format json --out {name}.json \
             --report {name}.html --latencies {name}.csv"
        );
        assert_eq!(output_of(folder.path(), &arguments), "");
        ["json", "html", "csv"].map(|kind| {
            fs::read(folder.path().join(format!("{name}.{kind}"))).expect("it was written")
        })
    });
    assert!(files[0] == files[1], "two runs of one command differ");
    assert!(files[0].iter().all(|file| !file.is_empty()));
}

#[test]
fn a_trace_explains_the_run() {
    let folder = folder();
    let run = &runs(folder.path(), "update --requests 50 --fill 80 --trace run.trace")[0];
    let causes = output_of(folder.path(), "trace run.trace causes --format json");
    let causes: Value = serde_json::from_str(&causes).expect("JSON");
    for count in ["page_reads", "page_programs", "block_erases", "oob_programs"] {
        assert_eq!(causes["all"][count], run[count], "{count}");
    }
    let tree = output_of(folder.path(), "trace run.trace causes");
    assert!(tree.contains("jffs2_write"), "{tree}");
    let log = output_of(folder.path(), "trace run.trace log --format json --limit 1");
    let log: Value = serde_json::from_str(&log).expect("JSON");
    assert!(log[0]["time_ns"].as_u64() < run["time_ns"].as_u64(), "times begin at zero: {log}");
    let line = complaint_of(folder.path(), "trace run.trace --from 20s --until 10s");
    assert!(line.contains("--from is after --until"), "{line}");
    let empty = flysch(folder.path(), "trace run.trace causes --cause nowhere");
    assert!(empty.stderr.contains("none of ") && empty.code == Some(0), "{}", empty.stderr);
}

#[test]
fn a_part_may_be_a_file() {
    let folder = folder();
    fs::write(folder.path().join("own.toml"), PART).expect("a writable folder");
    let arguments = "insert --requests 10 --part own.toml --partition-blocks 128";
    assert_eq!(runs(folder.path(), arguments)[0]["part"], "own");
}

#[test]
fn energy_follows_the_powers_of_the_platform() {
    const PLATFORM: &str = include_str!("../../../../platforms/omap3evm-2.6.37.toml");
    let folder = folder();
    let changed = PLATFORM.replace("mw = 223\n", "mw = 446\n");
    assert_ne!(changed, PLATFORM);
    fs::write(folder.path().join("own.toml"), changed).expect("a writable folder");
    let [plain, twice] = ["omap3evm-2.6.37", "own.toml"].map(|platform| {
        let arguments = format!("read --platform {platform} --requests 20 --file-size 262144");
        runs(folder.path(), &arguments).swap_remove(0)
    });
    assert_eq!(plain["time_ns"], twice["time_ns"]);
    let mj = |run: &Value| run["energy_mj"].as_f64().expect("a number");
    let seconds = plain["time_ns"].as_f64().expect("a number") / 1e9;
    assert!((mj(&plain) - seconds * (223.0 + 29.0)).abs() < 1e-9, "{}", mj(&plain));
    assert!((mj(&twice) - seconds * (446.0 + 29.0)).abs() < 1e-9, "{}", mj(&twice));
    let report = |platform: &str| {
        let arguments = format!(
            "bench read --platform {platform} --requests 20 --file-size 262144 --report page.html \
             --force"
        );
        output_of(folder.path(), &arguments);
        fs::read_to_string(folder.path().join("page.html")).expect("it was written")
    };
    assert_ne!(report("omap3evm-2.6.37"), report("own.toml"));
    fs::write(
        folder.path().join("bare.toml"),
        PLATFORM.replace("mw = 230", "fs = \"ftl\"\nmw = 1"),
    )
    .expect("a writable folder");
    let line = complaint_of(folder.path(), "bench read --platform bare.toml");
    assert!(line.contains("power needs draws of cpu"), "{line}");
}

/// Life is of what the interval did, at the rate of what it counts: a mount is one wake, and the
/// size of its calls is no part of a transaction.
#[test]
fn life_does_not_depend_on_what_is_not_counted() {
    let folder = folder();
    let wear = |arguments: &str| {
        let line = format!("bench {arguments} --format json");
        let rows: Vec<Value> = serde_json::from_str(&output_of(folder.path(), &line)).unwrap();
        let years = rows[0]["life"]["years_by_programs"].as_f64().expect("it programs");
        (years * rows[0]["page_programs"].as_f64().unwrap(), rows[0].clone())
    };
    let cases = [
        ("mount --on flysch --record-size 40 --requests", "10", "100"),
        ("postmark --on file/jffs2 --requests 100 --files 100 --request-size", "512", "4096"),
    ];
    for (arguments, one, other) in cases {
        let (one, _) = wear(&format!("{arguments} {one}"));
        let (other, _) = wear(&format!("{arguments} {other}"));
        assert!((one / other - 1.0).abs() < 1e-3, "{arguments}: {one} and {other}");
    }
    // The erases of a session's first write are not those of each row, but of each wake.
    let (_, few) = wear("commit --on flysch --record-size 40 --fill 100 --requests 5");
    assert!(few["block_erases"].as_u64() > Some(0), "{few}");
    assert!(few["life"]["years_by_erases"].is_null(), "{few}");
    let (_, wake) = wear("mount --on flysch --record-size 40 --requests 5");
    assert!(wake["life"]["years_by_erases"].is_number(), "{wake}");
}

/// Erases that blocks had, and those of bad blocks, are no longer left.
#[test]
fn a_worn_chip_has_fewer_erases_left() {
    let folder = folder();
    let line = "bench commit --on sqlite/ubifs --requests 20 --fill 20 --partition-blocks 256 \
                --aged-erases 0,100000,1000000 --format json";
    let rows: Vec<Value> = serde_json::from_str(&output_of(folder.path(), line)).unwrap();
    let left: Vec<f64> = rows.iter().map(|row| row["erase_budget"].as_f64().unwrap()).collect();
    let years = |row: &Value| row["life"]["years"].as_f64().unwrap();
    assert!(left[1] < left[0] * 0.6 && left[2] < left[0] * 0.2, "{left:?}");
    assert!(years(&rows[1]) < years(&rows[0]) * 0.6, "{rows:?}");
}

#[test]
fn the_page_has_the_rate_that_is_asked_for() {
    let folder = folder();
    let page = "bench commit --on flysch,sqlite/ubifs --requests 20 --fill 20 --per-day 1MB \
                --report page.html";
    output_of(folder.path(), page);
    let text = fs::read_to_string(folder.path().join("page.html")).expect("it was written");
    assert!(text.contains("<b>Lifetime</b> at 1 MB a day, "), "{text}");
}

#[test]
fn a_chip_whose_blocks_are_too_small_is_refused() {
    let folder = folder();
    for pages in [1, 2] {
        let own = PART.replace("pages_per_block = 16", &format!("pages_per_block = {pages}"));
        fs::write(folder.path().join(format!("{pages}.toml")), own).expect("a writable folder");
    }
    let cases = [
        ("ubifs --part 1.toml", "blocks of 2048 bytes are too small for UBI"),
        ("yaffs2 --part 1.toml", "YAFFS2 needs blocks of two pages or more"),
        ("ubifs --part 2.toml", "too small for UBIFS: 15360 bytes are the least"),
    ];
    for (arguments, said) in cases {
        let line = format!("bench insert --partition-blocks 128 --on sqlite/{arguments}");
        let line = complaint_of(folder.path(), &line);
        assert!(line.contains(said), "{arguments}: {line}");
    }
}

#[test]
fn bad_input_gets_one_line_and_leaves_nothing() {
    let folder = folder();
    let broken = [
        ("odd", "page_size = 2048", "page_size = 2000"),
        ("empty", "block_count = 128", "block_count = 0"),
        ("words", "bits = 1", "bits = \"one\""),
        ("sectors", "sectors_per_page = 4", "sectors_per_page = 3"),
    ];
    for (name, line, changed) in broken {
        assert!(PART.contains(line));
        let path = folder.path().join(format!("{name}.toml"));
        fs::write(path, PART.replace(line, changed)).expect("a writable folder");
    }
    fs::write(folder.path().join("taken"), "mine").expect("a writable folder");
    let before = names(folder.path());
    let cases = [
        ("inser", "did you mean 'insert'?"),
        ("insert --on sqlite/jff2", "did you mean 'sqlite/jffs2'?"),
        ("insert --platform nandsim-6.2", "did you mean 'nandsim-6.1'?"),
        ("insert --part nandsimm", "did you mean 'nandsim'?"),
        ("insert --part missing.toml", "missing.toml: "),
        ("insert --part odd.toml", "page size 2000 is not a power of two"),
        ("insert --part empty.toml", "block"),
        ("insert --part words.toml", "words.toml: "),
        ("insert --part sectors.toml", "sector"),
        ("insert --part mlc", "this chip does not let it"),
        ("insert --alphabet base46", "did you mean 'base64'?"),
        ("insert --ecc sort", "did you mean 'soft'?"),
        ("insert --journal-mode deleted", "known: delete"),
        ("insert --synchronous ful", "known: off, normal, full"),
        ("insert --read-ahead maybe", "read-ahead is on, off"),
        ("insert --compression zip", "known: lzo, zlib, rtime"),
        ("insert --partition-blocks 6 --requests 1000", "at END: SQLITE_FULL (13)"),
        ("insert --partition-blocks 6 --cache-size 10 --requests 1000", "at request "),
        ("select --partition-blocks 6", "at filling table 1"),
        ("insert --partition-blocks 4", "too small for JFFS2"),
        ("insert --partition-blocks 3000", "does not fit on part w25n01gv, which has 1024"),
        ("insert --journal-mode wal", "the file system cannot map shared memory"),
        ("insert --requests 0", "--requests 0: must be from 1"),
        ("insert --requests 4000000000", "10000000 are the most"),
        ("insert --requests 99999999999999", "must be from 1 to 4294967295"),
        ("insert --requests 300..100", "runs backwards"),
        ("insert --requests 1..50000 --record-size 1..5000", "these are 250000000 runs"),
        ("insert --record-size 4000000000", "larger than the partition"),
        ("select --fill 10 --requests 20", "too few records"),
        ("insert --seed -1", "'-1'"),
        ("insert --page-size 1000", "powers of two"),
        ("insert --cache-size many", "--cache-size"),
        ("insert --force --wrong", "--wrong"),
        ("", "<WORKLOAD>"),
        ("insert --format xml", "--format"),
        ("insert --out missing/out", "cannot be written"),
        ("insert --out /proc/out", "cannot be written"),
        ("insert --out taken", "exists; --force replaces it"),
        ("insert --out . --force", "not a regular file"),
        ("insert --out .", "not a regular file"),
        ("insert --trace taken", "exists; --force replaces it"),
        ("insert --latencies taken", "exists; --force replaces it"),
        ("insert --report taken", "exists; --force replaces it"),
        ("insert,select --trace run.trace", "these are 2"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("bench {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
        assert_eq!(names(folder.path()), before, "{arguments}");
    }
    assert_eq!(fs::read(folder.path().join("taken")).expect("it stays"), b"mine");
    output_of(folder.path(), "bench insert --requests 5 --out taken --force");
    assert_ne!(fs::read(folder.path().join("taken")).expect("it stays"), b"mine");
}

#[test]
fn the_options_of_layers_and_ages_have_bounds() {
    let folder = folder();
    let cases = [
        ("insert --on sqlite/ftl --ftl block", "known: page, page-cost-benefit, log-block"),
        ("insert --on sqlite/ftl --ftl-spare 0", "must be from 1 to 50"),
        ("insert --on sqlite/ubifs --ubi-wear-threshold 1", "must be from 2 to 65536"),
        ("insert --on sqlite/jffs2+pramfs --pram-size 1", "must be from 64 to 1048576"),
        ("insert --on sqlite/yaffs2 --yaffs2-profile 2010", "2010"),
        ("insert --aged-fill 101", "must be from 0 to 100"),
        ("insert --aged-fill 60 --aged-invalid 50", "more than the partition together"),
        (
            "insert --aged-fill 100",
            "cannot age the device so: no space left on device once live data take",
        ),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("bench {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
    }
}

#[test]
fn a_workload_takes_its_own_options_on_its_own_stacks() {
    let folder = folder();
    let cases = [
        ("insert --pattern random", "--pattern is for read and contacts"),
        ("read --on sqlite/jffs2", "read runs on stacks such as file/jffs2"),
        ("insert,read --requests 10", "read runs on stacks such as file/jffs2"),
        ("read --pattern randon", "did you mean 'random'?"),
        ("read --request-size 8192 --file-size 4096", "more than the file of 4096"),
        ("read --inter-arrival 9999999999", "3600000000 are the most"),
        ("contacts --text-size 1000000", "65536 are the most"),
        ("contacts --records 0", "--records 0: must be from 1"),
        ("contacts --on file/jffs2", "contacts runs on stacks such as sqlite/jffs2"),
        ("postmark --percent 101", "more than a file of 100"),
        ("postmark --size-min 20000", "more than the largest file of 10000"),
        ("postmark --files 5000 --partition-blocks 40", "no space left"),
        ("read --percent 25", "--percent is for postmark"),
        ("read --file-size 8000000 --partition-blocks 40", "no space left"),
    ];
    for (arguments, said) in cases {
        let line = complaint_of(folder.path(), &format!("bench {arguments}"));
        assert!(line.contains(said), "{arguments}: {line}");
    }
}
