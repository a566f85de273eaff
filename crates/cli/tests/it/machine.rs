//! Commands that need a real machine. These tests run on any machine, so each command is refused in
//! one line.
//!
//! `cargo xtask vm-test` tests the runs in a guest.

use std::fs;

use tempfile::TempDir;

use crate::command::{complaint_of, flysch, output_of};

/// The name of an MTD that no machine has.
const ABSENT: &str = "mtd4095";

#[test]
fn flash_that_is_not_there_is_one_line() {
    let folder = TempDir::new().unwrap();
    let check = |arguments: &str, wanted: &[&str]| {
        let line = complaint_of(folder.path(), arguments);
        assert!(wanted.iter().any(|wanted| line.contains(wanted)), "{arguments}: {line}");
    };
    let absent = ["has no MTD", "no MTD named"];
    check(&format!("trace live --device {ABSENT} --hook chip --buffer 1024"), &absent);
    check(&format!("trace live --device {ABSENT} --to csv -- true"), &absent);
    let bench = "bench insert --requests 1 --on kernel:jffs2";
    check(&format!("{bench} --mtd {ABSENT} --hook mtd --buffer 1024"), &absent);
    check(&format!("{bench} --mtd {ABSENT} --untraced"), &absent);
    check(bench, &["name it, such as --mtd mtd0"]);
    let read = "bench read --requests 1 --free-timers on --on kernel:jffs2";
    check(read, &["name it, such as --mtd mtd0"]);
    check(&format!("{bench} --free-timers on"), &["no stack or workload of this sweep uses it"]);
    check("bench insert --on kernel:jfs2", &["did you mean 'kernel:jffs2'?"]);
    check("bench insert --on kernel:jffs2 --hook chips", &["did you mean 'chip'?"]);
    check("trace live --hook nand", &["unknown hook 'nand'"]);
    fs::write(folder.path().join("a.trace"), "").unwrap();
    check("trace a.trace live", &["it takes no file"]);
    check("trace", &["not provided: <FILE>"]);
}

/// Times that the guest measured.
const TIMES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/calibration-6.1.json");

#[test]
fn prices_are_fitted_to_times_that_were_measured() {
    let folder = TempDir::new().unwrap();
    let complaint = complaint_of(folder.path(), "platform calibrate --on kernel:jffs2 --times");
    assert!(complaint.contains("--mtd"), "{complaint}");
    let fit = format!("platform calibrate --from {TIMES}");
    let files = "--out prices.toml --rows rows.csv --save-times times.json";
    output_of(folder.path(), &format!("{fit} {files}"));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("times.json"), fs::read_to_string(TIMES).unwrap());
    assert!(read("prices.toml").contains("kernel = \"Linux 6.1"));
    let rows = read("rows.csv");
    let error_of = |row: &str| row.rsplit(',').next().unwrap().parse::<f64>().unwrap().abs();
    // SQLite writes a page to its journal in three calls, of which two write 4 bytes.
    for name in ["ubifs,sql journal,", "ubifs,sql journal large,", "ubifs,sql log large,"] {
        let row = rows.lines().find(|row| row.starts_with(name)).unwrap();
        assert!(error_of(row) < 0.05, "{row}");
    }
    let mut errors: Vec<f64> = rows.lines().skip(1).map(error_of).collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors.len() > 300 && errors[errors.len() / 2] < 0.1, "{}", errors[errors.len() / 2]);
    let prices: serde_json::Value =
        serde_json::from_str(&output_of(folder.path(), &format!("{fit} --json"))).unwrap();
    assert!(prices["prices"].as_array().is_some_and(|prices| prices.len() > 40));
}

/// What becomes of an option of `bench` on targets of the kernel.
#[derive(Clone, Copy)]
enum Becomes {
    /// It is for the workload, SQLite, the tracer or the output: the same everywhere.
    Same,
    /// The run goes on to the flash, which is not there: on new file systems, and on mounted ones.
    Honoured { on_mounted: bool },
    /// It is refused by its name, on all targets.
    Refused,
}

