//! `flysch model size`: which index fits, what it costs, and how long the flash lasts.

use flysch_chip::Part;
use flysch_models::size::{Demand, SizeError, choose, most};

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::parameters::part;

/// Arguments of `flysch model size`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch model size --n 1000000 --key-size 12 --part gemalto-vfl --ram 14336
  flysch model size --per-day 86400 --keep-days 20 --part w25n01gv --record-size 40 --ram 16384
  flysch model size --per-day 86400 --keep 100000 --part w25n01gv --record-size 40 --ram 16384
  flysch model size --n 100000 --part w25n01gv --ram 4096 --inserts-per-day 1000000 --absent-share 0.9")]
pub(crate) struct Args {
    /// Number of keys that the index will hold
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX),
          required_unless_present_any = ["keep", "keep_days"])]
    n: Option<u32>,
    /// Instead of a number of keys: the newest N records are kept, older ones are deleted
    #[arg(long, value_name = "N", conflicts_with = "n",
          value_parser = clap::value_parser!(u32).range(1..=KEYS_MAX))]
    keep: Option<u32>,
    /// Instead of a number of keys: the newest DAYS of inserts are kept, older ones are deleted
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["n", "keep"],
          value_parser = clap::value_parser!(u32).range(1..=36_525))]
    keep_days: Option<u32>,
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
    /// RAM for the index, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 14_336)]
    ram: usize,
    /// Inserts in a day, to compute the life of the flash
    #[arg(long, value_name = "N", default_value_t = 10_000, visible_alias = "per-day")]
    inserts_per_day: u32,
    /// Lookups for each insert, to weigh the costs of both
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = amount)]
    lookups_per_insert: f64,
    /// Fraction of lookups whose key is absent
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
    let keys = args.keys()?;
    let demand = Demand {
        keys,
        key_size: args.key_size,
        record_size: args.record_size,
        part: part(&args.part)?.as_ref().clone(),
        ram: args.ram,
        inserts_per_day: args.inserts_per_day.into(),
        lookups_per_insert: args.lookups_per_insert,
        absent_share: args.absent_share,
    };
    let choices = choose(&demand).map_err(|error| match (error, args.keep_days) {
        (SizeError::Blocks { .. }, Some(_)) => {
            let days = most(&demand, args.inserts_per_day);
            Failure::Message(format!("{error}: the newest {days} days"))
        }
        _ => Failure::of(&error),
    })?;
    output::print(&output::rows(&COLUMNS, &choices, args.format))?;
    if args.format == Format::Table {
        output::print(args.assumed(&demand).as_bytes())?;
    }
    Ok(())
}

/// The most keys of an index.
const KEYS_MAX: i64 = 1 << 30;

impl Args {
    /// The number of keys that the index holds: as given, or those of the records that are kept.
    fn keys(&self) -> Result<u32, Failure> {
        let Some(days) = self.keep_days else { return Ok(self.n.or(self.keep).unwrap_or(1)) };
        let keys = u64::from(days) * u64::from(self.inserts_per_day);
        match u32::try_from(keys) {
            Ok(keys @ 1..) if i64::from(keys) <= KEYS_MAX => Ok(keys),
            _ => Err(Failure::Message(format!(
                "--keep-days {days}: {keys} keys; from 1 to {KEYS_MAX} are possible"
            ))),
        }
    }

    /// Sentences on what the numbers of years assume.
    fn assumed(&self, demand: &Demand) -> String {
        let Part { name, endurance, geometry, .. } = &demand.part;
        let days = self.keep_days.map(|days| format!("{days} days"));
        let kept = days.or_else(|| self.keep.map(|rows| format!("{rows} records")));
        let kept = kept.map_or_else(String::new, |kept| {
            format!(
                " The newest {kept} are kept; records are deleted block by block, and the index is \
                 written as for the first {} keys, without what its deletes cost.",
                demand.keys
            )
        });
        format!(
            "\nyears: {} inserts a day on the whole of {name}, {} blocks rated {endurance} erases \
             each, worn evenly, none spare. How long worn cells keep data is not in it, and no part \
             is promised to work for much longer than its data sheet's 10 years of retention.{kept}\n",
            self.inserts_per_day, geometry.block_count
        )
    }
}
