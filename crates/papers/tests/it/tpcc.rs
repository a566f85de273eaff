//! Tests of TPC-C: the rows that are loaded, and the consistency conditions in all circumstances.

use std::rc::Rc;
use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::dual::Route;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::tpcc::{Condition, Files, Scale, check, violations};
use flysch_lab::workload::{Tpcc, Workload};
use flysch_papers::PowerCutTest;
use flysch_sqlite::{Database, Value};

const SEED: u64 = 5;

/// A run on a database of the specification's size divided by `divisor`.
fn scenario(stack: Stack, divisor: u32) -> (Scenario, Tpcc) {
    let scale = Scale { warehouses: 1, divisor };
    let tpcc = Tpcc { scale, terminals: 10, ..Tpcc::DEFAULT };
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let mut grid = Grid::new(Workload::Tpcc(tpcc), stack, platform);
    grid.axes.seeds = vec![SEED];
    (grid.scenarios().remove(0), tpcc)
}

fn count(database: &Database, table: &str) -> i64 {
    let rows = database.query(format!("SELECT count(*) FROM {table}")).unwrap();
    let [Value::Integer(count)] = rows[0].as_slice() else { panic!("a count is a number") };
    *count
}

/// The size that a run reserves room for must be that of the database.
#[test]
fn the_size_of_a_database_is_known_before_it_is_loaded() {
    for (divisor, page_size) in [(10, 512), (10, 1024), (20, 2048), (50, 4096)] {
        let (mut scenario, tpcc) = scenario(Stack::TMPFS, divisor);
        scenario.settings.page_size = page_size;
        let machine = scenario.build.format_and_mount(Stack::TMPFS).unwrap();
        let storage = machine.storage(scenario.settings, SEED);
        let memory = Database::open(Rc::clone(&storage), ":memory:").unwrap();
        let (now_ms, settings) = (storage.now_ms(), &scenario.settings);
        let images = Files::One.load(&memory, now_ms, settings, tpcc.scale, SEED).unwrap();
        let found = images.iter().map(|image| image.bytes.len() as u64).sum::<u64>();
        let wanted = tpcc.scale.bytes(page_size);
        let line = format!("1/{divisor}, pages of {page_size}: {found}, expected {wanted}");
        assert!(found.abs_diff(wanted) * 20 <= wanted, "{line}");
    }
}

/// The numbers of clause 1.2.1, and three in ten orders undelivered.
#[test]
fn a_warehouse_has_the_rows_of_the_specification() {
    let (scenario, tpcc) = scenario(Stack::TMPFS, 1);
    let test = PowerCutTest::new(&scenario, tpcc, 0);
    let machine = test.loaded().unwrap();
    let database = test.open(&machine).unwrap();
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

#[test]
fn the_conditions_hold_after_a_thousand_transactions_and_after_a_mix_of_rollbacks() {
    for (stack, files) in [(Stack::YAFFS2, Files::One), (Stack::TMPFS, Files::Two)] {
        for (transactions, rollback_percent) in [(1000, 1), (300, 50)] {
            let (scenario, plain) = scenario(stack, 30);
            let test = PowerCutTest::new(&scenario, Tpcc { files, rollback_percent, ..plain }, 0);
            let machine = test.loaded().unwrap();
            let database = test.open(&machine).unwrap();
            let before = count(&database, "orders");
            let tally = test.run(&database, transactions);
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

/// The power is cut in the middle of a run: on NAND alone, and with journals and super-journals on
/// PRAM. In the past, the journals that a super-journal names were searched on the wrong file
/// system.
#[test]
fn the_conditions_hold_after_a_power_cut_and_recovery() {
    let hybrid = Stack::YAFFS2.with(Journals::Pramfs);
    let cases = [
        (Stack::YAFFS2, Files::One, Route::JOURNAL),
        (hybrid, Files::One, Route::JOURNAL),
        (hybrid, Files::Two, Route::JOURNAL),
        (hybrid, Files::Two, Route::ALL),
    ];
    for (stack, files, route) in cases {
        let (mut scenario, plain) = scenario(stack, 100);
        scenario.build.route = route;
        let test = PowerCutTest::new(&scenario, Tpcc { files, ..plain }, 200);
        let whole = test.run_until_cut(None).unwrap();
        assert_eq!(whole.tally.error, None);
        for sixth in 1..6 {
            let at = whole.operations * sixth / 6;
            let cut = test.run_until_cut(Some(at)).unwrap();
            assert!(cut.tally.error.is_some(), "{stack} cut at {at}");
            let recovered = test.recover(&cut);
            recovered.unwrap_or_else(|error| panic!("{stack} {files:?} cut at {at}: {error}"));
        }
    }
}

/// Each statement breaks one condition and no other.
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
    let (scenario, tpcc) = scenario(Stack::TMPFS, 100);
    let test = PowerCutTest::new(&scenario, tpcc, 0);
    let machine = test.loaded().unwrap();
    let database = test.open(&machine).unwrap();
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
