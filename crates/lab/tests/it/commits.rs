//! Power cuts under SQLite, on stacks of one device and of two: what was committed stays, and a
//! transaction is there as a whole or not at all.

use std::cell::Cell;
use std::sync::Arc;

use flysch_chip::{
    Chip, Clock, FaultInjector, FaultPlan, Part, Pram, Prng, Recorder, Shared, Tracer,
};
use flysch_lab::Synchronous::{Extra, Full};
use flysch_lab::beside::Memory;
use flysch_lab::grid::Grid;
use flysch_lab::machine::{Device, Machine};
use flysch_lab::platform::Platform;
use flysch_lab::scenario::Scenario;
use flysch_lab::stack::{Journals, Stack};
use flysch_lab::workload::Micro;
use flysch_nand::Geometry;
use flysch_sqlite::{Database, Error, Value};

/// Rows of a few hundred bytes: some pages.
const ROWS: u32 = 30;
const TRANSACTIONS: u32 = 5;

/// Devices with a filled table.
struct Start {
    scenario: Scenario,
    chip: Chip,
    pram: Pram,
}

fn open(scenario: &Scenario, machine: &Machine) -> Result<Database, Error> {
    let database = Database::open(machine.storage(scenario.settings, 1), "test.db")?;
    database.configure(&scenario.settings)?;
    Ok(database)
}

impl Start {
    fn new(mut scenario: Scenario) -> Self {
        let part = Part::builtin("nandsim").unwrap();
        let geometry = Geometry { block_count: 40, pages_per_block: 32, ..part.geometry };
        scenario.build.part = Arc::new(Part { geometry, ..part });
        scenario.build.partition_blocks = 40;
        let machine = scenario.build.format_and_mount(scenario.stack).unwrap();
        let database = open(&scenario, &machine).unwrap();
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, pad BLOB);").unwrap();
        for id in 0..ROWS {
            let sql = format!("INSERT INTO t VALUES ({id}, 0, randomblob(300));");
            database.execute(sql).unwrap();
        }
        database.close().unwrap();
        machine.linux.borrow_mut().sync().unwrap();
        let chip = machine.device.borrow().device().chip().fork(Clock::new());
        let pram = machine.pram.borrow().device().fork(Clock::new());
        Self { scenario, chip, pram }
    }

    /// The same devices on one supply, armed.
    fn devices(&self) -> (Device, Memory, Recorder) {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "test");
        let pram = self.pram.fork(clock.clone());
        let injector = FaultInjector::on_supply(self.chip.fork(clock), pram.supply());
        let pram = Shared::new(Tracer::new(pram, recorder.clone()));
        (Shared::new(Tracer::new(injector, recorder.clone())), pram, recorder)
    }

    /// Cut in operation `cut_at`, then at random during recovery, then not; tell whether the
    /// first cut came before the transactions were done.
    fn check(&self, cut_at: u64) -> bool {
        let (device, pram, recorder) = self.devices();
        let committed = Cell::new(0);
        let mut chance = Prng::new(cut_at);
        let cuts = [Some(cut_at), Some(chance.below(1500)), None];
        let mut is_cut = false;
        for (round, cut_at) in cuts.into_iter().enumerate() {
            device.borrow_mut().device_mut().power_up();
            let plan = FaultPlan { seed: chance.next(), cut_at, ..FaultPlan::default() };
            device.borrow_mut().device_mut().arm(plan);
            let (device_again, pram, recorder) = (device.clone(), pram.clone(), recorder.clone());
            let build = &self.scenario.build;
            let machine = match build.mount(self.scenario.stack, device_again, pram, recorder) {
                Ok(machine) => machine,
                Err(flysch_lab::machine::StackError::PowerLost) => {
                    is_cut |= round == 0;
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let outcome = self.transactions(&machine, &committed);
            let is_on = device.borrow().device().is_on();
            assert!(outcome.is_ok() || !is_on, "round {round}: {:?}", outcome.err());
            is_cut |= round == 0 && !is_on;
        }
        is_cut
    }

    /// Check the table, then change it; `committed` counts.
    fn transactions(&self, machine: &Machine, committed: &Cell<i64>) -> Result<(), Error> {
        let database = open(&self.scenario, machine)?;
        let found = database.query("SELECT min(n), max(n), count(*) FROM t;")?;
        let [Value::Integer(least), Value::Integer(most), Value::Integer(count)] = found[0][..]
        else {
            panic!("{found:?}");
        };
        assert_eq!((least, count), (most, i64::from(ROWS)), "a transaction is whole");
        let known = committed.get();
        assert!(known == most || known + 1 == most, "{known} committed, {most} found");
        let sound = database.query("PRAGMA integrity_check;")?;
        assert_eq!(sound, [[Value::Text("ok".into())]]);
        committed.set(most);
        for _ in 0..TRANSACTIONS {
            database.execute("UPDATE t SET n = n + 1;")?;
            committed.set(committed.get() + 1);
        }
        Ok(())
    }
}

/// With `FULL` the deletion of a journal is durable at once on PRAMFS alone; elsewhere `EXTRA` asks
/// for it.
#[test]
fn no_cut_loses_a_commit() {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    for (stack, level) in
        [(Stack::JFFS2.with(Journals::Pramfs), Full), (Stack::FTL, Extra), (Stack::JFFS2, Extra)]
    {
        let grid = Grid::new(Micro::Update, stack, Arc::clone(&platform));
        let mut scenario = grid.scenarios().remove(0);
        scenario.settings.synchronous = level;
        let start = Start::new(scenario);
        let cuts = (0..).step_by(2).take_while(|&cut_at| start.check(cut_at)).count();
        assert!(cuts > 150, "{}: {cuts} cuts", stack.name());
    }
}