/// Each option of `bench` is honoured on kernel targets, or refused by its name. A new option has
/// to be decided here.
#[test]
fn no_option_is_ignored_on_kernel_targets() {
    use Becomes::{Honoured, Refused, Same};
    let cases = [
        ("--part w25n01gv", Honoured { on_mounted: true }),
        ("--partition-blocks 100", Honoured { on_mounted: true }),
        ("--platform nandsim-6.1", Honoured { on_mounted: true }),
        ("--seed 2", Honoured { on_mounted: true }),
        ("--read-ahead off", Honoured { on_mounted: false }),
        ("--compression none", Honoured { on_mounted: false }),
        ("--aged-fill 30", Honoured { on_mounted: false }),
        ("--aged-invalid 30", Honoured { on_mounted: false }),
        ("--ubifs-bulk-read on", Honoured { on_mounted: false }),
        ("--ubi-fastmap on", Honoured { on_mounted: false }),
        ("--aged-erases 30", Refused),
        ("--ecc soft", Refused),
        ("--ubifs-maker mkfs", Refused),
        ("--ubi-wear-threshold 100", Refused),
        ("--yaffs2-profile 2009", Refused),
        ("--nvram-files all", Refused),
        ("--ftl page", Refused),
        ("--ftl-spare 10", Refused),
        ("--pram-size 64", Refused),
        ("--ram 16K", Refused),
        ("--nvram-size 8K", Refused),
        ("--read-cache 8K", Refused),
        ("--record-size 100", Same),
        ("--requests 10", Same),
        ("--alphabet digits", Same),
        ("--fill 5000", Same),
        ("--page-size 1024", Same),
        ("--cache-size 10", Same),
        ("--journal-mode truncate", Same),
        ("--synchronous off", Same),
    ];
    let others = "--on --help --mtd --hook --buffer --untraced --pattern --request-size --file-size \
        --inter-arrival --text-size --records --percent --files --size-min --size-max --batch \
        --keep --queries --free-timers --stop --warehouses --scale-divisor --terminals --think-times \
        --rollback-percent --database-files --transactions --trace --latencies --format --out \
        --force --report --per-day --columns --sort --per --color --quiet --jobs";
    let folder = TempDir::new().unwrap();
    let names = cases.iter().map(|(option, _)| option.split(' ').next().unwrap());
    let known: Vec<&str> = names.chain(others.split_whitespace()).collect();
    let help = output_of(folder.path(), "bench --help");
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    for word in lines.flat_map(|line| line.split([' ', ',']).take(3)) {
        assert!(!word.starts_with("--") || known.contains(&word), "{word}: decide what it does");
    }
    for (option, becomes) in cases {
        let name = option.split(' ').next().unwrap();
        for target in ["kernel:jffs2", "kernel:ubifs", "kernel:."] {
            let is_mounted = target == "kernel:.";
            let of_others = name.starts_with("--ubi") && target != "kernel:ubifs";
            let line = complaint_of(folder.path(), &format!("bench select --on {target} {option}"));
            let is_honoured = match becomes {
                Same => true,
                Honoured { on_mounted } => (on_mounted || !is_mounted) && !of_others,
                Refused => false,
            };
            let reaches_flash = line.contains("--mtd mtd0") || line.contains("has no MTD");
            assert_eq!(reaches_flash, is_honoured, "{target} {option}: {line}");
            assert!(is_honoured || line.starts_with(&format!("flysch: {name}")), "{line}");
        }
    }
}

/// A file with other columns, with impossible counts, or with too few cells is refused before
/// anything is printed.
#[test]
fn recorded_counts_are_refused_in_one_line() {
    let folder = TempDir::new().unwrap();
    let head = "fs,workload,record_size,requests,pattern,read_ahead,kernel.page_reads,\
                kernel.page_programs,kernel.block_erases\n";
    let cases = [
        ("a,b\n1,2\n".to_owned(), "missing field `fs`"),
        (format!("{head}jffs2,insert,600,100,,32,many,0,0\n"), "invalid float literal"),
        (format!("{head}jffs2,insert,600,100,,32,-1,0,0\n"), "-1 is no count"),
        (format!("{head}jffs2,insert,600,100,,32,NaN,0,0\n"), "NaN is no count"),
        (format!("{head}jffs2,insert,600,100,,32,1,0,0\n"), "the kernel's counts lack the cell"),
    ];
    for (text, wanted) in cases {
        fs::write(folder.path().join("counts.csv"), &text).expect("a writable folder");
        let finished = flysch(folder.path(), "vm validate --quick --kernel-counts counts.csv");
        let last = finished.stderr.lines().last().unwrap_or_default();
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{last}");
        assert!(last.contains(wanted), "{wanted}: {last}");
    }
}

