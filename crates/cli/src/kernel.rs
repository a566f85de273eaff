//! Runs on the kernel of this machine: their options and their progress.

use flysch_kernel::live::device::Window;
use flysch_kernel::live::level::Level;
use flysch_kernel::live::signals::Stop;
use flysch_kernel::site::Target;
use flysch_kernel::site::bench::{Conditions, run};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;

use crate::failure::Failure;
use crate::progress::{tell, title};

/// The options of runs on the kernel of this machine.
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
    /// Run the scenarios on `target`, one after the other.
    pub(crate) fn carry_out(
        &self,
        target: &Target,
        scenarios: &[Scenario],
        asked: &[&'static str],
    ) -> Result<Vec<Run>, Failure> {
        let conditions = Conditions {
            asked: asked.to_vec(),
            mtd: self.mtd.clone(),
            level: self.hook,
            buffer_kib: self.buffer,
            is_untraced: self.untraced,
        };
        // After a signal the command waits for the current run, which then removes what it put into
        // the kernel.
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let one = |(number, scenario): (usize, &Scenario)| {
            if stop.is_wanted() {
                return Err(Failure::Message("interrupted".to_owned()));
            }
            let title = self.title(scenario, target);
            let done = run(scenario, target, &conditions)
                .map_err(|error| Failure::Message(format!("{title}: {error}")))?;
            tell(&format!("{} of {} done: {title}", number + 1, scenarios.len()));
            Ok(done)
        };
        scenarios.iter().enumerate().map(one).collect()
    }

    /// Describe a run in a few words, with the flash that there is.
    fn title(&self, scenario: &Scenario, target: &Target) -> String {
        let mut scenario = scenario.clone();
        if let Ok(window) = Window::of_machine(self.mtd.as_deref()) {
            scenario.build.partition_blocks = window.geometry.block_count;
        }
        title(&scenario, &target.to_string())
    }
}

/// Refuse a parameter that a target cannot take, of those that are asked for.
pub(crate) fn check_parameters(target: &Target, asked: &[&'static str]) -> Result<(), Failure> {
    let refused = asked.iter().find_map(|name| Some((name, target.refuses(name)?)));
    refused
        .map_or(Ok(()), |(name, why)| Err(Failure::Message(format!("--{name} on {target}: {why}"))))
}
