//! Runs on this machine: what they need to know of it, and their progress.

use flysch_kernel::live::level::Level;
use flysch_kernel::live::signals::Stop;
use flysch_kernel::site::Target;
use flysch_kernel::site::bench::{Conditions, run};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;

use crate::failure::Failure;
use crate::progress::{tell, title};

/// What runs on this machine need to know of it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of kernel: targets")]
pub(crate) struct MachineOptions {
    /// MTD to make file systems on, such as mtd0: ALL OF IT IS ERASED for each run
    #[arg(long, value_name = "MTD")]
    mtd: Option<String>,
    /// Where to count: chip, spi-nand, mtd, nandsim; by default the nearest to the array
    #[arg(long, value_name = "LEVEL")]
    hook: Option<Level>,
    /// Trace buffer of each processor, KiB: a whole run has to fit
    #[arg(long, value_name = "KIB", default_value_t = 65536, value_parser = clap::value_parser!(u32).range(64..))]
    buffer: u32,
    /// Record nothing: times without the tracer's share, and no counts
    #[arg(long)]
    untraced: bool,
}

impl MachineOptions {
    /// Carry scenarios out on `target`, one after the other.
    pub(crate) fn carry_out(
        &self,
        target: &Target,
        scenarios: &[Scenario],
    ) -> Result<Vec<Run>, Failure> {
        let conditions = Conditions {
            mtd: self.mtd.clone(),
            level: self.hook,
            buffer_kib: self.buffer,
            is_untraced: self.untraced,
        };
        // A signal ends the command after the run under way: what that put into the kernel goes first.
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let one = |(number, scenario): (usize, &Scenario)| {
            if stop.is_wanted() {
                return Err(Failure::Message("interrupted".to_owned()));
            }
            let title = title(scenario, &target.to_string());
            let done = run(scenario, target, &conditions)
                .map_err(|error| Failure::Message(format!("{title}: {error}")))?;
            tell(&format!("{} of {} done: {title}", number + 1, scenarios.len()));
            Ok(done)
        };
        scenarios.iter().enumerate().map(one).collect()
    }
}
