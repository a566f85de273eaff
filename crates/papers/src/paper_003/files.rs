//! The gain from putting each kind of file on PRAM, which is future work in the paper.

use flysch_lab::bench::scenario::Scenario;
use flysch_lab::machine::Machine;
use flysch_lab::machine::dual::Route;
use flysch_lab::machine::stack::Stack;
use flysch_lab::tpcc::Files;
use flysch_lab::trace::Operations;
use flysch_lab::workload::Tpcc;
use serde_json::json;

use super::band::{Band, Target};
use super::claim::Claim;
use super::listing::Listing;
use super::paper::{Cause, Effort, Evidence, Trial};
use super::power_cut::PowerCutTest;
use super::stacks::{HYBRID, NAND, scenario, tpcc};

/// The divisor that makes the database smaller. The database, its journal and its copy then all fit
/// in the PRAM.
const DIVISOR: u32 = 40;
/// Number of transactions of TPC-C.
const TRANSACTIONS: u32 = 200;
/// Size of the caches in pages. Temporary tables are larger, so they are written to files.
const CACHE_PAGES: u32 = 100;
/// Progress steps for each choice of files.
const STEPS: u64 = 10;

/// The jobs, each with a description.
const JOBS: [Job; 4] = [
    Job { name: "tpcc", what: "transactions over two files, each tied by a super-journal", sql: "" },
    Job {
        name: "restock",
        what: "two updates of all stock in one transaction, under a constraint",
        sql: "BEGIN; UPDATE audit SET quantity = quantity + 2; UPDATE audit SET quantity = quantity - 1;
              COMMIT",
    },
    Job {
        name: "report",
        what: "a temporary table of all stock, grouped and sorted",
        sql: "CREATE TEMP TABLE report AS SELECT * FROM stock;
              UPDATE temp.report SET s_quantity = s_quantity + 1;
              SELECT s_data, sum(s_quantity) FROM temp.report GROUP BY s_data ORDER BY 2;
              DROP TABLE temp.report",
    },
    Job { name: "vacuum", what: "the database copied and written back", sql: "VACUUM" },
];

/// SQL that runs before the jobs. It makes a table in which an update may fail half-way.
const AUDIT: &str = "CREATE TABLE audit(item INTEGER PRIMARY KEY,
    quantity INTEGER CHECK (quantity > -1000), note TEXT);
    INSERT INTO audit SELECT s_i_id, s_quantity, s_data FROM stock";

/// The choices of files to put on PRAM. Each adds one kind to the previous choice.
const CHOICES: [(Stack, Route); 5] = [
    (NAND, Route::JOURNAL),
    (HYBRID, Route::JOURNAL),
    (HYBRID, Route::JOURNAL.and(Route::SUPER_JOURNAL)),
    (HYBRID, Route::JOURNAL.and(Route::SUPER_JOURNAL).and(Route::STATEMENT_JOURNAL)),
    (HYBRID, Route::ALL),
];

struct Job {
    name: &'static str,
    what: &'static str,
    sql: &'static str,
}

/// What a job cost.
struct Cost {
    operations: Operations,
    time_ns: u64,
}

pub(super) const fn steps(_: Effort) -> u64 {
    CHOICES.len() as u64 * STEPS
}

pub(super) fn run(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut costs = Vec::new();
    for (stack, route) in CHOICES {
        let tpcc = Tpcc { files: Files::Two, ..tpcc(DIVISOR) };
        let mut one = scenario(tpcc, stack, TRANSACTIONS)?;
        one.build.route = route;
        costs.push(costs_of_jobs(&one, tpcc)?);
        (trial.done)(STEPS);
    }
    Ok(Evidence {
        claims: vec![claim(&costs)],
        listings: vec![listing(&costs)],
        ..Evidence::default()
    })
}

/// Run all jobs with one choice of files, and return their costs.
fn costs_of_jobs(scenario: &Scenario, tpcc: Tpcc) -> Result<Vec<Cost>, Cause> {
    let test = PowerCutTest::new(scenario, tpcc, TRANSACTIONS);
    let machine = test.loaded()?;
    let database = test.open(&machine)?;
    database.execute(AUDIT)?;
    let measured = |job: &Job| {
        machine.recorder.reset();
        let began_ns = machine.recorder.clock().now_ns();
        if job.sql.is_empty() {
            if let Some(error) = test.run(&database, TRANSACTIONS).error {
                return Err(Cause::from(error));
            }
            let caches = format!(
                "PRAGMA cache_size = {CACHE_PAGES}; PRAGMA temp.cache_size = {CACHE_PAGES}"
            );
            database.execute(caches)?;
        } else {
            database.execute(job.sql)?;
        }
        Ok(cost(scenario, &machine, began_ns))
    };
    JOBS.iter().map(measured).collect()
}

fn cost(scenario: &Scenario, machine: &Machine, began_ns: u64) -> Cost {
    let time_ns = machine.recorder.clock().now_ns() - began_ns;
    let mut operations = Operations::default();
    let trace = machine.recorder.take(scenario.build.part.geometry);
    trace.events.iter().for_each(|event| operations.add(event));
    Cost { operations, time_ns }
}

/// A claim on the number of kinds of files whose move to PRAM saves writes to the NAND in at least
/// one job.
fn claim(costs: &[Vec<Cost>]) -> Claim {
    let writes = |costs: &Vec<Cost>, job: usize| costs[job].operations.page_programs;
    let helps = |pair: &&[Vec<Cost>]| {
        (0..JOBS.len()).any(|job| writes(&pair[1], job) < writes(&pair[0], job))
    };
    #[expect(clippy::cast_precision_loss, reason = "at most four")]
    let kinds = costs.windows(2).filter(helps).count() as f64;
    Claim {
        note:
            "Rollback, super- and statement journals, temporary files, each added to those before. \
               TPC-C itself writes no statement journal and no temporary file: maintenance does."
                .to_owned(),
        ..Claim::new(
            "future-work",
            "kinds of files that spare the NAND writes when they are put on PRAM as well",
            Target::Value(4.0),
            kinds,
            Band::STATEMENT,
        )
    }
}

fn listing(costs: &[Vec<Cost>]) -> Listing {
    let mut rows = Vec::new();
    for ((stack, route), costs) in CHOICES.iter().zip(costs) {
        let files = if stack.journals.is_some() { route.to_string() } else { "none".to_owned() };
        for (job, cost) in JOBS.iter().zip(costs) {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a few minutes")]
            let time_ms = cost.time_ns as f64 / 1e6;
            let Operations { page_programs, block_erases, nvram_bytes, .. } = cost.operations;
            rows.push(vec![
                json!(files),
                json!(job.name),
                json!(job.what),
                json!(page_programs),
                json!(block_erases),
                json!(nvram_bytes),
                json!(time_ms),
            ]);
        }
    }
    Listing {
        item: "future-work",
        name: "files-on-pram".to_owned(),
        title: "Jobs by the files that lie on PRAM; times without SQLite's own".to_owned(),
        head: vec!["on_pram", "job", "what", "nand_writes", "nand_erases", "pram_bytes", "time_ms"],
        rows,
    }
}
