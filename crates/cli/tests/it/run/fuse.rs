//! `flysch run --fuse`: programs without a shared SQLite, in a folder on the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::blame::check_sums;
use super::calls::compare;
use super::{Ran, folder, installed, names, native, output_of, run};
use crate::command::flysch;

/// Its SQLite is part of it.
const STATIC: &str = r#"
#include <sqlite3.h>
#include <stdio.h>
static void run(sqlite3 *db, const char *sql) {
  char *message = 0;
  if (sqlite3_exec(db, sql, 0, 0, &message)) printf("%s\n", message);
}
int main(int argc, char **argv) {
  sqlite3 *db;
  char sql[200];
  if (argc < 3 || sqlite3_open(argv[1], &db)) return 1;
  snprintf(sql, sizeof sql, "PRAGMA journal_mode=%s", argv[2]);
  run(db, sql);
  run(db, "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, tag TEXT)");
  run(db, "CREATE INDEX IF NOT EXISTS t_tag ON t(tag)");
  for (unsigned n = 0; n < 150; n++) {
    snprintf(sql, sizeof sql, "INSERT INTO t(tag) VALUES('%08x of it')", n * 2654435761u);
    run(db, sql);
  }
  run(db, "DELETE FROM t WHERE id % 4 = 0; VACUUM");
  sqlite3_stmt *count;
  sqlite3_prepare_v2(db, "SELECT count(*), max(tag) FROM t", -1, &count, 0);
  sqlite3_step(count);
  printf("%d %s\n", sqlite3_column_int(count, 0), sqlite3_column_text(count, 1));
  sqlite3_finalize(count);
  FILE *notes = fopen("notes.txt", "a");
  for (int n = 0; n < 3000; n++) fprintf(notes, "line %d of the notes\n", n);
  fclose(notes);
  return sqlite3_close(db);
}
"#;

/// Whether folders can be mounted. As root, the device is made where it is missing.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn can_mount() -> bool {
    if !Path::new("/dev/fuse").exists() {
        // Without the right to make it, the open below says so.
        Command::new("mknod").args(["/dev/fuse", "c", "10", "229"]).status().ok();
    }
    let opened = fs::File::options().read(true).write(true).open("/dev/fuse");
    if let Err(error) = &opened {
        eprintln!("skipped: /dev/fuse: {error}");
    }
    opened.is_ok()
}

/// Build the program in a folder.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn built(folder: &Path) -> bool {
    fs::write(folder.join("p.c"), STATIC).expect("a source");
    let libraries = ["-lsqlite3", "-lm", "-ldl", "-lpthread"];
    let mut compiler = Command::new("cc");
    compiler.current_dir(folder).args(["-static", "-w", "p.c", "-o", "p"]).args(libraries);
    let output = compiler.output().expect("a C compiler");
    if !output.status.success() {
        eprintln!("skipped: libsqlite3-dev is not installed");
    }
    output.status.success()
}

