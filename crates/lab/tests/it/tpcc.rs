//! TPC-C: the rows that are loaded, and the consistency conditions after whatever happens.

use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Pram, Recorder, Shared, Tracer};
use flysch_lab::grid::Grid;
use flysch_lab::machine::{Build, Machine};
use flysch_lab::platform::Platform;
use flysch_lab::stack::{Journals, Stack};
use flysch_lab::tpcc::{
    Compiler, Condition, Files, Outcome, Requests, Scale, TpccError, Transactions, check,
    violations,
};
use flysch_lab::workload::Micro;
use flysch_sqlite::{Database, Settings, Value};

const SEED: u64 = 5;

/// A database on a machine.
struct Trial {
    build: Build,
    settings: Settings,
    stack: Stack,
    files: Files,
    scale: Scale,
}

/// What a run of transactions came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    committed: u32,
    rolled_back: u32,
    error: Option<TpccError>,
}

impl Trial {
    fn new(stack: Stack, divisor: u32) -> Self {
        let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
        let scenario = Grid::new(Micro::Update, stack, platform).scenarios().remove(0);
        let scale = Scale { warehouses: 1, divisor };
        Self { build: scenario.build, settings: scenario.settings, stack, files: Files::One, scale }
    }

    fn loaded(&self) -> Machine {
        let machine = self.build.format_and_mount(self.stack).unwrap();
        let storage = machine.storage(self.settings, SEED);
        let images = self.files.load(storage, &self.settings, self.scale, SEED).unwrap();
        for image in images {
            image.store(&mut *machine.linux.borrow_mut()).unwrap();
        }
        machine.linux.borrow_mut().sync().unwrap();
        machine
    }

    fn open(&self, machine: &Machine) -> Result<Database, TpccError> {
        self.files.open(machine.storage(self.settings, SEED), &self.settings)
    }

    fn run(&self, database: &Database, count: u32, rollback_percent: u32) -> Tally {
        let mut tally = Tally::default();
        let free = |_: &_| {};
        let mut transactions = match Transactions::prepare(Compiler::new(database, &free)) {
            Ok(transactions) => transactions,
            Err(error) => return Tally { error: Some(error), ..tally },
        };
        let mut requests = Requests::new(self.scale, rollback_percent, SEED);
        for number in 0..count {
            match transactions.run(&requests.draw(number % 10), i64::from(number)) {
                Ok(Outcome::Committed) => tally.committed += 1,
                Ok(Outcome::RolledBack) => tally.rolled_back += 1,
                Err(error) => return Tally { error: Some(error), ..tally },
            }
        }
        tally
    }

    /// Load, then run until the power is cut at an operation of either device, or to the end.
    fn live(&self, cut_at: Option<u64>) -> Life {
        let machine = self.loaded();
        machine.device.borrow_mut().device_mut().arm(FaultPlan {
            seed: SEED,
            cut_at,
            ..FaultPlan::default()
        });
        let tally = match self.open(&machine) {
            Ok(database) => self.run(&database, 200, 1),
            Err(error) => Tally { error: Some(error), ..Tally::default() },
        };
        let device = machine.device.borrow();
        let operations = device.device().supply().operations();
        let chip = device.device().chip().fork(Clock::new());
        let pram = machine.pram.borrow().device().fork(Clock::new());
        Life { tally, operations, chip, pram }
    }

    /// Switch on again and mount what is there.
    fn switch_on(&self, life: &Life) -> Machine {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "sqlite");
        let injector = FaultInjector::new(life.chip.fork(clock.clone()));
        let device = Shared::new(Tracer::new(injector, recorder.clone()));
        let pram = Shared::new(Tracer::new(life.pram.fork(clock), recorder.clone()));
        self.build.mount(self.stack, device, pram, recorder).unwrap()
    }
}

/// What the time until a cut came to.
struct Life {
    tally: Tally,
    operations: u64,
    chip: Chip,
    pram: Pram,
}

fn count(database: &Database, table: &str) -> i64 {
    let rows = database.query(format!("SELECT count(*) FROM {table}")).unwrap();
    let [Value::Integer(count)] = rows[0].as_slice() else { panic!("a count is a number") };
    *count
}

/// What a run sets room aside for is what the database takes.
#[test]
fn the_size_of_a_database_is_known_before_it_is_loaded() {
    for (divisor, page_size) in [(10, 512), (10, 1024), (20, 2048), (50, 4096)] {
        let mut trial = Trial::new(Stack::TMPFS, divisor);
        trial.settings.page_size = page_size;
        let machine = trial.build.format_and_mount(Stack::TMPFS).unwrap();
        let storage = machine.storage(trial.settings, SEED);
        let images = Files::One.load(storage, &trial.settings, trial.scale, SEED).unwrap();
        let found = images.iter().map(|image| image.bytes.len() as u64).sum::<u64>();
        let wanted = trial.scale.bytes(page_size);
        let line = format!("1/{divisor}, pages of {page_size}: {found}, expected {wanted}");
        assert!(found.abs_diff(wanted) * 20 <= wanted, "{line}");
    }
}

