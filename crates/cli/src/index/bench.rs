//! `flysch index bench`: runs every combination of index methods, numbers of keys and key
//! distributions.

use std::sync::Arc;

use clap::ValueEnum;
use flysch_chip::Part;
use flysch_lab::index::bench::{IndexBench, LookupKind};
use flysch_lab::index::costs::IndexCosts;
use flysch_lab::index::keys::KeyDistribution;
use flysch_lab::index::method::MethodName;
use flysch_lab::index::rows::LookupDistribution;
use flysch_lab::machine::platform::Platform;
use flysch_lab::report;

use super::own::OwnOptions;
use crate::failure::Failure;
use crate::numbers::{Numbers, counts, once, optional};
use crate::output::Figures;
use crate::parameters::part;
use crate::progress::carry_out_indexes;
use crate::sheet::{Layout, Sheet, View};

/// The columns. JSON has all fields.
const LAYOUT: Layout = Layout {
    subject: &["method"],
    asked: &[
        "n",
        "key_size",
        "key_distribution",
        "rows_per_key",
        "lookup_distribution",
        "updates",
        "part",
        "seed",
    ],
    figures: &[
        "ram_bytes",
        "w_pages",
        "w_bytes_per_key",
        "ir_pages",
        "vp_pages",
        "op_pages",
        "block_erases",
        "r_present",
        "r_absent",
        "r_middle",
        "p99_present",
        "p999_present",
        "p99_absent",
        "p999_absent",
        "insert_ns",
        "worst_insert_ns",
        "insert_uj",
        "out_of_order_programs",
        "gc_copies",
        "w_bytes_per_update",
    ],
    shown: &[
        "ram_bytes",
        "w_pages",
        "r_present",
        "r_absent",
        "insert_ns",
        "worst_insert_ns",
        "block_erases",
        "p99_present",
        "p99_absent",
        "vp_pages",
        "op_pages",
        "insert_uj",
    ],
};

/// The longest key, bytes. No method has room for a node or an entry with longer keys on any part.
const KEY_SIZE_MAX: u32 = 4096;
/// The largest number of runs of one command.
const RUNS_MAX: usize = 10_000;

/// The chip by default: the one in the `PBFilter` paper.
const PART: &str = "gemalto-vfl";
/// Power of a chip that comes without a platform, mW. It is an assumption: data sheets of SLC NAND
/// often give 20 mA at 3.3 V.
const ACTIVE_MW: u32 = 66;

/// Arguments of `flysch index bench`. Numbers are lists (a,b,c) or ranges (FROM..TO:STEP).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  flysch index bench pbfilter runs --n 1000000 --key-size 12 --format json
  flysch index bench runs --n 1000000 --ram 4096,14336 --pace synchronous
  flysch index bench btree bftl2 runs --n 10000..100000:10000 --key-distribution random,ascending --report indexes.html
  flysch index bench pbfilter --n 100000 --updates 0..100:25 --lookups present,absent --part k9f2g08u0a --flush page")]
