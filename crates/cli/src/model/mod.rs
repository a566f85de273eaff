//! `flysch model`: the costs of an index before it is built, in closed form, and the costs of runs
//! that were not made. The second kind comes from models that are fitted to other runs.

mod bitmap;
mod bloom;
mod costs;
mod dump;
mod figure;
mod fit;
mod size;

use clap::Subcommand;

use crate::failure::Failure;

/// Arguments of `flysch model`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch model costs --n 1000000 --key-size 12
  flysch model costs --method pbfilter --n 100000..1000000:100000 --format csv
  flysch model size --n 1000000 --key-size 12 --part gemalto-vfl --ram 14336
  flysch model dump --format json")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// What each method costs: Tables 4 and 5 of the `PBFilter` paper
    Costs(costs::Args),
    /// How often a Bloom filter is wrong: its Table 1
    Bloom(bloom::Args),
    /// Pages and scans of bitmap indexes: its section 5.1
    Bitmap(bitmap::Args),
    /// Charts of its Fig. 12, as numbers or as a page
    Figure(figure::Args),
    /// Which index for so many keys, part and RAM; its costs; how long the flash lasts
    Size(size::Args),
    /// Every value by its label, in all readings of the printed formulas
    Dump(dump::Args),
    /// Fit costs of runs to requests and record size, from the CSV of flysch bench
    Fit(fit::FitArgs),
    /// What a run would cost, by fitted models
    Predict(fit::PredictArgs),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.action {
        Action::Costs(args) => costs::run(args),
        Action::Bloom(args) => bloom::run(args),
        Action::Bitmap(args) => bitmap::run(args),
        Action::Figure(args) => figure::run(args),
        Action::Size(args) => size::run(args),
        Action::Dump(args) => dump::run(args),
        Action::Fit(args) => fit::run_fit(args),
        Action::Predict(args) => fit::run_predict(args),
    }
}
