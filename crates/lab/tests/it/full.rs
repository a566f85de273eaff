//! Tests of a full device. SQLite must report that it is full. Committed data must stay and be
//! readable, both once the last transaction could be undone and after a mount.

use std::cell::Cell;
use std::sync::Arc;

use flysch_chip::Clock;
use flysch_lab::JournalMode;
use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::Machine;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Main, Stack};
use flysch_lab::workload::Micro;
use flysch_sqlite::{Database, Error, Value};

/// Name of a file that may be removed to make room.
const SPARE: &str = "spare";

fn open(scenario: &Scenario, machine: &Machine) -> Result<Database, Error> {
    let database = Database::open(machine.storage(scenario.settings, 1), "test.db")?;
    database.configure(&scenario.settings)?;
    Ok(database)
}

/// Check that the database holds exactly the rows 1 to `committed`, with their full size.
fn check(database: &Database, committed: i64, title: &str) {
    let verdict = database.query("PRAGMA integrity_check");
    let verdict = verdict.unwrap_or_else(|error| panic!("{title}: {error}"));
    assert_eq!(verdict, [[Value::Text(b"ok".to_vec())]], "{title}");
    let found = database.query("SELECT count(*), max(id), min(length(pad)) FROM t").unwrap();
    let wanted = [committed, committed, 3000].map(Value::Integer);
    assert_eq!(found, [wanted], "{title}");
}

/// Make the file that is removed when room is needed.
fn put_by(machine: &Machine) {
    let mut linux = machine.linux.borrow_mut();
    let fd = linux.open(SPARE, true).unwrap();
    linux.write(fd, 0, &vec![0xA5; 400_000]).unwrap();
    linux.fsync(fd).unwrap();
    linux.close(fd).unwrap();
}

fn fill(scenario: &Scenario, title: &str) {
    let machine = scenario.build.format_and_mount(scenario.stack).unwrap();
    let committed = Cell::new(0);
    put_by(&machine);
    let database = open(scenario, &machine).unwrap();
    let made = database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, pad BLOB)");
    made.unwrap_or_else(|error| panic!("{title}: {error}"));
    let error = loop {
        let id = committed.get() + 1;
        match database.execute(format!("INSERT INTO t VALUES ({id}, randomblob(3000))")) {
            Ok(_) => committed.set(id),
            Err(error) => break error.to_string(),
        }
        assert!(committed.get() < 10_000, "{title}: it never fills");
    };
    assert!(error.contains("full"), "{title}: {error}");
    assert!(committed.get() > 100, "{title}: {} rows", committed.get());
    // Undoing the last transaction needs writes, and a log-structured file system may have no room
    // for them. Then SQLite waits for room, and nothing is lost meanwhile. JFFS2 of Linux 6.1 does
    // the same: its reserve serves only the removal of files (docs/stacks.md).
    if let Err(error) = database.query("SELECT count(*) FROM t") {
        assert!(error.to_string().contains("full"), "{title}: {error}");
        machine.linux.borrow_mut().unlink(SPARE).unwrap();
    }
    check(&database, committed.get(), title);
    drop(database);
    machine.linux.borrow_mut().unmount().unwrap();
    let chip = machine.device.borrow().device().chip().fork(Clock::new());
    assert!(chip.wear().bad_block_count == 0, "{title}");
    let (device, pram) = (machine.device.clone(), machine.pram.clone());
    let again = scenario.build.mount(scenario.stack, device, pram, machine.recorder.clone());
    check(&open(scenario, &again.unwrap()).unwrap(), committed.get(), title);
}

#[test]
fn a_full_device_keeps_what_was_committed() {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let plain = [Stack::JFFS2, Stack::YAFFS2, Stack::UBIFS, Stack::FTL];
    let stacks = plain.into_iter().flat_map(|stack| [stack, stack.with(Journals::Pramfs)]);
    for stack in stacks {
        let mut grid = Grid::new(Micro::Insert, stack, Arc::clone(&platform));
        // UBI reserves forty blocks of this chip as replacements for blocks that go bad.
        grid.axes.partition_blocks = vec![if stack.main == Main::Ubifs { 94 } else { 40 }];
        grid.axes.journal_modes = vec![JournalMode::Delete, JournalMode::Persist];
        for scenario in grid.scenarios() {
            let title = format!("{} {}", stack.name(), scenario.settings.journal_mode);
            fill(&scenario, &title);
        }
    }
}
