//! `flysch model costs`: Tables 4 and 5 of the `PBFilter` paper for any parameters.

use clap::ValueEnum;
use flysch_models::method::{Column, Method, Parameters};
use flysch_models::pbfilter::Tuning;
use flysch_models::reading::Reading;
use flysch_models::setting::Setting;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::numbers::{Numbers, counts};
use crate::output::{self, Format};

/// Arguments of `flysch model costs`: the variables of Tables 2 and 3.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch model costs --n 1000000,5000000
  flysch model costs --method pbfilter --bits-per-key 24 --hash-count 4 --reading consistent
  flysch model costs --method bftl2 --list-max 30 --variables")]
pub(crate) struct Args {
    /// Methods: btree, bftl1, bftl2, skimpystash, pbfilter, pbfilter2 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    method: Vec<Method>,
    /// N: number of inserted records
    #[arg(long, value_name = "LIST", default_value = "1000000")]
    n: Numbers,
    /// Sk: size of a key in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 12)]
    key_size: u32,
    /// Sp: size of a page in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 2048)]
    page_size: u32,
    /// Sr: size of a pointer in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4)]
    pointer_size: u32,
    /// B: number of buffer pages in RAM
    #[arg(long, value_name = "PAGES", default_value_t = Tuning::PUBLISHED.buffers)]
    buffers: u32,
    /// C: longest node translation list of bftl2
    #[arg(long, value_name = "PAGES", default_value_t = 5)]
    list_max: u32,
    /// kss: records in a bucket of skimpystash
    #[arg(long, value_name = "N", default_value_t = 8)]
    chain_len: u32,
    /// d: bits of pbfilter's Bloom filter for each key
    #[arg(long, value_name = "BITS", default_value_t = Tuning::PUBLISHED.bits_per_key)]
    bits_per_key: u32,
    /// k: hash functions of pbfilter's Bloom filter
    #[arg(long, value_name = "N", default_value_t = Tuning::PUBLISHED.hash_count)]
    hash_count: u32,
    /// L1: initial partitions of pbfilter; pbfilter2 has four times as many
    #[arg(long, value_name = "N", default_value_t = Tuning::PUBLISHED.partitions)]
    partitions: u32,
    /// s: sectors in a page
    #[arg(long, value_name = "N", default_value_t = Tuning::PUBLISHED.sectors)]
    sectors: u32,
    /// Which interpretation of the printed formula for R of pbfilter to use
    #[arg(long, value_enum, default_value_t)]
    reading: ReadingName,
    /// Print the variables of Table 4 instead
    #[arg(long)]
    variables: bool,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ReadingName {
    /// An interpretation that is fitted: it gives every R that the paper's text states
    #[default]
    Fitted,
    /// An interpretation without contradictions in itself
    Consistent,
}

/// The columns of Table 5.
const COLUMNS: [&str; 10] = [
    "method",
    "n",
    "key_size",
    "page_size",
    "r_pages",
    "ir_pages",
    "w_pages",
    "ram_kb",
    "vp_pages",
    "op_pages",
];

#[derive(Serialize)]
struct Row {
    method: &'static str,
    n: u32,
    variable: String,
    value: Value,
}

/// Print a row for each method and number of records.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let methods = if args.method.is_empty() { Method::ALL } else { &args.method };
    let mut columns = Vec::new();
    for keys in counts("n", &args.n)? {
        let parameters = args.parameters(keys);
        for method in methods {
            columns.push(method.column(&parameters).map_err(|error| Failure::of(&error))?);
        }
    }
    output::print(&if args.variables {
        let names = ["method", "n", "variable", "value"];
        output::rows(&names, &variables(&columns), args.format)
    } else {
        output::rows(&COLUMNS, &columns, args.format)
    })
}

impl Args {
    fn parameters(&self, keys: u32) -> Parameters {
        Parameters {
            setting: Setting {
                keys,
                key_size: self.key_size,
                page_size: self.page_size,
                pointer_size: self.pointer_size,
            },
            tuning: Tuning {
                bits_per_key: self.bits_per_key,
                hash_count: self.hash_count,
                partitions: self.partitions,
                sectors: self.sectors,
                buffers: self.buffers,
            },
            list_max: self.list_max,
            chain_len: self.chain_len,
            reading: match self.reading {
                ReadingName::Fitted => Reading::FITTED,
                ReadingName::Consistent => Reading::CONSISTENT,
            },
        }
    }
}

fn variables(columns: &[Column]) -> Vec<Row> {
    let of_column = |column: &Column| {
        let (method, n) = (column.method, column.n);
        let fields = column.variables.as_object().into_iter().flatten();
        let row = move |(name, value): (&String, &Value)| Row {
            method,
            n,
            variable: name.clone(),
            value: value.clone(),
        };
        fields.map(row).collect::<Vec<Row>>()
    };
    columns.iter().flat_map(of_column).collect()
}
