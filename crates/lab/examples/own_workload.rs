//! A workload of your own: a queue in SQLite. Each request appends a message and removes the oldest
//! one in one transaction. The lab counts what that costs on three stacks.
//!
//! ```sh
//! cargo run --release --package flysch-lab --example own_workload
//! ```

use std::error::Error;
use std::sync::Arc;

use flysch_lab::bench::RunError;
use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::measure::Measured;
use flysch_lab::bench::session::{Interval, Session, Steps};
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Workload;
use flysch_sqlite::Database;

/// Messages in the queue at any time.
const LENGTH: u32 = 100;
const SCHEMA: &str = "CREATE TABLE queue(id INTEGER PRIMARY KEY, message TEXT);";
const MESSAGE_SIZE: usize = 200;

struct Queue;

fn execute(session: &Session<'_>, database: &Database, sql: &str) -> Result<(), RunError> {
    session.execute(database, sql).map_err(|error| RunError::Broken(format!("{sql}: {error}")))
}

impl Steps for Queue {
    type Opened = Database;

    /// Fill the queue. The cost of this step is not counted.
    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let database = session.open_database()?;
        execute(session, &database, SCHEMA)?;
        let message = "m".repeat(MESSAGE_SIZE);
        for _ in 0..LENGTH {
            let sql = format!("INSERT INTO queue(message) VALUES('{message}')");
            execute(session, &database, &sql)?;
        }
        Ok(())
    }

    /// Open the database with cold caches.
    fn open(&mut self, session: &Session<'_>) -> Result<Database, RunError> {
        session.open_database()
    }

    /// Make the requests that are measured.
    fn measure(
        &mut self,
        session: &Session<'_>,
        database: &mut Database,
    ) -> Result<Measured, RunError> {
        let requests = session.scenario.requests;
        let message = "n".repeat(MESSAGE_SIZE);
        let mut interval = Interval::begin(session);
        for number in 1..=requests {
            interval.request("request", || {
                let sql = format!(
                    "BEGIN; INSERT INTO queue(message) VALUES('{message}'); \
                     DELETE FROM queue WHERE id = {number}; COMMIT;"
                );
                execute(session, database, &sql)
            })?;
        }
        Ok(Measured::new(interval.end(), u64::from(requests) * MESSAGE_SIZE as u64))
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let platform = Arc::new(Platform::named("am62-6.12")?);
    let mut grid = Grid::new(Workload::Program, Stack::JFFS2, platform);
    grid.stacks = vec![Stack::JFFS2, Stack::UBIFS, Stack::YAFFS2];
    grid.axes.requests = vec![500];
    println!("{:<14}{:>10}{:>8}{:>12}", "stack", "programs", "erases", "us/request");
    for scenario in grid.scenarios() {
        let run = scenario.run_steps(Queue)?;
        let (programs, erases) = (run.operations.page_programs, run.operations.block_erases);
        let us = run.time_ns / u64::from(run.inputs.requests) / 1000;
        println!("{:<14}{programs:>10}{erases:>8}{us:>12}", run.inputs.on);
    }
    Ok(())
}
