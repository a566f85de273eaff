//! Runs on the real kernel of this machine: their options and their progress.

use flysch_kernel::live::device::Window;
use flysch_kernel::live::level::Level;
use flysch_kernel::live::signals::Stop;
use flysch_kernel::site::Target;
use flysch_kernel::site::bench::{Conditions, run};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;

use crate::failure::Failure;
use crate::progress::{tell, title};

/// The options of runs on the real kernel of this machine.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of kernel: targets")]
pub(crate) struct MachineOptions {
    /// MTD to make file systems on, such as mtd0: ALL OF IT IS ERASED for each run
    #[arg(long, value_name = "MTD")]
    mtd: Option<String>,
    /// Where operations are counted: chip, spi-nand, mtd, nandsim [default: nearest to the flash
    /// array]
    #[arg(long, value_name = "LEVEL")]
    hook: Option<Level>,
    /// Trace buffer for each CPU, KiB: all events of a run must fit [default: 65536]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(64..))]
    buffer: Option<u32>,
    /// Do not trace: there are no counts, and times do not include the tracer's overhead
    #[arg(long)]
    untraced: bool,
}

/// Size of the trace buffer for each CPU, unless the user sets it.
const BUFFER_KIB: u32 = 65536;

impl MachineOptions {
    /// Refuse these options where nothing runs on the kernel.
    pub(crate) fn check_unused(&self) -> Result<(), Failure> {
        let given = [
            ("mtd", self.mtd.is_some()),
            ("hook", self.hook.is_some()),
            ("buffer", self.buffer.is_some()),
            ("untraced", self.untraced),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(Failure::Message(format!("--{name} is for kernel: targets"))),
            None => Ok(()),
        }
    }

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
            buffer_kib: self.buffer.unwrap_or(BUFFER_KIB),
            is_untraced: self.untraced,
        };
        // After a signal, the current run is finished first, because it then removes its probes
        // from the kernel.
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

    /// Describe a run in a few words, including the flash that it uses.
    fn title(&self, scenario: &Scenario, target: &Target) -> String {
        let mut scenario = scenario.clone();
        if let Ok(window) = Window::of_machine(self.mtd.as_deref()) {
            scenario.build.partition_blocks = window.geometry.block_count;
        }
        title(&scenario, &target.to_string())
    }
}

/// Refuse parameters that the user set but that a target does not have.
pub(crate) fn check_parameters(target: &Target, asked: &[&'static str]) -> Result<(), Failure> {
    let refused = asked.iter().find_map(|name| Some((name, target.refuses(name)?)));
    refused
        .map_or(Ok(()), |(name, why)| Err(Failure::Message(format!("--{name} on {target}: {why}"))))
}
