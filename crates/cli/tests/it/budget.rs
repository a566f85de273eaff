//! Budgets: limits that tests of projects are held to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::command::{Finished, complaint_of, flysch};
use crate::run::programs::has_module;
use crate::run::{folder, installed, names};

/// The files of the document, by name.
fn examples() -> BTreeMap<String, String> {
    let document = include_str!("../../../../docs/budget.md");
    let mut files = BTreeMap::new();
    let mut rest = document;
    while let Some(at) = rest.find("`:\n\n```") {
        let name = rest[..at].rsplit('`').next().expect("a name").to_owned();
        let block = &rest[at + "`:\n\n".len()..];
        let (_, block) = block.split_once('\n').expect("a block");
        let (text, after) = block.split_once("\n```\n").expect("the end of a block");
        files.insert(name, format!("{text}\n"));
        rest = after;
    }
    files
}

fn shell(folder: &Path, line: &str) -> Finished {
    let line = line.replace("flysch ", &format!("{} ", env!("CARGO_BIN_EXE_flysch")));
    let output = Command::new("sh").current_dir(folder).args(["-c", &line]).output();
    let Output { status, stdout, stderr } = output.expect("a shell");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Finished { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Hold an example to its budget, then take a PRAGMA out of it.
fn check(files: &[&str], prepare: &str, budget: &str, command: &str) {
    let (folder, examples) = (folder(), examples());
    for name in files {
        fs::write(folder.path().join(name), &examples[*name]).expect("an example");
    }
    let prepared = |what: &str| {
        let done = shell(folder.path(), prepare);
        assert_eq!(done.code, Some(0), "{what}: {}{}", done.stdout, done.stderr);
    };
    let options = "--on sqlite/ubifs";
    prepared("before");
    let made =
        shell(folder.path(), &format!("flysch budget {budget} {options} --update -- {command}"));
    assert_eq!(made.code, Some(0), "{}{}", made.stdout, made.stderr);
    let held = shell(folder.path(), &format!("flysch budget {budget} {options} -- {command}"));
    assert_eq!(held.code, Some(0), "{}{}", held.stdout, held.stderr);
    let source = folder.path().join(files.last().expect("a source"));
    let text = fs::read_to_string(&source).expect("a source");
    fs::write(&source, text.replace("synchronous=NORMAL", "synchronous=EXTRA")).expect("a source");
    prepared("after");
    let over = shell(folder.path(), &format!("flysch budget {budget} {options} -- {command}"));
    assert_eq!(over.code, Some(1), "{}{}", over.stdout, over.stderr);
    let last = over.stderr.lines().last().expect("a verdict");
    assert!(last.contains("limits exceeded: "), "{last}");
    let guilty = last.split("exceeded: ").nth(1).expect("a statement");
    assert!(guilty.starts_with("INSERT INTO events") || guilty.starts_with("COMMIT"), "{last}");
}

#[test]
fn the_examples_of_the_document_turn_red_by_a_pragma() {
    if installed("python3").is_some() && has_module("pytest") {
        let command = "/usr/bin/python3 -m pytest -q -p no:cacheprovider";
        check(&["test_app.py"], "true", "pytest.toml", command);
    }
    if !Path::new("/usr/include/sqlite3.h").is_file() {
        eprintln!("skipped: CTest and cargo, as there is no /usr/include/sqlite3.h");
        return;
    }
    if installed("ctest").is_some() {
        let prepare = "cmake -B build . >&2 && cmake --build build >&2";
        check(&["CMakeLists.txt", "app.c"], prepare, "ctest.toml", "ctest --test-dir build");
    }
    let prepare = "CARGO_TARGET_DIR=target cargo test --offline --no-run";
    let command = "env CARGO_TARGET_DIR=target cargo test --offline";
    check(&["Cargo.toml", "lib.rs"], prepare, "cargo.toml", command);
}

const PROGRAM: &str = "
import sqlite3, sys
c = sqlite3.connect('a.db', isolation_level=None)
c.execute('create table t(id integer primary key, at text)')
for n in range(20): c.execute('insert into t(at) values(datetime())')
sys.exit(int(sys.argv[1]))
";

#[test]
fn a_hundred_runs_have_one_verdict() {
    let Some(python) = installed("python3") else { return };
    let folder = folder();
    fs::write(folder.path().join("a.py"), PROGRAM).expect("a script");
    let line = format!("run --budget b.toml --on sqlite/jffs2 --update -- {python} a.py 0");
    assert_eq!(flysch(folder.path(), &line).code, Some(0));
    let limits = fs::read_to_string(folder.path().join("b.toml")).expect("a budget");
    assert!(limits.contains("matches = \"insert into t (at) values (datetime ())\""), "{limits}");
    for _ in 0..100 {
        let held = flysch(folder.path(), &format!("run --budget b.toml -- {python} a.py 0"));
        assert_eq!(held.code, Some(0), "{}", held.stderr);
    }
    let again = flysch(folder.path(), &format!("budget b.toml --update -- {python} a.py 0"));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("b.toml")).expect("a budget"), limits);
    let own = flysch(folder.path(), &format!("budget b.toml -- {python} a.py 7"));
    assert_eq!(own.code, Some(7), "the program's own failure wins: {}", own.stderr);
}

