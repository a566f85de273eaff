//! One database on two file systems: what journals on PRAM save, held against the kernel's counts.

use std::sync::Arc;

use flysch_chip::{EventKind, Prng};
use flysch_lab::JournalMode::{self, Delete, Off, Persist};
use flysch_lab::grid::Grid;
use flysch_lab::machine::Machine;
use flysch_lab::platform::Platform;
use flysch_lab::scenario::Scenario;
use flysch_lab::stack::{Journals, Stack};
use flysch_lab::workload::{Alphabet, Micro, RandomStrings, insert, schema};
use flysch_sqlite::Database;

/// Rows of the table and bytes in each, which the reference does not tell: fitted to its row
/// `jffs2-nand`, of which they decide the reads (rows) and the programs (bytes).
const ROWS: u32 = 2000;
const ROW_SIZE: u32 = 100;
/// Transactions of one row each.
const TRANSACTIONS: u32 = 1000;

fn open(scenario: &Scenario, machine: &Machine) -> Database {
    let database = Database::open(machine.storage(scenario.settings, 1), "test.db").unwrap();
    database.configure(&scenario.settings).unwrap();
    database
}

fn fill(database: &Database, strings: &mut RandomStrings) {
    database.execute(schema("table1")).unwrap();
    database.execute("BEGIN;").unwrap();
    for id in 1..=ROWS {
        database.execute(insert("table1", id, strings)).unwrap();
    }
    database.execute("COMMIT;").unwrap();
}

fn settle(machine: &Machine) {
    let mut linux = machine.linux.borrow_mut();
    linux.sync().unwrap();
    linux.drop_caches().unwrap();
    linux.sleep(2_000_000_000);
    linux.drop_caches().unwrap();
}

/// Reads, programs and erases of the NAND for updates of random rows.
fn counts(stack: Stack, journal_mode: JournalMode) -> [u64; 3] {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let mut scenario = Grid::new(Micro::Update, stack, platform).scenarios().remove(0);
    scenario.settings.journal_mode = journal_mode;
    let machine = scenario.build.format_and_mount(stack).unwrap();
    let mut strings = RandomStrings::new(Alphabet::Bytes, ROW_SIZE, 1);
    let database = open(&scenario, &machine);
    fill(&database, &mut strings);
    database.close().unwrap();
    settle(&machine);
    let database = open(&scenario, &machine);
    machine.recorder.reset();
    let mut prng = Prng::new(7);
    for _ in 0..TRANSACTIONS {
        let mut sql = b"UPDATE table1 SET val = '".to_vec();
        strings.append(&mut sql);
        sql.extend(format!("' WHERE id = {};", 1 + prng.below(u64::from(ROWS))).bytes());
        database.execute(sql).unwrap();
    }
    [EventKind::Read, EventKind::Program, EventKind::Erase].map(|kind| machine.recorder.count(kind))
}

/// Within 15 %: rows of `reference/kernel-6.1-hybrid.csv`, PRAM as `pmem` there.
#[test]
fn counts_are_the_kernels() {
    let rows = [
        (Stack::JFFS2, Delete, [14_096, 8_274, 129]),
        (Stack::JFFS2.with(Journals::Pramfs), Delete, [4_433, 3_071, 48]),
        (Stack::JFFS2.with(Journals::Tmpfs), Delete, [4_343, 3_028, 47]),
        (Stack::JFFS2, Persist, [18_139, 10_241, 160]),
        (Stack::JFFS2, Off, [4_351, 3_035, 47]),
    ];
    for (stack, journal_mode, wanted) in rows {
        let found = counts(stack, journal_mode);
        println!("{} {journal_mode:?}: {found:?}, kernel {wanted:?}", stack.name());
        for (found, wanted) in found.into_iter().zip(wanted) {
            let is_near = found.abs_diff(wanted) * 100 <= wanted * 15;
            assert!(is_near, "{} {journal_mode:?}: {found}, kernel {wanted}", stack.name());
        }
    }
}
