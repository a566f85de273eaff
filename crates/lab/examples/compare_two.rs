//! Run one scenario on two stacks, and print what each of them cost the chip.
//!
//! ```sh
//! cargo run --release --package flysch-lab --example compare_two
//! ```

use std::error::Error;
use std::sync::Arc;

use flysch_lab::bench::grid::{Grid, run_all};
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let platform = Arc::new(Platform::named("nandsim-6.1")?);
    let mut grid = Grid::new(Micro::Update, Stack::JFFS2, platform);
    grid.stacks = vec![Stack::JFFS2, Stack::UBIFS];
    grid.axes.requests = vec![1000];

    println!("{:<14}{:>8}{:>10}{:>8}{:>10}", "stack", "reads", "programs", "erases", "ms");
    for outcome in run_all(&grid.scenarios(), || ()) {
        let run = outcome?;
        let (reads, programs, erases) =
            (run.operations.page_reads, run.operations.page_programs, run.operations.block_erases);
        println!(
            "{:<14}{reads:>8}{programs:>10}{erases:>8}{:>10}",
            run.inputs.on,
            run.time_ns / 1_000_000
        );
    }
    Ok(())
}
