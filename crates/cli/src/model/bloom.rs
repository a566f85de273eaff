//! `flysch model bloom`: the rate of false positives of a Bloom filter.

use flysch_models::bloom::false_positive_rate;
use serde::Serialize;

use crate::failure::Failure;
use crate::numbers::{Numbers, counts};
use crate::output::{self, Format};

/// Arguments of `flysch model bloom`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  flysch model bloom --bits-per-key 16 --hash-count 1..16")]
pub(crate) struct Args {
    /// Bits of the filter for each key: d, or m/n
    #[arg(long, value_name = "LIST", default_value = "8,12,16")]
    bits_per_key: Numbers,
    /// Number of hash functions: k
    #[arg(long, value_name = "LIST", default_value = "3..8")]
    hash_count: Numbers,
    /// How to print the rates
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Row {
    bits_per_key: u32,
    hash_count: u32,
    false_positives: f64,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let hash_counts = counts("hash-count", &args.hash_count)?;
    let mut rows = Vec::new();
    for bits_per_key in counts("bits-per-key", &args.bits_per_key)? {
        rows.extend(hash_counts.iter().map(|&hash_count| Row {
            bits_per_key,
            hash_count,
            false_positives: false_positive_rate(f64::from(bits_per_key), hash_count),
        }));
    }
    let columns = ["bits_per_key", "hash_count", "false_positives"];
    output::print(&output::rows(&columns, &rows, args.format))
}