fn row<'a>(ran: &'a Ran, list: &str, key: &str, name: &str) -> &'a serde_json::Value {
    let rows = ran.figures[list].as_array().expect("rows");
    rows.iter().find(|row| row[key] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[test]
fn a_static_program_runs_in_a_folder_of_the_machine() {
    let folder = folder();
    if !can_mount() || !built(folder.path()) {
        return;
    }
    let wanted = native(folder.path(), &["./p", "native.db", "delete"]);
    fs::remove_file(folder.path().join("native.db")).expect("a database");
    fs::remove_file(folder.path().join("notes.txt")).expect("notes");
    for (stack, mode) in
        [("jffs2", "delete"), ("ubifs", "wal"), ("yaffs2", "wal"), ("ftl", "delete")]
    {
        let options = format!("--fuse --on sqlite/{stack}");
        let ran = output_of(folder.path(), &options, &["./p", "p.db", mode]);
        assert_eq!(ran.stdout, wanted, "{stack} {mode}");
        assert_eq!(names(folder.path()), ["p", "p.c"], "{stack}: the host keeps its own");
        check_sums(&ran.figures, stack);
        let programs = |row: &serde_json::Value| row["page_programs"].as_u64().expect("a count");
        assert!(programs(row(&ran, "by_table", "name", "t_tag")) > 50, "{stack}");
        if stack == "jffs2" {
            // Elsewhere the notes wait in the page cache, as nothing syncs them.
            assert!(programs(row(&ran, "by_table", "name", "notes.txt")) > 0, "{stack}");
        }
        let log = if mode == "wal" { "(file p.db-wal)" } else { "(file p.db-journal)" };
        assert!(programs(row(&ran, "by_statement", "statement", log)) > 50, "{stack}");
    }
    for mode in ["delete", "wal"] {
        compare(folder.path(), "--fuse --on sqlite/ubifs", &["./p", "p.db", mode]);
        fs::remove_file(folder.path().join("p.db")).expect("a database");
    }
}

#[test]
fn a_log_cannot_be_shared_where_the_kernel_does_not_map_files() {
    let folder = folder();
    if !can_mount() || !built(folder.path()) {
        return;
    }
    let ran = run(folder.path(), "--fuse --on sqlite/jffs2", &["./p", "p.db", "wal"]);
    assert!(ran.stdout.contains("disk I/O error"), "{} {}", ran.stdout, ran.stderr);
}

#[test]
fn what_the_folder_holds_is_copied_in_and_written_back_if_asked() {
    let (Some(shell), true) = (installed("sqlite3"), can_mount()) else { return };
    let folder = folder();
    let path = folder.path().join("a.db");
    native(folder.path(), &[&shell, "a.db", "CREATE TABLE t(x); INSERT INTO t VALUES(1)"]);
    fs::write(folder.path().join("words"), "some words\n").expect("a file");
    let before = fs::read(&path).expect("a database");
    let script = "cat words; sqlite3 a.db 'INSERT INTO t VALUES(2); SELECT * FROM t'; ls; \
        mkdir d; echo more > d/f; mv d/f d/g; cat d/g; rm words; cat words; rm -r d; ls";
    let ran = run(folder.path(), "--fuse", &["sh", "-c", script]);
    let wanted = "some words\n1\n2\na.db\nfigures.json\nwords\nmore\na.db\nfigures.json\n";
    assert_eq!(ran.stdout.replace("figures.json\n", ""), wanted.replace("figures.json\n", ""));
    assert!(ran.stderr.contains("words: No such file or directory"), "{}", ran.stderr);
    assert_eq!(fs::read(&path).expect("a database"), before);
    assert_eq!(names(folder.path()), ["a.db", "words"]);
    output_of(folder.path(), "--fuse --write-back", &["sh", "-c", script]);
    assert_eq!(native(folder.path(), &[&shell, "a.db", "SELECT * FROM t"]), "1\n2\n");
    assert_eq!(names(folder.path()), ["a.db", "words"]);
}

/// Random numbers of the program's SQLite change no count where nothing is compressed.
#[test]
fn a_budget_of_a_folder_holds_in_each_run() {
    let (Some(shell), true) = (installed("sqlite3"), can_mount()) else { return };
    let folder = folder();
    let rows = "INSERT INTO t VALUES(1);".repeat(20);
    fs::write(folder.path().join("s"), format!("CREATE TABLE t(x);{rows}")).expect("a script");
    for options in ["--on sqlite/jffs2 --compression none", "--on sqlite/ftl"] {
        for update in ["--update", "", "", ""] {
            let line =
                format!("budget b.toml --fuse {options} {update} -- {shell} -init s a.db .quit");
            let held = flysch(folder.path(), &line);
            assert_eq!(held.code, Some(0), "{line}: {}", held.stderr);
        }
    }
}

#[test]
fn a_program_that_is_not_there_and_a_machine_that_is_full() {
    let folder = folder();
    if !can_mount() || !built(folder.path()) {
        return;
    }
    let ran = run(folder.path(), "--fuse", &["no-such-program"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "flysch: no-such-program: No such file or directory\n");
    let script = "dd if=/dev/urandom of=f bs=65536 count=200";
    let ran = run(folder.path(), "--fuse --partition-blocks 40", &["sh", "-c", script]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("No space left on device"), "{}", ran.stderr);
}

#[test]
fn a_run_that_is_killed_leaves_no_folder_mounted() {
    let folder = folder();
    if !can_mount() {
        return;
    }
    let ran = run(folder.path(), "--fuse", &["sh", "-c", "echo > f; pwd; kill -9 $PPID"]);
    assert_eq!(ran.code, None, "{}", ran.stderr);
    let place = Path::new(ran.stdout.trim_end()).to_path_buf();
    let is_gone = || !place.exists();
    let gone = (0..200).any(|_| {
        std::thread::park_timeout(std::time::Duration::from_millis(50));
        is_gone()
    });
    assert!(gone, "{}", place.display());
}
