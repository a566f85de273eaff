//! Calibration: measures times on a kernel, and prints the prices that they give.

use std::fs;
use std::path::PathBuf;

use flysch_kernel::site::Target;
use flysch_kernel::site::bench::{Conditions, open};
use flysch_lab::calibrate::{self, CASES, Time};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::parameters::platform;
use crate::progress::tell;

/// Arguments of `flysch platform calibrate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Calibrate {
    /// Kernel targets to measure on: kernel:jffs2, kernel:ubifs
    #[arg(long, value_name = "TARGET", value_delimiter = ',', required_unless_present = "from")]
    on: Vec<Target>,
    /// MTD to make file systems on, such as mtd0: ALL OF IT IS ERASED
    #[arg(long, value_name = "MTD", required_unless_present = "from")]
    mtd: Option<String>,
    /// The platform that the machine is: its part, and its time of an instruction
    #[arg(long, value_name = "NAME", default_value = "nandsim-6.1")]
    platform: String,
    /// Print the measured times as JSON and fit nothing
    #[arg(long)]
    times: bool,
    /// Fit to times that were measured before: the output of --times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["on", "times"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    output: CalibrateOutput,
}

/// Where the results of a calibration go.
#[derive(Debug, clap::Args)]
pub(crate) struct CalibrateOutput {
    /// Print prices and measurements as JSON instead of a table of prices in TOML
    #[arg(long)]
    json: bool,
    /// File for the prices [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// File for the measured times, for --from
    #[arg(long, value_name = "FILE")]
    save_times: Option<PathBuf>,
    /// File for the measurements beside what the prices give, as CSV
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

/// Times with the version of the kernel that they were measured on.
#[derive(Serialize, Deserialize)]
struct Measured {
    kernel: String,
    sqlite: String,
    times: Vec<Time>,
}

/// The columns of the measurements.
const COLUMNS: [&str; 5] = ["case", "measurement", "kernel_us", "fitted_us", "error"];

impl Calibrate {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = match &self.from {
            Some(path) => {
                fs::read_to_string(path).map_err(|error| Failure::of_file(path, error))?
            }
            None => self.measure()?,
        };
        if self.times {
            return output::print(text.as_bytes());
        }
        self.output.write(&text, &self.platform)
    }

    /// Measure on this machine. Returns the times as JSON.
    fn measure(&self) -> Result<String, Failure> {
        let platform = platform(&self.platform)?;
        let conditions = Conditions {
            mtd: self.mtd.clone(),
            level: None,
            buffer_kib: 64,
            is_untraced: true,
            asked: Vec::new(),
        };
        let mut times = Vec::new();
        for case in &CASES {
            let Some(target) = self.on.iter().find(|it| it.main() == Some(case.main)) else {
                continue;
            };
            let site = open(&case.scenario(&platform), target, &conditions);
            let site = site.map_err(|error| Failure::of(&error))?;
            let made = calibrate::times(case, &*site);
            times.extend(made.map_err(|error| Failure::of(&error))?);
            tell(&format!("measured {}", case.name));
        }
        let release = rustix::system::uname();
        let measured = Measured {
            kernel: format!("Linux {}", release.release().to_string_lossy()),
            sqlite: flysch_sqlite::version().to_owned(),
            times,
        };
        Ok(serde_json::to_string_pretty(&measured).expect("numbers and names") + "\n")
    }
}

impl CalibrateOutput {
    /// Fit the prices to measured times, and print them.
    pub(crate) fn write(&self, times: &str, name: &str) -> Result<(), Failure> {
        if let Some(path) = &self.save_times {
            output::write_file(path, times.as_bytes(), self.force)?;
        }
        let Measured { kernel, sqlite, times } = serde_json::from_str(times)
            .map_err(|error| Failure::Message(format!("the times of a calibration: {error}")))?;
        let platform = platform(name)?;
        let mut counted = Vec::new();
        for case in CASES.iter().filter(|case| times.iter().any(|time| time.case == case.name)) {
            let made = calibrate::counts(case, &platform);
            counted.extend(made.map_err(|error| Failure::of(&error))?);
        }
        let fit = calibrate::fit(&times, &counted, &platform);
        if let Some(path) = &self.rows {
            let csv = output::rows(&COLUMNS, &fit.rows, Format::Csv);
            output::write_file(path, &csv, self.force)?;
        }
        let text = if self.json {
            serde_json::to_string_pretty(&fit).expect("numbers and names") + "\n"
        } else {
            calibrate::toml(&fit, &kernel, &sqlite)
        };
        match &self.out {
            Some(path) => output::write_file(path, text.as_bytes(), self.force),
            None => output::print(text.as_bytes()),
        }
    }
}