/// `--resume` takes the cells of the file that an interrupted comparison left. With all of them
/// there, no guest is needed; with some, the file stays as it is until a guest has measured another
/// cell.
#[test]
fn an_interrupted_comparison_goes_on_from_its_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cells.csv");
    let head = "fs,workload,record_size,requests,pattern,read_ahead,options,kernel.page_reads,\
                kernel.page_programs,kernel.block_erases,kernel.time_ms\n";
    let quick = [
        "commit,0,0,,,--record-size 100 --requests 40 --fill 200 --partition-blocks 400",
        "contacts,0,0,,,--records 200 --requests 100 --free-timers on --partition-blocks 400",
        "postmark,0,0,,,--files 40 --requests 60 --free-timers on --partition-blocks 400",
    ];
    let row = |fs: &str, cell: &&str| format!("{fs},{cell},3,900,0,7.5\n");
    let rows: Vec<String> =
        ["jffs2", "ubifs"].iter().flat_map(|fs| quick.iter().map(|cell| row(fs, cell))).collect();
    let command = "vm validate --quick --group workloads --store none --csv cells.csv";
    let part = format!("{head}{}", rows[..5].concat());
    let strange = format!("{part}{}", row("jffs2", &"commit,0,0,,,--fill 9"));
    let twice = format!("{part}{}", rows[0]);
    let cases = [
        (part.as_str(), "", "cells.csv: exists; --force replaces it"),
        (part.as_str(), "--resume", "`flysch vm setup`"),
        (part.as_str(), "--resume --force", "cannot be used with '--force'"),
        (
            strange.as_str(),
            "--resume",
            "has the cell jffs2 commit --fill 9, which is not asked for",
        ),
        (twice.as_str(), "--resume", "--partition-blocks 400 twice"),
        (head, "--resume", "`flysch vm setup`"),
        ("fs\nubifs\n", "--resume", "missing field `workload`"),
    ];
    for (text, more, wanted) in cases {
        fs::write(&path, text).expect("a writable folder");
        let line = complaint_of(folder.path(), &format!("{command} {more}"));
        assert!(line.contains(wanted), "{more}: {line}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), text, "{more}");
    }
    fs::write(&path, format!("{head}{}", rows.concat())).expect("a writable folder");
    let finished = flysch(folder.path(), &format!("{command} --resume --show summary"));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let text = fs::read_to_string(&path).expect("the cells of both sides");
    let times = text.lines().filter(|line| line.contains(",900.0,") && line.contains(",7.5,"));
    assert_eq!((text.lines().count(), times.count()), (7, 6), "{text}");
    let line = complaint_of(folder.path(), "vm validate --resume");
    assert!(line.contains("--csv"), "{line}");
}

/// A cell of what users run is simulated again from the words of its row. A kernel that programs
/// more is told with the cell's name.
#[test]
fn recorded_workloads_are_compared_without_a_guest() {
    let folder = TempDir::new().unwrap();
    let text = "fs,workload,record_size,requests,pattern,read_ahead,options,kernel.page_reads,\
                kernel.page_programs,kernel.block_erases,kernel.stopped_at,kernel.median_us\n\
                jffs2,read,0,0,,,--requests 3 --free-timers on,5,900,0,null,7.5\n";
    fs::write(folder.path().join("counts.csv"), text).expect("a writable folder");
    let arguments = "vm validate --group workloads --kernel-counts counts.csv --format csv";
    let finished = flysch(folder.path(), arguments);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let row = finished.stdout.lines().nth(1).expect("one cell");
    assert!(row.starts_with("jffs2,read,0,0,,,--requests 3 --free-timers on,5.0,"), "{row}");
    let said = finished.stderr.lines().last().expect("a verdict");
    let is_of_cell = said.contains("jffs2 read --requests 3 --free-timers on: ");
    assert!(is_of_cell && said.contains(" %, and 15 % or 3 operations are allowed"), "{said}");
}

