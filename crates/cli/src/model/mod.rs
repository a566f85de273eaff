//! `flysch model`: the costs of an index before it is built, by formulas, and the costs of runs
//! that were not made, by models that are fitted to other runs.

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
    /// Costs of each index method: Tables 4 and 5 of the `PBFilter` paper
    Costs(costs::Args),
    /// False positives of a Bloom filter: Table 1 of the paper
    Bloom(bloom::Args),
    /// Pages and scans of bitmap indexes: section 5.1 of the paper
    Bitmap(bitmap::Args),
    /// The charts of Fig. 12 of the paper, as numbers or as a page
    Figure(figure::Args),
    /// Which index fits a number of keys, a part and RAM; its costs; how long the flash lasts
    Size(size::Args),
    /// Every value by its label, in all interpretations of the printed formulas
    Dump(dump::Args),
    /// Fit the costs of runs to requests and record size, from the CSV of flysch bench
    Fit(fit::FitArgs),
    /// Predict the costs of a run by fitted models
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
