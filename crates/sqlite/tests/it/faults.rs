//! Each call to the file system fails in turn, once or from then on. Afterwards every committed
//! transaction must be there.
//!
//! The fault model of a power cut: every later call fails. Of what was not synced any part
//! survives, and any length of a write. A new name becomes durable with the first sync of its file.
//! A deletion is durable at once or, in the cases that say so, only after a sync of the directory.

use std::rc::Rc;

use flysch_sqlite::{
    Database, Era, Error, JournalMode, LockingMode, Settings, Synchronous, Value, VfsError,
};

use crate::medium::{Fault, Medium};

const TRANSACTION_COUNT: u8 = 3;

struct Case {
    settings: Settings,
    forgets_deletions: bool,
}

fn cases() -> Vec<Case> {
    let case = |journal_mode, synchronous, forgets_deletions| Case {
        settings: Settings { journal_mode, synchronous, cache_size: 3, ..Era::V3_7.settings() },
        forgets_deletions,
    };
    let mut cases = vec![
        case(JournalMode::Delete, Synchronous::Full, false),
        case(JournalMode::Delete, Synchronous::Extra, true),
        case(JournalMode::Truncate, Synchronous::Full, true),
        case(JournalMode::Persist, Synchronous::Full, true),
        case(JournalMode::Wal, Synchronous::Full, false),
    ];
    let exclusive = Settings { locking_mode: LockingMode::Exclusive, ..cases[4].settings };
    cases.push(Case { settings: exclusive, forgets_deletions: false });
    cases
}

/// Each transaction inserts rows with its own number and adds one to the total. It writes more than
/// the page cache holds.
fn transaction(number: u8) -> Vec<u8> {
    let mut sql = b"BEGIN; UPDATE total SET n = n + 1;".to_vec();
    for _ in 0..12 {
        sql.extend(format!("INSERT INTO t VALUES({number}, '").bytes());
        sql.extend([0x80 + number; 600]);
        sql.extend(b"');");
    }
    sql.extend(b"COMMIT");
    sql
}

fn prepare(medium: &Rc<Medium>) -> Result<Database, Error> {
    let database = medium.open()?;
    database.execute("CREATE TABLE t(number, val); CREATE TABLE total(n)")?;
    database.execute("INSERT INTO total VALUES(0)")?;
    Ok(database)
}

/// Run the transactions and return the numbers of the committed ones.
fn run(database: &Database) -> Vec<u8> {
    let mut committed = Vec::new();
    for number in 1..=TRANSACTION_COUNT {
        if database.execute(transaction(number)).is_ok() {
            committed.push(number);
        } else {
            // SQLite may have rolled back by itself, and without power it cannot roll back: both
            // fail here.
            _ = database.execute("ROLLBACK");
        }
    }
    committed
}

fn check(medium: &Rc<Medium>, committed: &[u8], what: &str) {
    let database = medium.open().unwrap_or_else(|error| panic!("{what}: {error}"));
    let intact = database.query("PRAGMA integrity_check").unwrap();
    assert_eq!(intact, [[Value::Text(b"ok".to_vec())]], "{what}");
    let total = database.query("SELECT n FROM total").unwrap();
    let groups = "SELECT number, count(*) FROM t GROUP BY number ORDER BY number";
    let found = database.query(groups).unwrap();
    assert_eq!(total, [[Value::Integer(i64::try_from(found.len()).unwrap())]], "{what}");
    assert!(found.iter().all(|row| row[1] == Value::Integer(12)), "{what}: {found:?}");
    for number in committed {
        let number = Value::Integer(i64::from(*number));
        assert!(found.iter().any(|row| row[0] == number), "{what}: {number:?} of {found:?}");
    }
}

/// Run with a fault at call `offset` after the preparation. The flag in the result is true when
/// there were fewer calls, so that no fault happened.
fn run_with_fault(
    case: &Case,
    offset: u64,
    fault: fn(u64) -> Fault,
) -> (Rc<Medium>, Vec<u8>, bool) {
    let medium = Rc::new(Medium::new(case.settings, 1 + offset));
    let database = prepare(&medium).unwrap();
    let at = medium.call_count() + offset;
    medium.state.borrow_mut().forgets_deletions = case.forgets_deletions;
    medium.state.borrow_mut().fault = Some(fault(at));
    let committed = run(&database);
    drop(database);
    assert_eq!(Rc::strong_count(&medium), 1, "the registration goes with the database");
    let is_over = medium.call_count() < at;
    medium.state.borrow_mut().fault = None;
    (medium, committed, is_over)
}

fn check_each_call(fault: fn(u64) -> Fault, survive: fn(&Rc<Medium>, u64) -> Rc<Medium>) {
    for case in cases() {
        for offset in 1.. {
            let (medium, committed, is_over) = run_with_fault(&case, offset, fault);
            let what = format!("{:?} at {offset}", case.settings);
            check(&survive(&medium, offset), &committed, &what);
            if is_over {
                assert_eq!(committed.len(), usize::from(TRANSACTION_COUNT), "{what}");
                assert!(offset > 50, "{what}: the schedule covers the transactions");
                break;
            }
        }
    }
}

#[test]
fn one_failing_call_loses_no_committed_transaction() {
    for fault in [
        (|at| Fault::Once(at, VfsError::Io)) as fn(u64) -> Fault,
        |at| Fault::Once(at, VfsError::NoSpace),
        |at| Fault::Once(at, VfsError::Corrupt),
    ] {
        check_each_call(fault, |medium, _| Rc::clone(medium));
    }
}

#[test]
fn a_power_cut_at_any_call_loses_no_committed_transaction() {
    check_each_call(
        |at| Fault::From(at, VfsError::PowerLost),
        |medium, offset| medium.after_power_cut(offset * 77),
    );
}
