//! Two connections over one `Vfs`: which statements have to wait for the other connection.

use std::rc::Rc;

use flysch_sqlite::{Database, Era, JournalMode, Settings, Value};

use crate::medium::Medium;

fn two_connections(journal_mode: JournalMode) -> (Rc<Medium>, Database, Database) {
    let settings = Settings { journal_mode, ..Era::Today.settings() };
    let medium = Rc::new(Medium::new(settings, 1));
    let first = medium.open().unwrap();
    first.execute("CREATE TABLE t(x); INSERT INTO t VALUES(1)").unwrap();
    let second = medium.open().unwrap();
    (medium, first, second)
}

fn count(database: &Database) -> Value {
    database.query("SELECT count(*) FROM t").unwrap().remove(0).remove(0)
}

#[test]
fn a_writer_keeps_the_other_writer_out() {
    for journal_mode in [JournalMode::Delete, JournalMode::Wal] {
        let (_, first, second) = two_connections(journal_mode);
        first.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").unwrap();
        assert_eq!(count(&second), Value::Integer(1), "what is not committed is not seen");
        let error = second.execute("BEGIN IMMEDIATE").unwrap_err();
        assert!(error.is_busy(), "{journal_mode}: {error}");
        first.execute("COMMIT").unwrap();
        assert_eq!(count(&second), Value::Integer(2));
        second.execute("INSERT INTO t VALUES(3)").unwrap();
        assert_eq!(count(&first), Value::Integer(3));
    }
}

/// A journal whose writer is at work is not rolled back, nor waited for. Without syncs its header
/// is whole at once.
#[test]
fn a_reader_takes_no_live_journal_for_a_hot_one() {
    let (_, first, second) = two_connections(JournalMode::Delete);
    first.execute("PRAGMA synchronous = OFF; BEGIN IMMEDIATE; INSERT INTO t VALUES(2)").unwrap();
    assert_eq!(count(&second), Value::Integer(1), "what is not committed is not seen");
    first.execute("COMMIT").unwrap();
    assert_eq!(count(&second), Value::Integer(2));
}

#[test]
fn a_reader_delays_a_commit_unless_there_is_a_log() {
    for (journal_mode, delays) in [(JournalMode::Delete, true), (JournalMode::Wal, false)] {
        let (_, first, second) = two_connections(journal_mode);
        second.execute("BEGIN; SELECT * FROM t").unwrap();
        let committed = first.execute("INSERT INTO t VALUES(2)");
        assert_eq!(committed.as_ref().is_err_and(flysch_sqlite::Error::is_busy), delays);
        assert_eq!(count(&second), Value::Integer(1), "a reader keeps its snapshot");
        second.execute("COMMIT").unwrap();
        assert_eq!(count(&second), Value::Integer(if delays { 1 } else { 2 }));
    }
}

#[test]
fn waiting_for_a_lock_takes_virtual_time() {
    let (medium, first, second) = two_connections(JournalMode::Delete);
    first.execute("BEGIN EXCLUSIVE").unwrap();
    second.execute("PRAGMA busy_timeout = 500").unwrap();
    let before = medium.now_ms.get();
    assert!(second.execute("SELECT * FROM t").unwrap_err().is_busy());
    assert_eq!(medium.now_ms.get() - before, 500);
}
