//! `flysch model size`: which index fits, what it costs, and how long the flash lasts.

use flysch_models::size::{Demand, choose};

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::parameters::part;

/// Arguments of `flysch model size`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch model size --n 1000000 --key-size 12 --part gemalto-vfl --ram 14336
  flysch model size --n 100000 --part w25n01gv --ram 4096 --inserts-per-day 1000000 --absent-share 0.9")]
pub(crate) struct Args {
    /// Number of keys that the index will hold
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    n: u32,
    /// Bytes of each key
    #[arg(long, value_name = "BYTES", default_value_t = 12,
          value_parser = clap::value_parser!(u32).range(1..))]
    key_size: u32,
    /// Bytes of the record that a key belongs to
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    record_size: u32,
    /// The chip: a part's name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "gemalto-vfl")]
    part: String,
    /// Bytes of RAM for the index
    #[arg(long, value_name = "BYTES", default_value_t = 14_336)]
    ram: usize,
    /// Inserts a day, for the life of the flash
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    inserts_per_day: u32,
    /// Lookups for each insert, to weigh one against the other
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = amount)]
    lookups_per_insert: f64,
    /// Share of lookups whose key is not there
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    absent_share: f64,
    /// How to print the indexes
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1e9".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1".to_owned()),
    }
}

/// The columns of the table and of CSV.
const COLUMNS: [&str; 11] = [
    "method",
    "parameters",
    "ram_bytes",
    "r_present",
    "r_absent",
    "w_bytes_per_key",
    "block_erases",
    "worst_insert_ms",
    "mean_ms",
    "blocks",
    "years",
];

/// Print every index that fits, the best first.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let demand = Demand {
        keys: args.n,
        key_size: args.key_size,
        record_size: args.record_size,
        part: part(&args.part)?.as_ref().clone(),
        ram: args.ram,
        inserts_per_day: args.inserts_per_day.into(),
        lookups_per_insert: args.lookups_per_insert,
        absent_share: args.absent_share,
    };
    let choices = choose(&demand).map_err(|error| Failure::of(&error))?;
    output::print(&output::rows(&COLUMNS, &choices, args.format))
}
