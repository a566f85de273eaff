//! `flysch model bitmap`: the costs of bitmap indexes of one attribute. How its values are
//! decomposed into components decides the number of bitmaps.

use flysch_models::bitmap::{Bitmaps, PUBLISHED, bitmaps};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Format};

/// Arguments of `flysch model bitmap`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  flysch model bitmap --tuples 1000000 --bases 256,16x16,4x4x4x4"
)]
pub(crate) struct Args {
    /// Number of tuples in the table; the paper's million is 2^20
    #[arg(long, value_name = "N", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u32).range(1..))]
    tuples: u32,
    /// Size of a page in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 2048,
          value_parser = clap::value_parser!(u32).range(1..))]
    page_size: u32,
    /// Bases of the components, lowest first, joined by x [default: the three of the paper]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bases)]
    bases: Vec<Bases>,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Debug)]
struct Bases(Vec<u32>);

fn bases(text: &str) -> Result<Bases, String> {
    let parsed: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    match parsed {
        Ok(bases) if bases.iter().all(|&base| base >= 2) => Ok(Bases(bases)),
        _ => Err("bases are numbers from 2, joined by x: 16x16".to_owned()),
    }
}

#[derive(Serialize)]
struct Row {
    bases: String,
    #[serde(flatten)]
    bitmaps: Bitmaps,
}

/// Print a row for each decomposition.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let published = PUBLISHED.map(|(_, bases)| Bases(bases.to_vec()));
    let asked = if args.bases.is_empty() { &published[..] } else { &args.bases };
    let row = |Bases(bases): &Bases| {
        let names: Vec<String> = bases.iter().map(u32::to_string).collect();
        Row { bases: names.join("x"), bitmaps: bitmaps(args.tuples, args.page_size, bases) }
    };
    let rows: Vec<Row> = asked.iter().map(row).collect();
    let columns = ["bases", "bitmaps", "pages", "scans", "read", "pages_per_bitmap"];
    output::print(&output::rows(&columns, &rows, args.format))
}
