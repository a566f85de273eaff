//! `flysch index`: compares index structures on the bare chip.

mod bench;
mod own;

use clap::Subcommand;

use crate::failure::Failure;

/// Arguments of `flysch index`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch index bench pbfilter runs --n 1000000
  flysch index bench runs runs+filter --n 100000..1000000:100000 --report runs.html
  flysch index bench pbfilter btree --n 100000 --updates 50 --format json")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: IndexCommand,
}

#[derive(Debug, Subcommand)]
enum IndexCommand {
    /// Load keys into index structures, look some up, and print the costs.
    Bench(bench::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        IndexCommand::Bench(args) => bench::run(args),
    }
}
