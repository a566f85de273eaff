//! `flysch budget`: runs a program and checks its costs against a budget.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::run as program;

/// Arguments of `flysch budget`.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  flysch budget app.toml --update -- python3 app.py   # write the limits
  flysch budget app.toml -- python3 app.py            # exit with 1 if a limit is exceeded
  flysch run --budget app.toml --on sqlite/ubifs -- ./tests
  flysch replay app.rec --budget app.toml")]
pub(crate) struct Args {
    /// File with the limits (TOML)
    #[arg(value_name = "BUDGET")]
    file: PathBuf,
    #[command(flatten)]
    run: program::Args,
}

/// Run a program and check its costs against a budget.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.run.carry_out_within(&args.file)
}
