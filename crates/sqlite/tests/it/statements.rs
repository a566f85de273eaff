//! Statement text, values, and the work that is counted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use flysch_sqlite::{Database, Era, File, SpillFile, SyncFlags, Value, VfsError, Work};

use crate::medium::{Fault, Medium};

fn database() -> (Rc<Medium>, Database) {
    let medium = Rc::new(Medium::new(Era::Today.settings(), 1));
    let database = medium.open().unwrap();
    (medium, database)
}

#[test]
fn text_may_be_any_bytes_but_nul_and_apostrophe() {
    let (_, database) = database();
    let text = (1..=255).filter(|byte| *byte != b'\'').collect::<Vec<u8>>();
    database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, val TEXT)").unwrap();
    let insert = [b"INSERT INTO t VALUES(1, '".as_slice(), &text, b"')"].concat();
    database.execute(insert).unwrap();
    assert_eq!(database.query("SELECT val FROM t").unwrap(), [[Value::Text(text)]]);
    let error = database.execute(b"SELECT 1; \0 SELECT 2").unwrap_err();
    assert_eq!(error.name(), "SQLITE_MISUSE");
}

#[test]
fn values_keep_their_types_and_work_is_counted() {
    let (_, database) = database();
    let sql = "SELECT NULL, -5, 0.5, 'a', x'00ff', ''; -- a comment\n SELECT 1 UNION SELECT 2;;";
    let first = [
        Value::Null,
        Value::Integer(-5),
        Value::Real(0.5),
        Value::Text(b"a".to_vec()),
        Value::Blob(vec![0, 255]),
        Value::Text(Vec::new()),
    ];
    let rows = database.query(sql).unwrap();
    assert_eq!(rows, [first.as_slice(), &[Value::Integer(1)], &[Value::Integer(2)]]);
    let work = database.execute(sql).unwrap();
    let counted = Work {
        vm_steps: work.vm_steps,
        statements: 2,
        rows: 3,
        columns: first.len() as u64 + 1,
        ..Work::default()
    };
    assert_eq!(work, counted);
    assert!(work.vm_steps > 10);
    assert_eq!(database.execute(sql), Ok(work), "the same text is the same work");
}

#[test]
fn the_clock_is_the_one_of_the_vfs() {
    let (_, database) = database();
    let rows = database.query("SELECT strftime('%s', 'now'), CURRENT_DATE").unwrap();
    assert_eq!(rows, [[Value::Text(b"1300000000".to_vec()), Value::Text(b"2011-03-13".to_vec())]]);
}

#[test]
fn errors_tell_the_statement_and_the_cause() {
    let (medium, database) = database();
    database.execute("CREATE TABLE t(x)").unwrap();
    let cases = [
        ("SELEC", None, "SQLITE_ERROR (1): near \"SELEC\": syntax error"),
        (
            "INSERT INTO t VALUES(1)",
            Some(VfsError::NoSpace),
            "SQLITE_FULL (13): database or disk is full; the file system answered: no space left",
        ),
    ];
    for (sql, failure, line) in cases {
        let from = medium.call_count() + 1;
        medium.state.borrow_mut().fault = failure.map(|failure| Fault::From(from, failure));
        let error = database.execute(sql).unwrap_err();
        assert_eq!(error.to_string(), line, "{:?}", medium.state.borrow().calls.last());
    }
}

/// The last page of the table ends with a blob. The bytes that are cut off it read as zeros, which
/// no check can notice.
#[test]
fn a_short_read_is_zeros_and_a_missing_page_an_error() {
    let (medium, database) = database();
    let fill = "CREATE TABLE t(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        LIMIT 100) INSERT INTO t SELECT zeroblob(1000) FROM n";
    database.execute(fill).unwrap();
    let size = medium.file("main.db").unwrap().len();
    for (cut, is_sound) in [(1, true), (100, true), (4096, false), (size / 2, false)] {
        medium.resize("main.db", size - cut);
        let rows = medium.open().and_then(|database| database.query("PRAGMA integrity_check"));
        assert_eq!(rows == Ok(vec![vec![Value::Text(b"ok".to_vec())]]), is_sound, "{cut} cut off");
        medium.resize("main.db", size);
    }
}

/// The page cache holds 2 MiB, so the table does not fit into it.
#[test]
fn a_temporary_table_spills_into_a_nameless_file() {
    let (medium, database) = database();
    let fill = "CREATE TEMP TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1
        FROM n LIMIT 3000) SELECT i, zeroblob(1000) AS b FROM n";
    database.execute(fill).unwrap();
    let rows = database.query("SELECT sum(i), sum(length(b)) FROM temp.t").unwrap();
    assert_eq!(rows, [[Value::Integer(4_501_500), Value::Integer(3_000_000)]]);
    let calls = &medium.state.borrow().calls;
    assert!(calls.iter().any(|call| call == "open None TemporaryDatabase"));
    assert!(calls.iter().any(|call| call.starts_with("nameless read")));
}

