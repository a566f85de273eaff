//! SQLite's own shell.

use std::fs;

use super::{folder, installed, names, native, output_of};

const SCRIPT: &str = "CREATE TABLE t(a, b); CREATE INDEX ta ON t(a); \
    INSERT INTO t VALUES (1, 'one'), (2, 'two'); UPDATE t SET b = 'drei' WHERE a = 2; \
    SELECT * FROM t; PRAGMA integrity_check;";

#[test]
fn the_shell_says_what_it_says_natively_and_the_host_keeps_nothing() {
    let Some(shell) = installed("sqlite3") else { return };
    for stack in ["sqlite/jffs2", "sqlite/yaffs2", "sqlite/ubifs", "sqlite/ftl", "sqlite/tmpfs"] {
        let folder = folder();
        let ran = output_of(folder.path(), &format!("--on {stack}"), &[&shell, "a.db", SCRIPT]);
        assert_eq!(names(folder.path()), [""; 0], "{stack}");
        assert_eq!(ran.stdout, native(folder.path(), &[&shell, "a.db", SCRIPT]), "{stack}");
        assert_eq!(ran.figures["on"], stack);
        assert_eq!(ran.figures["requests"], 6);
        let programs = ran.figures["page_programs"].as_u64().expect("a count");
        assert_eq!(programs == 0, stack == "sqlite/tmpfs", "{stack}: {programs}");
    }
}

#[test]
fn the_machine_outlives_the_processes() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let script = format!(
        "{shell} a.db 'PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(7)' && \
         {shell} a.db 'INSERT INTO t VALUES(8); SELECT * FROM t'"
    );
    let ran = output_of(folder.path(), "--on sqlite/ubifs", &["sh", "-c", &script]);
    assert_eq!(ran.stdout, "wal\n7\n8\n");
}

#[test]
fn a_process_that_is_killed_leaves_a_hot_journal_to_the_next() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let script = format!(
        "{shell} a.db 'CREATE TABLE t(x); INSERT INTO t VALUES(1)'; {shell} a.db \
         'PRAGMA cache_size=2; BEGIN' \
         'INSERT INTO t SELECT randomblob(900) FROM generate_series(1,500)' '.shell kill -9 $PPID'; \
         {shell} a.db 'SELECT count(*) FROM t; PRAGMA integrity_check'"
    );
    let ran = output_of(folder.path(), "", &["sh", "-c", &script]);
    assert!(ran.stdout.ends_with("1\nok\n"), "{}", ran.stdout);
}

#[test]
fn a_database_is_copied_in_and_written_back_if_asked() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let path = folder.path().join("a.db");
    native(folder.path(), &[&shell, "a.db", "CREATE TABLE t(x); INSERT INTO t VALUES(1)"]);
    let before = fs::read(&path).expect("a database");
    let add = [shell.as_str(), "a.db", "INSERT INTO t VALUES(2); SELECT * FROM t"];
    let ran = output_of(folder.path(), "", &add);
    assert_eq!((ran.stdout.as_str(), ran.figures["block_erases"].as_u64()), ("1\n2\n", Some(0)));
    assert_eq!(fs::read(&path).expect("a database"), before, "the host keeps its own");
    output_of(folder.path(), "--write-back", &add);
    assert_eq!(native(folder.path(), &[&shell, "a.db", "SELECT * FROM t"]), "1\n2\n");
    assert_eq!(names(folder.path()), ["a.db"]);
}

#[test]
fn the_shell_runs_the_same_way_twice() {
    let Some(shell) = installed("sqlite3") else { return };
    let traces = [folder(), folder()].map(|folder| {
        let options = "--pace none --now 1700000000 --on sqlite/ubifs --trace s.trace";
        let script = "CREATE TABLE t(a, b); INSERT INTO t SELECT random(), datetime() FROM \
            generate_series(1, 500); CREATE INDEX ta ON t(a); DELETE FROM t WHERE a > 0; VACUUM";
        let twice = format!("{shell} a.db '{script}'; {shell} a.db 'SELECT max(a), max(b) FROM t'");
        let ran = output_of(folder.path(), options, &["sh", "-c", &twice]);
        assert!(ran.stdout.ends_with("|2023-11-14 22:13:20\n"), "{}", ran.stdout);
        (ran.stdout, fs::read(folder.path().join("s.trace")).expect("a trace"))
    });
    assert!(traces[0] == traces[1], "the same events");
}