/// Clause 1.2.1, and a third of the orders undelivered.
#[test]
fn a_warehouse_has_the_rows_of_the_specification() {
    let trial = Trial::new(Stack::TMPFS, 1);
    let mut build = trial.build.clone();
    build.partition_blocks = 2048;
    let trial = Trial { build, ..trial };
    let machine = trial.loaded();
    let database = trial.open(&machine).unwrap();
    let rows = [
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("orders", 30_000),
        ("new_order", 9_000),
        ("item", 100_000),
        ("stock", 100_000),
    ];
    for (table, wanted) in rows {
        assert_eq!(count(&database, table), wanted, "{table}");
    }
    assert!((295_000..305_000).contains(&count(&database, "order_line")));
    let names = database.query("SELECT count(DISTINCT c_last) FROM customer").unwrap();
    assert_eq!(names, [[Value::Integer(1000)]]);
    check(&database).unwrap();
}

/// Without a hot journal the database is as the last commit left it.
#[test]
fn the_conditions_hold_after_a_thousand_transactions_and_after_a_mix_of_rollbacks() {
    for (stack, files) in [(Stack::YAFFS2, Files::One), (Stack::TMPFS, Files::Two)] {
        for (transactions, rollback_percent) in [(1000, 1), (300, 50)] {
            let trial = Trial { files, ..Trial::new(stack, 30) };
            let machine = trial.loaded();
            let database = trial.open(&machine).unwrap();
            let before = count(&database, "orders");
            let tally = trial.run(&database, transactions, rollback_percent);
            assert_eq!(tally.error, None);
            assert_eq!(tally.committed + tally.rolled_back, transactions);
            check(&database).unwrap();
            let entered = count(&database, "orders") - before;
            let new_orders = i64::from(transactions) * 10 / 23;
            let rolled_back = i64::from(tally.rolled_back);
            assert!((entered + rolled_back - new_orders).abs() <= 10, "{entered} {rolled_back}");
            let wanted = new_orders * i64::from(rollback_percent) / 100;
            assert!((rolled_back - wanted).abs() <= 5 + wanted / 3, "{rolled_back} of {wanted}");
        }
    }
}

/// In the middle of a run, on NAND alone and with journals, super-journals included, on PRAM.
#[test]
fn the_conditions_hold_after_a_power_cut_and_recovery() {
    let hybrid = Stack::YAFFS2.with(Journals::Pramfs);
    for (stack, files) in [(Stack::YAFFS2, Files::One), (hybrid, Files::One), (hybrid, Files::Two)]
    {
        let trial = Trial { files, ..Trial::new(stack, 100) };
        let whole = trial.live(None);
        assert_eq!(whole.tally.error, None);
        for sixth in 1..6 {
            let at = whole.operations * sixth / 6;
            let cut = trial.live(Some(at));
            assert!(cut.tally.error.is_some(), "{stack} cut at {at}");
            let machine = trial.switch_on(&cut);
            let database = trial.open(&machine).unwrap();
            let sound = database.query("PRAGMA integrity_check").unwrap();
            assert_eq!(sound, [[Value::from("ok")]], "{stack} cut at {at}");
            check(&database).unwrap_or_else(|error| panic!("{stack} cut at {at}: {error}"));
            assert_eq!(trial.run(&database, 50, 1).error, None, "{stack} cut at {at}");
            check(&database).unwrap();
        }
    }
}

/// Each condition is broken by one statement, and by that alone.
#[test]
fn a_planted_inconsistency_is_caught() {
    let plants = [
        (Condition::Earnings, "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 4"),
        (Condition::NextOrder, "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4"),
        (Condition::Undelivered, "DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 24"),
        (
            Condition::Lines,
            "DELETE FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 2 AND ol_number = 1",
        ),
    ];
    let trial = Trial::new(Stack::TMPFS, 100);
    let machine = trial.loaded();
    let database = trial.open(&machine).unwrap();
    for (planted, sql) in plants {
        database.execute("BEGIN").unwrap();
        database.execute(sql).unwrap();
        for condition in Condition::ALL {
            let found = violations(&database, condition).unwrap();
            let districts: Vec<i64> = found.iter().map(|it| it.district).collect();
            let wanted: &[i64] = match planted {
                _ if planted != condition => &[],
                Condition::Earnings => &[0],
                _ => &[4],
            };
            assert_eq!(districts, wanted, "{planted:?} planted, {condition:?}");
        }
        let error = check(&database).unwrap_err().to_string();
        let line = format!("consistency condition {} of TPC-C does not hold", planted.number());
        assert!(error.starts_with(&line), "{error}");
        database.execute("ROLLBACK").unwrap();
        check(&database).unwrap();
    }
}
