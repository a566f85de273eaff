//! What it costs to run a program here: beside a native run, and beside `flysch bench` with the
//! same statements.
//!
//! Other processes can only make a run longer: of several runs the shortest counts.
//!
//! `cargo bench -p flysch-cli`; it needs a C compiler and the headers of SQLite.

#![expect(clippy::print_stdout, reason = "what it measures is printed")]
#![expect(clippy::disallowed_methods, reason = "the cost of the command itself")]
#![expect(clippy::expect_used, reason = "a bench that cannot run says why")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Updates of one row each, as the workload `commit` of `flysch bench` makes them, of texts that
/// compress as well.
const COMMITS: &str = r#"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
static char text[601];
static unsigned long long seed = 7;
static const char *fresh(void) {
  for (int i = 0; i < 600; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[seed >> 58];
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

const ATTEMPTS: usize = 5;

fn main() {
    // The native run has its files in memory, too.
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let folder = folder.path();
    fs::write(folder.join("p.c"), COMMITS).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.current_dir(folder).args(["-O2", "-w", "p.c", "-o", "p", "-lsqlite3"]);
    assert!(compiler.status().expect("a C compiler").success(), "libsqlite3-dev is installed");
    let natively = shortest(|| {
        run(folder, "./p", "p.db 10000");
        fs::remove_file(folder.join("p.db")).expect("a database");
    });
    let simulated = shortest(|| flysch(folder, "run --on sqlite/tmpfs -- ./p p.db 10000"));
    println!("sqlite/tmpfs: {simulated:?}, natively {natively:?}; at most 3 times and 50 ms");
    for stack in ["jffs2", "ubifs", "yaffs2", "ftl"] {
        let options = format!("--on sqlite/{stack} --partition-blocks 400");
        let simulated = shortest(|| flysch(folder, &format!("run {options} -- ./p p.db 10000")));
        let line = format!(
            "bench commit {options} --requests 10000 --fill 500 --record-size 600 --alphabet base64"
        );
        let bench = shortest(|| flysch(folder, &line));
        let ratio = simulated.as_secs_f64() / bench.as_secs_f64();
        println!("sqlite/{stack}: {simulated:?}, bench {bench:?}: {ratio:.2} times; at most 1.3");
    }
}

fn flysch(folder: &Path, line: &str) {
    run(folder, env!("CARGO_BIN_EXE_flysch"), line);
}

fn run(folder: &Path, program: &str, line: &str) {
    let mut command = Command::new(program);
    command.current_dir(folder).args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().expect("a program").success(), "{program} {line}");
}

fn shortest(work: impl Fn()) -> Duration {
    let times = (0..ATTEMPTS).map(|_| {
        let since = Instant::now();
        work();
        since.elapsed()
    });
    times.min().unwrap_or_default()
}