pub(crate) struct Args {
    /// Methods: pbfilter, pbfilter2, runs, runs+filter, btree, bftl1, bftl2, skimpystash, store,
    /// store+order
    #[arg(value_name = "METHOD", value_delimiter = ',', required = true)]
    methods: Vec<MethodName>,
    /// Number of rows to load
    #[arg(long, value_name = "N", default_value = "100000")]
    n: Numbers,
    /// Bytes of each key [default: 12; store+order, which takes no longer ones: 8]
    #[arg(long, value_name = "BYTES")]
    key_size: Option<Numbers>,
    /// Distributions of the keys: random, ascending, descending, normal, bursty, zipf, colliding
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "random")]
    key_distribution: Vec<KeyDistribution>,
    /// Rows of each key (with zipf keys: on average)
    #[arg(long, value_name = "N", default_value = "1")]
    rows_per_key: Numbers,
    /// Distributions of the keys that are looked up: uniform, zipf, newest, oldest
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "uniform")]
    lookup_distribution: Vec<LookupDistribution>,
    /// Updates of random keys after the load, percent of the number of keys
    #[arg(long, value_name = "PERCENT", default_value = "0")]
    updates: Numbers,
    /// Kinds of lookup to measure
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "present,absent,middle"
    )]
    lookups: Vec<Kind>,
    /// Number of lookups of each kind (of middle: one)
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    lookup_count: u32,
    /// Number of points in the second half of the load at which lookups are made; 0: all at the end
    /// [default: 40 for runs, whose reads rise and fall with each merge; 0 for the others]
    #[arg(long, value_name = "N")]
    states: Option<u32>,
    /// Seeds of keys and random draws
    #[arg(long, value_name = "N", default_value = "1")]
    seed: Numbers,
    /// Chips: names of parts, or TOML files; a part that is too small for an index gets more blocks
    /// [default: gemalto-vfl]
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',')]
    part: Vec<String>,
    /// Take the chip and its power from a platform
    #[arg(long, value_name = "NAME", conflicts_with = "part")]
    platform: Option<String>,
    /// RAM for an index, bytes [default: the method's own]
    #[arg(long, value_name = "BYTES")]
    ram: Option<Numbers>,
    #[command(flatten)]
    own: OwnOptions,
    #[command(flatten)]
    figures: Figures,
    #[command(flatten)]
    view: View,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Keys that were inserted
    Present,
    /// Keys that were not inserted
    Absent,
    /// The one key that was inserted half-way
    Middle,
    /// All rows of keys that were inserted
    All,
}

impl Kind {
    const fn lookup(self) -> LookupKind {
        match self {
            Self::Present => LookupKind::Present,
            Self::Absent => LookupKind::Absent,
            Self::Middle => LookupKind::Middle,
            Self::All => LookupKind::All,
        }
    }
}

/// Run every combination and print what it cost.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let benches = benches(args)?;
    args.figures.check([])?;
    let blanks: Vec<IndexCosts> = benches.iter().map(IndexBench::blank).collect();
    let view = Sheet::of(&LAYOUT, &blanks).named(args.figures.format, &args.view)?;
    args.view.limit_jobs()?;
    let runs = carry_out_indexes(&benches, args.view.quiet)?;
    let mut sheet = Sheet::of(&LAYOUT, &runs);
    sheet.sort(&view);
    let figures = sheet.render(args.figures.format, &view);
    args.figures.deliver(&figures, || report::indexes(&runs))
}