/// Which LEB a nearly full UBIFS collects, and how often, follows from the order in which LEBs came
/// to be what they are. With the kernel's order its counts are met.
#[test]
fn a_nearly_full_ubifs_collects_what_the_kernel_collects() {
    let folder = TempDir::new().unwrap();
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validation-drawn.csv");
    let table = fs::read_to_string(table).expect("the recorded counts");
    let (head, rows) = table.split_once('\n').expect("a head");
    let of_draw = rows.lines().filter(|row| row.starts_with("ubifs,update,"));
    let full = ["--requests 157 ", "--requests 236 ", "--aged-invalid 25 --partition-blocks 120"];
    let cells: Vec<&str> = of_draw.filter(|row| full.iter().any(|it| row.contains(it))).collect();
    assert_eq!(cells.len(), 3);
    let text = format!("{head}\n{}\n", cells.join("\n"));
    fs::write(folder.path().join("counts.csv"), text).expect("a writable folder");
    let arguments = "vm validate --group workloads --kernel-counts counts.csv";
    let finished = flysch(folder.path(), arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

/// Two tables of the kernel's counts are compared cell by cell, whatever their seeds are. Each cell
/// must be in both.
#[test]
fn the_kernel_is_compared_with_itself() {
    let folder = TempDir::new().unwrap();
    let head = "fs,workload,record_size,requests,pattern,read_ahead,options,kernel.page_reads,\
                kernel.page_programs,kernel.block_erases\n";
    let write = |name: &str, rows: &str| {
        fs::write(folder.path().join(name), format!("{head}{rows}")).expect("a writable folder");
    };
    let select = "ubifs,select,0,0,,,--fill 9,8,0,0\n";
    let grid = "jffs2,insert,600,100,,32,,0,200,0\n";
    write("a.csv", &format!("jffs2,update,0,0,,,\"--fill 9 --seed 1,2\",200,40,1\n{select}{grid}"));
    let line = complaint_of(folder.path(), "vm validate --against a.csv");
    assert!(line.contains("--kernel-counts"), "{line}");
    let update = |seeds: &str, reads: u32| {
        format!("jffs2,update,0,0,,,\"--fill 9 --seed {seeds}\",{reads},40,1\n")
    };
    let command = "vm validate --kernel-counts a.csv --against b.csv --group workloads";
    let strange = format!("{}{select}ubifs,read,0,0,,,--requests 3,8,0,0\n", update("4,5", 200));
    let cases = [
        (select.to_owned(), "b.csv: lacks the cell jffs2 update --fill 9 --seed 1,2"),
        (strange, "a.csv: lacks the cell ubifs read --requests 3"),
        (
            update("4", 1) + &update("5", 1),
            "b.csv: has the cell jffs2 update --fill 9 --seed 4 twice",
        ),
        ("jffs2,update\n".to_owned(), "b.csv: CSV error"),
    ];
    for (rows, wanted) in cases {
        write("b.csv", &rows);
        let line = complaint_of(folder.path(), command);
        assert!(line.contains(wanted), "{wanted}: {line}");
    }
    write("b.csv", &(update("4,5", 212) + select));
    let finished = flysch(folder.path(), &format!("{command} --format csv"));
    let rows: Vec<&str> = finished.stdout.lines().skip(1).collect();
    assert!(rows[0].contains(",200.0,212.0,0.06,40.0,40.0,0.0,"), "{rows:?}");
    assert_eq!((rows.len(), finished.code), (2, Some(1)), "{}", finished.stderr);
    let said = finished.stderr.lines().last().expect("a verdict");
    let wanted = "workloads: 95th percentile of page reads: 6.0 %, and 5 % are allowed";
    assert!(said.contains(wanted), "{said}");
    let same = "vm validate --kernel-counts a.csv --against a.csv --show summary";
    let finished = flysch(folder.path(), same);
    assert!(finished.stdout.contains("workloads") && finished.code == Some(0));
    let line = complaint_of(
        folder.path(),
        "vm validate --kernel-counts a.csv --against a.csv --group reads",
    );
    assert!(line.contains("has no cell of the groups"), "{line}");
    write("grid.csv", grid);
    let line = complaint_of(folder.path(), "vm validate --again grid.csv --store none");
    assert!(line.contains("grid.csv: has no cell of what users run"), "{line}");
    let line = complaint_of(folder.path(), "vm validate --again a.csv --seed 7 --store none");
    assert!(line.contains("`flysch vm setup`"), "{line}");
}

#[test]
fn a_guest_that_cannot_be_is_one_line() {
    let folder = TempDir::new().unwrap();
    let check = |arguments: &str, wanted: &str| {
        let line = complaint_of(folder.path(), arguments);
        assert!(line.contains(wanted), "{arguments}: {line}");
    };
    let guest = "--store none --chip nandsim --blocks 400 --no-delays --ecc soft --pram 16 \
                 --module yaffs2.ko --accelerator tcg --limit 60";
    check(&format!("vm bench {guest} insert --on kernel:jffs2"), "`flysch vm setup` makes it");
    check("vm validate --quick --store none --csv a.csv --page a.html", "`flysch vm setup`");
    check("vm validate --store none --csv a.csv --force", "`flysch vm setup`");
    check("vm validate --group workloads --draw 4 --seed 3 --store none", "`flysch vm setup`");
    check("vm validate --group workload --store none", "invalid value 'workload'");
    check("vm shell --store none", "`flysch vm setup`");
    check("vm validate --kernel-counts none.csv", "none.csv: No such file");
    fs::write(folder.path().join("mine.csv"), "mine").expect("a writable folder");
    check("vm bench insert --latencies mine.csv", "mine.csv: exists; --force replaces it");
    fs::remove_file(folder.path().join("mine.csv")).expect("it is there");
    check("vm bench --blocks 4000 insert", "the chip has 2048");
    check("vm bench insert --partition-blocks 4000", "the chip has 2048");
    check("vm bench insert --partition-blocks=1..3", "a guest takes one");
    check("vm bench insert --part nandsim,mlc", "a guest takes one");
    check("vm bench insert --ecc softly", "unknown ECC 'softly'");
    check("vm bench --chip nandsin insert", "did you mean 'nandsim'?");
    check("vm bench --accelerator xen insert", "unknown accelerator 'xen'");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    let help = output_of(folder.path(), "vm setup --help");
    assert!(help.contains("--kernel") && help.contains("--store"), "{help}");
}

#[test]
fn parts_and_platforms_are_listed_shown_and_begun() {
    let folder = TempDir::new().unwrap();
    for (kind, name, figure) in
        [("part", "w25n01gv", "erase_ns"), ("platform", "am62-6.12", "copy_ps_per_byte")]
    {
        let listed = output_of(folder.path(), &format!("{kind} list"));
        assert!(listed.contains(name), "{listed}");
        let shown = output_of(folder.path(), &format!("{kind} show {name}"));
        assert!(shown.contains(figure) && shown.starts_with('#'), "{shown}");
        let new = format!("{kind} new mine --like {name} --out {kind}.toml");
        assert_eq!(output_of(folder.path(), &new), "");
        let run = format!("bench insert --{kind} {kind}.toml --requests 5");
        assert!(output_of(folder.path(), &run).contains("mine"), "{kind}");
    }
}

/// A platform may name the file of a part, which stands beside its own.
#[test]
fn a_platform_names_a_part_file() {
    let folder = TempDir::new().unwrap();
    let boards = folder.path().join("boards");
    fs::create_dir(&boards).unwrap();
    output_of(folder.path(), "part new mychip --like mt29f2g08 --out boards/mychip.toml");
    output_of(folder.path(), "platform new mine --like am62-6.12 --out boards/mine.toml");
    let text = fs::read_to_string(boards.join("mine.toml")).unwrap();
    let named = text.replace("part = \"w25n01gv\"", "part = \"mychip.toml\"");
    assert_ne!(text, named);
    fs::write(boards.join("mine.toml"), named).unwrap();
    let run = "bench insert --platform boards/mine.toml --requests 5 --format csv";
    assert!(output_of(folder.path(), run).contains(",mychip,"));
    fs::remove_file(boards.join("mychip.toml")).unwrap();
    let line = complaint_of(folder.path(), run);
    assert!(line.contains("part boards/mychip.toml: "), "{line}");
}
