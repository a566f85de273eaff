//! What goes wrong: one clear line each, and nothing of the user's is changed.

use std::fs;

use super::{folder, installed, names, run};

#[test]
fn a_program_that_does_not_exist() {
    let folder = folder();
    let ran = run(folder.path(), "", &["no-such-program"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "flysch: no-such-program: No such file or directory (os error 2)\n");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn the_exit_code_is_the_program_s() {
    let folder = folder();
    let ran = run(folder.path(), "", &["sh", "-c", "exit 7"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    let ran = run(folder.path(), "", &["sh", "-c", "kill -9 $$"]);
    assert_eq!(ran.code, Some(128 + 9));
    assert_eq!(ran.stderr, "flysch: sh was ended by signal 9\n");
}

#[test]
fn a_program_without_a_shared_sqlite() {
    let folder = folder();
    let ran = run(folder.path(), "", &["true"]);
    assert_eq!(ran.code, Some(0));
    let line =
        "flysch: true opened no database; only an SQLite that is a shared library can be run";
    assert!(ran.stderr.starts_with(line) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn a_device_that_is_full() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    let script = "CREATE TABLE t(x); INSERT INTO t SELECT randomblob(9000) FROM \
        generate_series(1, 2000); SELECT count(*) FROM t";
    let options = "--partition-blocks 40";
    let ran = run(folder.path(), options, &[&shell, "a.db", script]);
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("database or disk is full"), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_no_database() {
    let Some(shell) = installed("sqlite3") else { return };
    let folder = folder();
    fs::write(folder.path().join("a.db"), "this is no database, and long enough to be looked at")
        .expect("a file");
    let ran = run(folder.path(), "", &[&shell, "a.db", "SELECT * FROM t"]);
    assert_ne!(ran.code, Some(0));
    let notice = "a.db is encrypted, or no SQLite database\n";
    assert!(ran.stderr.contains(notice), "{}", ran.stderr);
}

#[test]
fn options_that_make_no_sense() {
    let folder = folder();
    for (options, wanted) in [
        ("--on file/jffs2", "a program brings SQLite"),
        ("--seed 1,2", "a program runs on one machine"),
        ("--partition-blocks 999999", "does not fit on part"),
    ] {
        let ran = run(folder.path(), options, &["true"]);
        assert_eq!(ran.code, Some(2), "{options}");
        assert!(ran.stderr.contains(wanted) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
    let complaint = crate::command::complaint_of(folder.path(), "run --format json -- true");
    assert!(complaint.contains("--format json needs --out"), "{complaint}");
}
