//! What it costs to run a program here: beside a native run, and beside `flysch bench` with the
//! same statements.
//!
//! Other processes can only make a run longer. So of several runs, the shortest counts, and they go
//! on until it is short enough or there were many.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{folder, native, output_of};
use crate::command;

/// Updates of one row each, as the workload `commit` of `flysch bench` makes them.
const COMMITS: &str = r#"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
static char text[601];
static unsigned long long seed = 7;
static const char *fresh(void) {
  for (int i = 0; i < 600; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    text[i] = "abcdefghijklmnopqrstuvwxyz012345"[seed >> 59];
  }
  return text;
}
int main(int argc, char **argv) {
  sqlite3 *db;
  char sql[800];
  int count = atoi(argv[2]);
  if (argc < 3 || sqlite3_open(argv[1], &db)) return 1;
  sqlite3_exec(db, "CREATE TABLE table1 (id INTEGER PRIMARY KEY, val TEXT);", 0, 0, 0);
  sqlite3_exec(db, "BEGIN;", 0, 0, 0);
  for (int i = 1; i <= 500; i++) {
    snprintf(sql, sizeof sql, "INSERT INTO table1 VALUES (%d, '%s');", i, fresh());
    sqlite3_exec(db, sql, 0, 0, 0);
  }
  sqlite3_exec(db, "COMMIT;", 0, 0, 0);
  for (int i = 0; i < count; i++) {
    const char *val = fresh();
    int id = 1 + (int)((seed >> 40) % 500);
    snprintf(sql, sizeof sql, "UPDATE table1 SET val = '%s' WHERE id = %d;", val, id);
    if (sqlite3_exec(db, sql, 0, 0, 0)) return 1;
  }
  return sqlite3_close(db);
}
"#;

const ATTEMPTS: usize = 8;

#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn built(folder: &Path) -> bool {
    fs::write(folder.join("p.c"), COMMITS).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.current_dir(folder).args(["-O2", "-w", "p.c", "-o", "p", "-lsqlite3"]);
    let is_built = compiler.output().expect("a C compiler").status.success();
    if !is_built {
        eprintln!("skipped: libsqlite3-dev is not installed");
    }
    is_built
}

#[expect(clippy::disallowed_methods, reason = "the cost of the command itself")]
fn timed(work: impl FnOnce()) -> Duration {
    let since = Instant::now();
    work();
    since.elapsed()
}

/// Time two kinds of runs in turn until the shortest of the first is within what the shortest of
/// the other allows. Returns both.
fn measured(
    mut first: impl FnMut(),
    mut other: impl FnMut(),
    allowed: impl Fn(Duration) -> Duration,
) -> (Duration, Duration) {
    let mut shortest = (Duration::MAX, Duration::MAX);
    for _ in 0..ATTEMPTS {
        shortest.0 = shortest.0.min(timed(&mut first));
        shortest.1 = shortest.1.min(timed(&mut other));
        if shortest.0 <= allowed(shortest.1) {
            break;
        }
    }
    shortest
}

#[test]
#[ignore = "times differ with the machine: by hand, in a release build, with --ignored"]
fn in_memory_a_run_takes_at_most_three_times_as_long_as_natively() {
    // The native run has its files in memory, too.
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    if !built(folder.path()) {
        return;
    }
    let program = ["./p", "p.db", "10000"];
    let simulated = || drop(output_of(folder.path(), "--on sqlite/tmpfs", &program));
    let natively = || {
        native(folder.path(), &program);
        fs::remove_file(folder.path().join("p.db")).expect("a database");
    };
    let allowed = |native: Duration| native * 3 + Duration::from_millis(50);
    let (run, native) = measured(simulated, natively, allowed);
    assert!(run <= allowed(native), "{run:?}, natively {native:?}");
}

#[test]
#[ignore = "times differ with the machine: by hand, in a release build, with --ignored"]
fn on_flash_a_run_takes_hardly_longer_than_the_same_statements_of_bench() {
    let folder = folder();
    if !built(folder.path()) {
        return;
    }
    for stack in ["sqlite/jffs2", "sqlite/ftl"] {
        let options = format!("--on {stack} --partition-blocks 400");
        let simulated = || drop(output_of(folder.path(), &options, &["./p", "p.db", "3000"]));
        let line = format!("bench commit {options} --requests 3000 --fill 500 --record-size 600");
        let bench = || drop(command::output_of(folder.path(), &line));
        let allowed = |bench: Duration| bench * 13 / 10;
        let (run, bench) = measured(simulated, bench, allowed);
        assert!(run <= allowed(bench), "{stack}: {run:?}, bench {bench:?}");
    }
}