/// Every combination of the values. Methods vary fastest, so that they are next to each other in
/// the results.
fn benches(args: &Args) -> Result<Vec<IndexBench>, Failure> {
    let (parts, active_mw) = parts(args)?;
    let sizes = key_sizes(args)?;
    let rams = optional("ram", args.ram.as_ref())?;
    let rams = if rams.is_empty() { vec![None] } else { rams.into_iter().map(Some).collect() };
    args.own.check_use(&args.methods)?;
    let (bits, hashes) = (args.own.bits_per_key()?, args.own.hash_counts()?);
    let updates = updates(args)?;
    once("METHOD", &args.methods)?;
    once("--key-distribution", &args.key_distribution)?;
    once("--lookup-distribution", &args.lookup_distribution)?;
    once("--lookups", &args.lookups)?;
    once("--part", &args.part)?;
    once("--updates", &args.updates.0)?;
    once("--seed", &args.seed.0)?;
    let rows_per_key = counts("rows-per-key", &args.rows_per_key)?;
    let mut benches = vec![IndexBench {
        method: args.methods[0],
        keys: 1,
        rows_per_key: 1,
        key_size: 0,
        distribution: args.key_distribution[0],
        lookup_distribution: args.lookup_distribution[0],
        update_percent: 0,
        lookups: args.lookups.iter().map(|kind| kind.lookup()).collect(),
        lookup_count: args.lookup_count,
        states: args.states,
        seed: 0,
        part: Arc::clone(&parts[0]),
        active_mw,
        ram: None,
        tuning: args.own.tuning(),
    }];
    benches = spread(benches, &parts, |it, part| it.part = Arc::clone(part));
    benches = spread(benches, &args.key_distribution, |it, &name| it.distribution = name);
    benches = spread(benches, &args.lookup_distribution, |it, &name| it.lookup_distribution = name);
    benches = spread(benches, &rows_per_key, |it, &rows| it.rows_per_key = rows);
    if !sizes.is_empty() {
        benches = spread(benches, &sizes, |it, &size| it.key_size = size as usize);
    }
    benches = spread(benches, &updates, |it, &percent| it.update_percent = percent);
    benches = spread(benches, &rams, |it, ram| it.ram = ram.map(|bytes| bytes as usize));
    benches = spread(benches, &bits, |it, &bits| it.tuning.bits_per_key = bits);
    benches = spread(benches, &hashes, |it, &hashes| it.tuning.hash_count = hashes);
    benches = spread(benches, &counts("n", &args.n)?, |it, &keys| it.keys = keys);
    benches = spread(benches, &args.seed.0, |it, &seed| it.seed = seed);
    benches = spread(benches, &args.methods, |it, &method| it.method = method);
    if sizes.is_empty() {
        for it in &mut benches {
            it.key_size = it.method.usual_key_size();
        }
    }
    if benches.len() > RUNS_MAX {
        return Err(Failure::Message(format!(
            "these are {} runs, and {RUNS_MAX} at once are the most",
            benches.len()
        )));
    }
    let benches = distinct(benches);
    check(&benches)?;
    Ok(benches)
}

/// Refuse impossible runs before the first run starts.
fn check(benches: &[IndexBench]) -> Result<(), Failure> {
    benches.iter().try_for_each(|bench| {
        bench.check().map_err(|error| Failure::Message(format!("{}: {error}", bench.title())))
    })
}

/// The benches without the parameters that their methods do not have, each once.
fn distinct(benches: Vec<IndexBench>) -> Vec<IndexBench> {
    let mut all: Vec<IndexBench> = Vec::new();
    for mut one in benches {
        one.tuning = one.method.own(one.tuning);
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn spread<V>(
    benches: Vec<IndexBench>,
    values: &[V],
    set: impl Fn(&mut IndexBench, &V),
) -> Vec<IndexBench> {
    let of = |bench: IndexBench| {
        values
            .iter()
            .map(|value| {
                let mut one = bench.clone();
                set(&mut one, value);
                one
            })
            .collect::<Vec<_>>()
    };
    benches.into_iter().flat_map(of).collect()
}

fn parts(args: &Args) -> Result<(Vec<Arc<Part>>, u32), Failure> {
    if let Some(name) = &args.platform {
        let platform = Platform::named(name).map_err(|error| Failure::of(&error))?;
        return Ok((vec![platform.part], platform.power.nand_active_mw));
    }
    let parts: Vec<_> = args.part.iter().map(|name| part(name)).collect::<Result<_, _>>()?;
    Ok((if parts.is_empty() { vec![part(PART)?] } else { parts }, ACTIVE_MW))
}

fn key_sizes(args: &Args) -> Result<Vec<u32>, Failure> {
    let sizes = optional("key-size", args.key_size.as_ref())?;
    match sizes.iter().find(|&&size| size > KEY_SIZE_MAX) {
        Some(size) => {
            Err(Failure::Message(format!("--key-size {size}: {KEY_SIZE_MAX} bytes are the most")))
        }
        None => Ok(sizes),
    }
}

/// The percentages of updates. The limit is 1000, so that the number of updates fits in 32 bits.
fn updates(args: &Args) -> Result<Vec<u32>, Failure> {
    let percent = |&value: &u64| {
        u32::try_from(value).ok().filter(|&percent| percent <= 1000).ok_or_else(|| {
            Failure::Message(format!("--updates {value}: must be from 0 to 1000 per cent"))
        })
    };
    args.updates.0.iter().map(percent).collect()
}
