//! How figures are shown in a terminal: which, in which order, in which width and colours.

use std::env;
use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use rustix::termios::tcgetwinsize;

use crate::failure::Failure;

/// The width if neither the terminal nor `COLUMNS` defines one.
const WIDTH: usize = 100;
/// The narrowest width that is respected.
const WIDTH_MIN: usize = 40;
/// The most simulations that may run at the same time.
const JOBS_MAX: u16 = 1024;

/// Options on how the figures are shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct View {
    /// Figures to show, by their names in JSON, such as `time_ns,latency_ns.p99`; or all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Sort the rows by a figure or a parameter; with a minus before it, in descending order
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,
    /// With several seeds: one row for each run, or for each cell (all seeds of the same
    /// parameters) with mean, deviation and 95 % interval [default: cell in a table, run in CSV and
    /// JSON]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) per: Option<Per>,
    /// Colours in tables
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    color: Colour,
    /// Print nothing but the figures
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Number of simulations at the same time [default: one for each processor]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(JOBS_MAX)))]
    jobs: Option<u16>,
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Per {
    /// One run
    Run,
    /// All runs that differ only in their seed
    Cell,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl View {
    /// Limit the number of simulations at the same time to what the user set. May be called once
    /// only.
    pub(crate) fn limit_jobs(&self) -> Result<(), Failure> {
        let Some(jobs) = self.jobs else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into());
        pool.build_global().map_err(|error| Failure::of(&error))
    }

    /// Whether tables are coloured.
    pub(super) fn has_colour(&self) -> bool {
        match self.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none(),
        }
    }

    /// The width that tables fit in.
    pub(super) fn width() -> usize {
        let wanted = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let of_terminal = || tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into());
        wanted.or_else(of_terminal).filter(|&width| width >= WIDTH_MIN).unwrap_or(WIDTH)
    }
}