/// What is asked of files is known by table: an index of which no row changes costs less than its
/// table, and a limit below what was used is exceeded.
#[test]
fn tables_are_held_to_syncs_and_bytes() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    let schema = "CREATE TABLE t(a, b); CREATE INDEX tb ON t(b); CREATE TABLE u(x);\n";
    let inserts = "INSERT INTO t VALUES(1, 7);\n".repeat(20);
    let changes = "UPDATE t SET a = a + 1;\n".repeat(20);
    write("s.sql", &format!("{schema}BEGIN;\n{inserts}COMMIT;\n{changes}"));
    let of = |table: &str, limits: &str| format!("[[table]]\nname = \"{table}\"\n{limits}\n");
    let limits = "syncs = 0\nbytes_written = 0";
    let timed = format!("{limits}\ntime_ms = 0");
    write("b.toml", &format!("{}{}", of("t", &timed), of("tb", limits)));
    let over = flysch(folder.path(), "replay s.sql --budget b.toml");
    assert_eq!(over.code, Some(1), "{}", over.stderr);
    assert!(over.stderr.contains("5 limits exceeded: t: "), "{}", over.stderr);
    let updated = flysch(folder.path(), "replay s.sql --budget b.toml --update");
    assert_eq!(updated.code, Some(0), "{}", updated.stderr);
    let text = fs::read_to_string(folder.path().join("b.toml")).expect("a budget");
    let used = |place: usize, what: &str| -> f64 {
        let start = format!("{what} = ");
        let mut values = text.lines().filter_map(|line| line.strip_prefix(&start));
        values.nth(place).and_then(|value| value.parse().ok()).expect("a count")
    };
    // Each update writes the page of the table to the journal and to the database, and both are
    // synced. The index is written with the schema and the inserts alone.
    for what in ["syncs", "bytes_written"] {
        assert!(used(0, what) > 5.0 * used(1, what), "{text}");
    }
    assert!(used(0, "syncs") >= 40.0 && used(0, "bytes_written") >= 40.0 * 4096.0, "{text}");
    assert_eq!(flysch(folder.path(), "replay s.sql --budget b.toml").code, Some(0));
}

#[test]
fn a_replay_is_held_to_a_budget_and_bad_ones_are_refused() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("s.sql", "CREATE TABLE t(x); INSERT INTO t VALUES(1); INSERT INTO t VALUES(2);");
    let limits = "[all]\nsyncs = 1000\n[[statement]]\nmatches = \"INSERT*\"\nper_execution = { syncs = 1 }\n\
        [[statement]]\nmatches = \"DELETE*\"\nprograms = 1\n[[table]]\nname = \"u\"\nerases = 0\n";
    write("b.toml", limits);
    let over = flysch(folder.path(), "replay s.sql --budget b.toml");
    assert_eq!(over.code, Some(1), "{}", over.stderr);
    assert!(over.stderr.contains("no statement matches 'DELETE*'"), "{}", over.stderr);
    assert!(over.stderr.contains("there is no table or index 'u'"), "{}", over.stderr);
    assert!(
        over.stderr.ends_with("1 limits exceeded: INSERT*: 3 syncs per execution, at most 1\n"),
        "{}",
        over.stderr
    );
    let updated = flysch(folder.path(), "replay s.sql --budget b.toml --update");
    assert_eq!(updated.code, Some(0), "{}", updated.stderr);
    assert_eq!(flysch(folder.path(), "replay s.sql --budget b.toml").code, Some(0));
    for (limits, wanted) in [
        ("[all]\nprogrammes = 7\n", "b.toml: line 2: unknown field `programmes`"),
        ("[[statement]]\nmatches = \"a\"\nreads = 1\n", "unknown limit `reads`"),
        ("not toml at all", "b.toml: line 1: "),
    ] {
        write("b.toml", limits);
        let line = complaint_of(folder.path(), "replay s.sql --budget b.toml --update");
        assert!(line.contains(wanted), "{line}");
        assert_eq!(fs::read_to_string(folder.path().join("b.toml")).expect("a budget"), limits);
    }
    let line = complaint_of(folder.path(), "budget none.toml -- true");
    assert!(line.contains("none.toml: No such file"), "{line}");
    let line = complaint_of(folder.path(), "run --update -- true");
    assert!(line.contains("--update needs --budget FILE"), "{line}");
    for (line, wanted) in [
        ("budget b.toml --budget c.toml -- true", "--budget c.toml: b.toml is the budget"),
        ("budget b.toml --pace measured -- true", "--pace measured: with --budget, the program's"),
        ("replay s.sql --budget b.toml --pace recorded", "--pace recorded: with --budget, the"),
    ] {
        let said = complaint_of(folder.path(), line);
        assert!(said.contains(wanted), "{said}");
    }
    assert_eq!(names(folder.path()), ["b.toml", "s.sql"]);
}
