//! `flysch platform`: lists the built-in boards and kernels, shows their files and how well they
//! are calibrated, and makes a template for a new one.

use std::sync::Arc;

use clap::Subcommand;
use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::throughput::{Throughput, levels};
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::workload::Micro;
use serde::Serialize;

use crate::calibrate::Calibrate;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::parameters;
use crate::part::New;

/// Arguments of `flysch platform`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch platform list
  flysch platform show am62-6.12
  flysch platform new myboard --like am62-6.12 --out myboard.toml
  flysch platform apf27-2.6.29")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Platform to calibrate; without it, all platforms are listed
    name: Option<String>,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in platforms
    List,
    /// Show the file of a platform, with the source of each figure
    Show {
        /// Name of the platform
        name: String,
    },
    /// Measure what the work of this machine's kernel and of SQLite takes, as a table of prices
    #[command(
        after_help = "Example:\n  flysch platform calibrate --on kernel:jffs2,kernel:ubifs --mtd mtd0"
    )]
    Calibrate(Calibrate),
    /// Make a platform file of your own to edit: a copy of another platform's
    New(New),
}

/// The comment above a template.
const UNITS: &str = "\
# A platform of your own: replace each figure by one that you measured or looked up, and name the
# source beside it. Names end in their unit: ns are nanoseconds, ps are picoseconds (at most 10^9 of
# either), mw milliwatts. The part is a built-in one, or a file beside this one, such as mychip.toml.
# `flysch compare --platform FILE` uses the file.
";

#[derive(Serialize)]
struct Listed {
    name: String,
    description: String,
    part: String,
    source: String,
    fitted: String,
}

/// The simulated throughput at one level of the stack, and the throughput that the platform's
/// source measured.
#[derive(Serialize)]
struct Calibrated {
    level: &'static str,
    write_mb_s: f64,
    source_write_mb_s: Option<f64>,
    read_mb_s: f64,
    source_read_mb_s: Option<f64>,
}

/// List the platforms, show one, make a template, or measure a platform's throughput.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let text_of = |name: &str| Platform::text(name).map_err(|error| Failure::of(&error));
    let text = match (&args.action, &args.name) {
        (Some(Action::New(new)), _) => {
            let like = new.like.as_deref().unwrap_or(Platform::DEFAULT);
            return new.write(UNITS, text_of(like)?);
        }
        (Some(Action::Show { name }), _) => text_of(name)?.as_bytes().to_vec(),
        (Some(Action::Calibrate(calibrate)), _) => return calibrate.run(),
        (Some(Action::List), _) | (None, None) => list(args.format)?,
        (None, Some(name)) => calibrate(name, args.format)?,
    };
    output::print(&text)
}

fn list(format: Format) -> Result<Vec<u8>, Failure> {
    let listed = Platform::names().into_iter().map(|name| {
        let platform = Platform::named(&name).map_err(|error| Failure::of(&error))?;
        Ok(Listed {
            name,
            description: platform.description,
            part: platform.part.name.clone(),
            source: platform.source,
            fitted: platform.cpu.fitted.join("; "),
        })
    });
    let rows: Vec<Listed> = listed.collect::<Result<_, Failure>>()?;
    Ok(output::rows(&["name", "description", "part"], &rows, format))
}

fn calibrate(name: &str, format: Format) -> Result<Vec<u8>, Failure> {
    let platform = parameters::platform(name)?;
    let grid = Grid::new(Micro::Select, Stack::JFFS2, Arc::clone(&platform));
    let build = grid.scenarios().swap_remove(0).build;
    let measured = levels(&build).map_err(|error| Failure::of(&error))?;
    let rows = measured.map(|level| compared(&level, &platform));
    let columns = ["level", "write_mb_s", "source_write_mb_s", "read_mb_s", "source_read_mb_s"];
    Ok(output::rows(&columns, &rows, format))
}

fn compared(level: &Throughput, platform: &Platform) -> Calibrated {
    let source = platform.throughput.iter().find(|row| row.level == level.level);
    Calibrated {
        level: level.level,
        write_mb_s: level.write_mb_s,
        source_write_mb_s: source.map(|row| row.write_mb_s),
        read_mb_s: level.read_mb_s,
        source_read_mb_s: source.map(|row| row.read_mb_s),
    }
}
