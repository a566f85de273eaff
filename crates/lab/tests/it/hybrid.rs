//! One database on two file systems: what journals on PRAM save, held against the kernel's counts.

use flysch_chip::{EventKind, Prng};
use flysch_lab::grid::Grid;
use flysch_lab::platform::Platform;
use flysch_lab::stack::Stack;
use flysch_lab::workload::{Alphabet, RandomStrings, Workload, insert, schema};
use flysch_lab::JournalMode;
use flysch_sqlite::Database;

/// Reads, programs and erases of 1000 transactions of one row each.
fn counts(stack: Stack, journal: JournalMode, rows: u32, len: u32, spread: bool) -> [u64; 3] {
    let platform = std::sync::Arc::new(Platform::named("nandsim-6.1").unwrap());
    let mut scenario = Grid::new(Workload::Update, stack, platform).scenarios().remove(0);
    scenario.settings.journal_mode = journal;
    let machine = scenario.build.format_and_mount(stack).unwrap();
    let open = || {
        let database = Database::open(machine.storage(scenario.settings, 1), "test.db").unwrap();
        database.configure(&scenario.settings).unwrap();
        database
    };
    let mut strings = RandomStrings::new(Alphabet::Bytes, len, 1);
    let database = open();
    database.execute(schema("table1")).unwrap();
    database.execute("BEGIN;").unwrap();
    for id in 1..=rows {
        database.execute(insert("table1", id, &mut strings)).unwrap();
    }
    database.execute("COMMIT;").unwrap();
    database.close().unwrap();
    {
        let mut linux = machine.linux.borrow_mut();
        linux.sync().unwrap();
        linux.drop_caches().unwrap();
        linux.sleep(2_000_000_000);
        linux.drop_caches().unwrap();
    }
    let database = open();
    machine.recorder.reset();
    let mut prng = Prng::new(7);
    for number in 0..1000_u32 {
        let id = if spread { 1 + u32::try_from(prng.below(u64::from(rows))).unwrap() } else { 1 + number % rows };
        let mut sql = b"UPDATE table1 SET val = '".to_vec();
        strings.append(&mut sql);
        sql.extend(format!("' WHERE id = {id};").bytes());
        database.execute(sql).unwrap();
    }
    [EventKind::Read, EventKind::Program, EventKind::Erase].map(|kind| machine.recorder.count(kind))
}

#[test]
fn explore() {
    for (rows, len, spread) in [(5000, 600, true), (5000, 600, false), (5000, 100, true), (1000, 100, true), (1000, 600, true)] {
        let nand = counts(Stack::SqliteJffs2, JournalMode::Delete, rows, len, spread);
        let pram = counts(Stack::SqliteJffs2Pramfs, JournalMode::Delete, rows, len, spread);
        let tmp = counts(Stack::SqliteJffs2Tmpfs, JournalMode::Delete, rows, len, spread);
        let off = counts(Stack::SqliteJffs2, JournalMode::Off, rows, len, spread);
        let per = counts(Stack::SqliteJffs2, JournalMode::Persist, rows, len, spread);
        let ftl = counts(Stack::SqliteFtl, JournalMode::Delete, rows, len, spread);
        println!("{rows} {len} {spread}: nand {nand:?} pram {pram:?} tmp {tmp:?} off {off:?} persist {per:?} ftl {ftl:?}");
    }
}
