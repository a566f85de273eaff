//! The same seed gives the same bytes and the same calls, even while other threads use SQLite.

use std::rc::Rc;
use std::thread;

use flysch_sqlite::{Era, JournalMode, Settings, Value, Work};

use crate::medium::Medium;

/// Everything that a run produces and that must repeat.
#[derive(PartialEq)]
struct Outcome {
    calls: Vec<String>,
    rows: Vec<Vec<Value>>,
    file: Option<Vec<u8>>,
    work: Work,
}

/// Run statements that make SQLite draw random numbers: nonces, salts, row ids and SQL functions.
fn run(journal_mode: JournalMode, seed: u64) -> Outcome {
    let settings = Settings { journal_mode, cache_size: 10, ..Era::Today.settings() };
    let medium = Rc::new(Medium::new(settings, seed));
    let database = medium.open().unwrap();
    database
        .execute("CREATE TABLE t(id INTEGER PRIMARY KEY, val); CREATE INDEX i ON t(val)")
        .unwrap();
    database.execute("INSERT INTO t VALUES(9223372036854775807, 0)").unwrap();
    let mut work = Work::default();
    for _ in 0..5 {
        let insert = "INSERT INTO t(val) VALUES(randomblob(500)), (random())";
        work += database.execute(insert).unwrap();
    }
    work += database.execute("VACUUM").unwrap();
    let rows = database.query("SELECT id, val FROM t ORDER BY val").unwrap();
    database.close().unwrap();
    let calls = std::mem::take(&mut medium.state.borrow_mut().calls);
    Outcome { calls, rows, file: medium.file("main.db"), work }
}

fn check_repeats(journal_mode: JournalMode, seed: u64, expected: &Outcome) {
    for _ in 0..20 {
        assert!(run(journal_mode, seed) == *expected, "{journal_mode}, seed {seed}");
    }
}

#[test]
fn threads_do_not_change_the_bytes() {
    for journal_mode in [JournalMode::Delete, JournalMode::Persist, JournalMode::Wal] {
        let seeds = [1, 1001];
        let alone = seeds.map(|seed| run(journal_mode, seed));
        assert!(alone[0] != alone[1], "the seed matters");
        assert!(alone[0] == run(journal_mode, 1), "the same seed is the same run");
        thread::scope(|scope| {
            for (seed, expected) in seeds.into_iter().zip(&alone) {
                scope.spawn(move || check_repeats(journal_mode, seed, expected));
            }
        });
    }
}