#[test]
fn a_panic_of_the_vfs_unwinds_out_of_the_call() {
    let (medium, database) = database();
    database.execute("CREATE TABLE t(x)").unwrap();
    let call = medium.call_count();
    medium.state.borrow_mut().fault = Some(Fault::Panic(call + 5));
    let insert = || database.execute("INSERT INTO t VALUES(1)");
    let payload = catch_unwind(AssertUnwindSafe(insert)).unwrap_err();
    let message = payload.downcast_ref::<String>().unwrap();
    assert_eq!(*message, format!("the medium breaks at call {}", call + 5));
    database.execute("INSERT INTO t VALUES(2)").unwrap();
    assert_eq!(database.query("SELECT x FROM t").unwrap(), [[Value::Integer(2)]]);
}

/// A failed run leaves the statement ready to run again, and without a lock.
#[test]
fn a_prepared_statement_runs_again_with_other_values() {
    let (_, database) = database();
    database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, val)").unwrap();
    let mut insert = database.prepare("INSERT INTO t VALUES(?, ?)").unwrap();
    let values = [
        Value::Null,
        Value::from(-7),
        Value::Real(0.25),
        Value::from("it's"),
        Value::Blob(vec![0, 255]),
        Value::Text(Vec::new()),
    ];
    for (id, value) in (1..).zip(&values) {
        insert.run(&[Value::from(id), value.clone()]).unwrap();
    }
    let twice = insert.run(&[Value::from(1), Value::Null]).unwrap_err();
    assert_eq!(twice.name(), "SQLITE_CONSTRAINT_PRIMARYKEY");
    assert_eq!(insert.run(&[Value::Null]).unwrap_err().name(), "SQLITE_RANGE");
    insert.run(&[Value::from(9), Value::from("after")]).unwrap();
    let mut select = database.prepare("SELECT val FROM t WHERE id <= ? ORDER BY id").unwrap();
    let answer = select.run(&[Value::from(6)]).unwrap();
    assert_eq!(answer.rows, values.map(|value| vec![value]));
    assert_eq!((answer.work.rows, answer.work.statements), (6, 1));
    assert!(answer.work.vm_steps > 12);
    assert!(answer.work.pages > 0, "the rows lie in SQLite's cache");
    assert_eq!(select.run(&[Value::from(6)]), Ok(answer), "the same values are the same work");
    database.execute("DROP TABLE t").unwrap();
}

#[test]
fn the_image_of_a_database_in_memory_is_a_database() {
    let (medium, database) = database();
    database.execute("ATTACH ':memory:' AS other; CREATE TABLE other.t(x)").unwrap();
    database.execute("INSERT INTO t VALUES(5)").unwrap();
    let image = database.image("other").unwrap();
    assert_eq!(database.image("none").unwrap_err().name(), "SQLITE_ERROR");
    database.close().unwrap();
    medium.insert("main.db", image);
    assert_eq!(medium.open().unwrap().query("SELECT x FROM t").unwrap(), [[Value::from(5)]]);
}

#[test]
fn a_text_to_prepare_is_one_statement() {
    let (_, database) = database();
    for text in ["", "-- nothing", "SELECT 1; SELECT 2", "SELEC"] {
        let error = database.prepare(text).err().map(|error| error.name());
        let wanted = if text == "SELEC" { "SQLITE_ERROR" } else { "SQLITE_MISUSE" };
        assert_eq!(error, Some(wanted), "{text}");
    }
    assert_eq!(database.prepare("SELECT 1;").unwrap().run(&[]).unwrap().rows, [[Value::from(1)]]);
}

/// The second statement may fail half-way, when the journal of the transaction already holds the
/// pages. So it needs a journal of its own.
#[test]
fn a_statement_journal_is_a_file_of_the_vfs_from_its_first_byte() {
    let (medium, database) = database();
    let sql = "CREATE TABLE t(x CHECK (x > 0)); INSERT INTO t VALUES(1), (2), (3); BEGIN;
        UPDATE t SET x = x + 1; UPDATE t SET x = x + 1; COMMIT";
    database.execute(sql).unwrap();
    let calls = &medium.state.borrow().calls;
    let opened = calls.iter().position(|call| call == "open None StatementJournal").unwrap();
    assert!(calls[opened..].iter().any(|call| call.starts_with("nameless write")));
}

#[test]
fn a_spill_file_becomes_one_when_it_grows() {
    let medium = Rc::new(Medium::new(Era::Today.settings(), 1));
    medium.insert("made", Vec::new());
    let maker = Rc::clone(&medium);
    let mut file = SpillFile::new(10, move || Ok(maker.handle("made")));
    file.write(0, b"01234").unwrap();
    file.write(8, b"89").unwrap();
    let sync = SyncFlags { full: false, data_only: false };
    file.sync(sync).unwrap();
    let mut bytes = [7; 12];
    assert_eq!((file.size(), file.read(3, &mut bytes)), (Ok(10), Ok(7)));
    assert_eq!(bytes[..7], *b"34\0\0\x0089");
    file.truncate(6).unwrap();
    assert_eq!((file.size(), file.read(3, &mut bytes)), (Ok(6), Ok(3)));
    file.write(8, b"89").unwrap();
    assert_eq!(medium.file("made").unwrap(), b"");
    file.write(10, b"ab").unwrap();
    file.truncate(11).unwrap();
    file.sync(sync).unwrap();
    assert_eq!(medium.file("made").unwrap(), b"01234\0\0\x0089a");
    assert_eq!((file.size(), file.read(9, &mut bytes)), (Ok(11), Ok(2)));
}
