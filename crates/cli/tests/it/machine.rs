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
    check("bench insert --on kernel:jfs2", &["did you mean 'kernel:jffs2'?"]);
    check("bench insert --on kernel:jffs2 --hook chips", &["did you mean 'chip'?"]);
    check("trace live --hook nand", &["unknown hook 'nand'"]);
    fs::write(folder.path().join("a.trace"), "").unwrap();
    check("trace a.trace live", &["it takes no file"]);
    check("trace", &["not provided: <FILE>"]);
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
    check("vm shell --store none", "`flysch vm setup`");
    check("vm validate --kernel-counts none.csv", "none.csv: No such file");
    fs::write(folder.path().join("mine.csv"), "mine").expect("a writable folder");
    check("vm bench insert --latencies mine.csv", "mine.csv: exists; --force replaces it");
    fs::remove_file(folder.path().join("mine.csv")).expect("it is there");
    check("vm bench --blocks 4000 insert", "the chip has 2048");
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
        let run = format!("bench insert --{kind} {kind}.toml --requests 5 --fill 5");
        assert!(output_of(folder.path(), &run).contains("mine"), "{kind}");
    }
}
