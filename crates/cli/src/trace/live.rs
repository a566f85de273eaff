//! `flysch trace live`: records the flash operations of this machine, until Ctrl-C or until a
//! command ends.

use std::process::{Child, Command, ExitStatus};

use flysch_chip::Trace;
use flysch_kernel::live::device::Window;
use flysch_kernel::live::level::Level;
use flysch_kernel::live::signals::Stop;
use flysch_kernel::live::tracer::{LiveTracer, TracerOptions};

use super::{ExportFormat, tables};
use crate::failure::Failure;
use crate::output::{self, Destination, Format};
use crate::progress;

/// The longest sleep while no events come, milliseconds. At the latest after it, a signal or the
/// end of the command is noticed.
const PATIENCE_MS: u32 = 100;

/// Arguments of `flysch trace live`.
#[derive(Debug, clap::Args)]
pub(super) struct Live {
    /// Record one MTD only, such as mtd0; addresses count from its start
    #[arg(long, value_name = "MTD")]
    device: Option<String>,
    /// Where operations are recorded: chip, spi-nand, mtd, nandsim [default: nearest to the flash
    /// array]
    #[arg(long, value_name = "LEVEL")]
    hook: Option<Level>,
    /// Buffer for each CPU, KiB. Events that are not read in time are lost; their number is
    /// reported
    #[arg(long, value_name = "KIB", default_value_t = 16384, value_parser = clap::value_parser!(u32).range(64..))]
    buffer: u32,
    /// Write the recording in this format instead of its summary
    #[arg(long, value_enum)]
    to: Option<ExportFormat>,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    destination: Destination,
    /// Command to run; the recording ends with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Live {
    /// Record the operations, then write them.
    pub(super) fn run(&self) -> Result<(), Failure> {
        if let Some(path) = &self.destination.out {
            output::check_writable(path, self.destination.force)?;
        }
        let stop = Stop::on_signals().map_err(|error| Failure::of(&error))?;
        let window = Window::of_machine(self.device.as_deref()).map_err(|e| Failure::of(&e))?;
        let options = TracerOptions { level: self.hook, buffer_kib: self.buffer };
        let mut tracer = LiveTracer::start(window, options).map_err(|e| Failure::of(&e))?;
        let ended = self.record(&mut tracer, &stop)?;
        let (level, lost, trace) = (tracer.level(), tracer.lost(), tracer.take());
        // Remove the probes before anything that may fail or block.
        drop(tracer);
        progress::tell(&format!(
            "{} events at level {}, {lost} lost",
            trace.events.len(),
            level.name()
        ));
        self.write(&trace)?;
        match ended {
            Some(status) if !status.success() => {
                Err(Failure::Message(format!("the command ended with {status}")))
            }
            _ => Ok(()),
        }
    }

    fn record(&self, tracer: &mut LiveTracer, stop: &Stop) -> Result<Option<ExitStatus>, Failure> {
        let mut child = self.spawn()?;
        let ended = loop {
            if tracer.wait(PATIENCE_MS).map_err(|error| Failure::of(&error))? {
                tracer.drain().map_err(|error| Failure::of(&error))?;
            }
            if let Some(child) = &mut child
                && let Some(status) = child.try_wait().map_err(|error| Failure::of(&error))?
            {
                break Some(status);
            }
            if stop.is_wanted() {
                break child.map(|mut child| end(&mut child)).transpose()?;
            }
        };
        tracer.switch(false).map_err(|error| Failure::of(&error))?;
        tracer.drain().map_err(|error| Failure::of(&error))?;
        Ok(ended)
    }

    fn spawn(&self) -> Result<Option<Child>, Failure> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(None) };
        let child = Command::new(program).args(arguments).spawn();
        child.map(Some).map_err(|error| Failure::Message(format!("{program}: {error}")))
    }

    fn write(&self, trace: &Trace) -> Result<(), Failure> {
        match self.to {
            Some(format) => format.write(trace, &self.destination),
            None => self.destination.deliver(&tables::summary(trace, self.format)),
        }
    }
}

/// Kill the recorded command, because the recording ended before it.
fn end(child: &mut Child) -> Result<ExitStatus, Failure> {
    // A command that has already ended, perhaps by the same Ctrl-C, cannot be killed.
    child.kill().ok();
    child.wait().map_err(|error| Failure::of(&error))
}
