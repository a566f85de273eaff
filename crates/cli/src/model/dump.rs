//! `flysch model dump`: every value of the paper's model with its label.

use flysch_models::dump::values;

use crate::failure::Failure;
use crate::output::{self, Destination, Format};

/// Arguments of `flysch model dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  flysch model dump --format json --out values.json")]
pub(crate) struct Args {
    /// How to print the values
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.destination.check()?;
    args.destination.deliver(&output::rows(&["label", "value", "note"], &values(), args.format))
}
