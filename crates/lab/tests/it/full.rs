//! A full device: SQLite says so, and what was committed is there and can be read, now and after a
//! mount.

use std::cell::Cell;
use std::sync::Arc;

use flysch_chip::Clock;
use flysch_lab::JournalMode;
use flysch_lab::grid::Grid;
use flysch_lab::machine::Machine;
use flysch_lab::platform::Platform;
use flysch_lab::scenario::Scenario;
use flysch_lab::stack::{Journals, Stack};
use flysch_lab::workload::Micro;
use flysch_sqlite::{Database, Error, Value};

fn open(scenario: &Scenario, machine: &Machine) -> Result<Database, Error> {
    let database = Database::open(machine.storage(scenario.settings, 1), "test.db")?;
    database.configure(&scenario.settings)?;
    Ok(database)
}

/// The database holds the rows 1 to `committed`, whole.
fn check(database: &Database, committed: i64, title: &str) {
    let verdict = database.query("PRAGMA integrity_check").unwrap();
    assert_eq!(verdict, [[Value::Text(b"ok".to_vec())]], "{title}");
    let found = database.query("SELECT count(*), max(id), min(length(pad)) FROM t").unwrap();
    let wanted = [committed, committed, 3000].map(Value::Integer);
    assert_eq!(found, [wanted], "{title}");
}

fn fill(scenario: &Scenario, title: &str) {
    let machine = scenario.build.format_and_mount(scenario.stack).unwrap();
    let committed = Cell::new(0);
    let database = open(scenario, &machine).unwrap();
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, pad BLOB)").unwrap();
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
        grid.partition_blocks = vec![40];
        grid.journal_modes = vec![JournalMode::Delete, JournalMode::Persist];
        for scenario in grid.scenarios() {
            let title = format!("{} {}", stack.name(), scenario.settings.journal_mode);
            fill(&scenario, &title);
        }
    }
}
