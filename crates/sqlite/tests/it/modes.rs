//! Every journal mode commits and rolls back. The write-ahead log needs shared memory or an
//! exclusive lock.

use std::rc::Rc;

use flysch_sqlite::{Era, JournalMode, LockingMode, Settings, SyncFlags, Synchronous, Value};

use crate::medium::Medium;

const MODES: [JournalMode; 6] = [
    JournalMode::Delete,
    JournalMode::Truncate,
    JournalMode::Persist,
    JournalMode::Wal,
    JournalMode::Memory,
    JournalMode::Off,
];

fn check_commit_and_rollback(settings: Settings) {
    let medium = Rc::new(Medium::new(settings, 1));
    let database = medium.open().unwrap();
    database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, val TEXT)").unwrap();
    database.execute("BEGIN; INSERT INTO t VALUES(1, 'kept'); COMMIT").unwrap();
    // Without a journal a rollback is undefined.
    if settings.journal_mode != JournalMode::Off {
        database.execute("BEGIN; INSERT INTO t VALUES(2, 'undone'); ROLLBACK").unwrap();
    }
    database.close().unwrap();
    let rows = medium.open().unwrap().query("SELECT id, val FROM t").unwrap();
    assert_eq!(rows, [[Value::Integer(1), Value::Text(b"kept".to_vec())]], "{settings:?}");
    assert_eq!(Rc::strong_count(&medium), 1, "a closed database is not registered any more");
}

#[test]
fn every_mode_commits_and_rolls_back() {
    for era in [Era::V3_7, Era::Today] {
        for journal_mode in MODES {
            for synchronous in [Synchronous::Off, Synchronous::Normal, Synchronous::Extra] {
                let settings = Settings { journal_mode, synchronous, ..era.settings() };
                check_commit_and_rollback(settings);
            }
        }
    }
}

#[test]
fn an_era_sets_the_page_size_and_the_journal_sector() {
    let cases = [(Era::V3_7, 1024, 512), (Era::Today, 4096, 512)];
    for (era, page_size, sector_size) in cases {
        let settings = Settings { journal_mode: JournalMode::Persist, ..era.settings() };
        let medium = Rc::new(Medium::new(settings, 1));
        medium.open().unwrap().execute("CREATE TABLE t(x); PRAGMA user_version = 7").unwrap();
        assert_eq!(medium.file("main.db").unwrap().len(), 2 * page_size, "{era:?}");
        let calls = &medium.state.borrow().calls;
        let header = format!("main.db-journal write {sector_size} ");
        assert!(calls.iter().any(|call| call.starts_with(&header)), "{era:?}");
    }
}

/// Full syncs are those that `PRAGMA fullfsync` asks for; of a journal they are of its data alone.
#[test]
fn syncs_are_of_the_kind_that_is_asked_for() {
    for is_full in [false, true] {
        let medium = Rc::new(Medium::new(Era::Today.settings(), 1));
        let database = medium.open().unwrap();
        let statement = format!("PRAGMA fullfsync = {is_full}; CREATE TABLE t(x)");
        database.execute(&statement).unwrap();
        let calls = &medium.state.borrow().calls;
        let has = |full: bool, data_only: bool| {
            let flags = format!("{:?}", SyncFlags { full, data_only });
            calls.iter().any(|call| call.contains(&flags))
        };
        let kinds = [has(false, false), has(false, true), has(true, false), has(true, true)];
        assert_eq!(kinds, [!is_full, false, is_full, is_full], "{calls:?}");
    }
}

#[test]
fn hints_tell_what_sqlite_is_about_to_do() {
    let cases: [(JournalMode, &[&str]); 2] = [
        (JournalMode::Delete, &["main.db Sync", "main.db CommitPhaseTwo", "main.db Overwrite"]),
        (JournalMode::Wal, &["main.db CheckpointStart", "main.db Size(", "main.db CheckpointDone"]),
    ];
    for (journal_mode, hints) in cases {
        let settings = Settings { journal_mode, ..Era::Today.settings() };
        let medium = Rc::new(Medium::new(settings, 1));
        medium.open().unwrap().execute("CREATE TABLE t(x); VACUUM").unwrap();
        let calls = &medium.state.borrow().calls;
        for hint in hints {
            assert!(calls.iter().any(|call| call.starts_with(hint)), "{journal_mode}: {hint}");
        }
    }
}

#[test]
fn without_shared_memory_the_write_ahead_log_is_refused_with_the_reason() {
    let settings = Settings { journal_mode: JournalMode::Wal, ..Era::Today.settings() };
    let medium = Rc::new(Medium::without_shared_memory(settings));
    let error = medium.open().err().unwrap();
    assert_eq!(
        error.to_string(),
        "SQLITE_ERROR (1): journal mode wal refused, it stays delete: \
         the file system cannot map shared memory"
    );

    let settings = Settings { locking_mode: LockingMode::Exclusive, ..settings };
    let medium = Rc::new(Medium::without_shared_memory(settings));
    let database = medium.open().unwrap();
    database.execute("CREATE TABLE t(x)").unwrap();
    assert!(medium.file("main.db-wal").is_some_and(|log| !log.is_empty()));
}

#[test]
fn names_are_parsed_and_the_valid_ones_listed() {
    for mode in MODES {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    let unknown = "weird".parse::<Synchronous>().unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown synchronous level 'weird' (known: off, normal, full, extra)"
    );
}
