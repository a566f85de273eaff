//! Updates compared with inserts, and their effect on the flash: operations for each request, the
//! wear of blocks, and the years that the part lasts at a daily load.

use flysch_charts::figure::{Figure, Panel, Scale, Series, Source};
use flysch_charts::number::real_len;
use flysch_charts::statistics::mean;
use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::Stack;
use flysch_lab::report::metrics::{ERASES, PROGRAMS, THROUGHPUT};
use serde_json::{Value, json};

use super::chart::stack_name;
use super::select::said;
use super::sweep::{SIZES, STACKS, Sweep};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::listing::Listing;
use crate::paper::Evidence;

/// Numbers of requests at which inserts and updates are compared.
const REQUESTS: [u32; 2] = [1000, 5000];
/// The daily load for which lifetimes are given, in transactions with the greatest number of
/// requests.
const TRANSACTIONS_A_DAY: f64 = 100.0;
const DAYS_A_YEAR: f64 = 365.25;

/// The claims about the costs of inserts and updates.
pub(super) fn writes(insert: &Sweep, update: &Sweep) -> Evidence {
    let mut claims: Vec<Claim> =
        STACKS.into_iter().map(|stack| slower_than_inserts(stack, insert, update)).collect();
    claims.extend(STACKS.map(|stack| rewritten(stack, insert, update)));
    claims.extend(lives(update));
    let kinds = [("insert", insert), ("update", update)];
    let figures = vec![life_figure(&kinds)];
    Evidence { claims, figures, listings: vec![listing(&kinds)] }
}

fn slower_than_inserts(stack: Stack, insert: &Sweep, update: &Sweep) -> Claim {
    let of_size = |size: u32| {
        let of = |sweep: &Sweep, requests| (THROUGHPUT.of)(sweep.at(stack, size, requests));
        mean(&REQUESTS.map(|requests| of(insert, requests) / of(update, requests)))
    };
    let by_size = SIZES.map(of_size);
    let text = format!(
        "{}: updates are 2 times slower than inserts: ratio of throughputs, mean",
        stack.main.name()
    );
    Claim {
        note: format!("By record size: {}.", said(&by_size)),
        ..Claim::new("update-and-insert", text, Target::Value(2.0), mean(&by_size), Band::RATIO)
    }
}

/// Compares the pages that an update and an insert program. An update rewrites the whole page of
/// the record.
fn rewritten(stack: Stack, insert: &Sweep, update: &Sweep) -> Claim {
    let of = |sweep: &Sweep, size| (PROGRAMS.of)(sweep.last(stack, size));
    let by_size = SIZES.map(|size| of(update, size) / of(insert, size));
    let text = format!(
        "{}: an update rewrites the page around the record: programs over those of inserts, least",
        stack.main.name()
    );
    Claim {
        note: format!("By record size: {}.", said(&by_size)),
        ..Claim::new(
            "update-and-insert",
            text,
            Target::AtLeast(1.0),
            by_size.into_iter().fold(f64::INFINITY, f64::min),
            Band::STATEMENT,
        )
    }
}

/// The claims about the effect of the file system on the life of the flash.
fn lives(update: &Sweep) -> [Claim; 2] {
    let years_of = |stack| SIZES.map(|size| years(update.last(stack, size)));
    let (jffs2, ubifs) = (years_of(STACKS[0]), years_of(STACKS[1]));
    let longer = ubifs.iter().zip(jffs2).map(|(other, one)| other / one);
    let spread = SIZES.map(|size| {
        let run = update.last(STACKS[0], size);
        touched(run) / real_len(run.by_block.len())
    });
    [
        Claim::new(
            "lifetime",
            "the file system matters for the flash's life: years of updates on UBIFS over JFFS2, mean",
            Target::AtLeast(1.15),
            mean(&longer.collect::<Vec<_>>()),
            Band::STATEMENT,
        ),
        Claim {
            note: "Of 5000 updates; share of the partition's blocks that were programmed."
                .to_owned(),
            ..Claim::new(
                "lifetime",
                "updates go out of place: blocks touched for 600 B over those for 150 B, JFFS2",
                Target::AtLeast(1.0),
                spread[3] / spread[0],
                Band::STATEMENT,
            )
        },
    ]
}

/// Years until the partition's rated erase cycles are used up, if wear is even.
fn years(run: &Run) -> f64 {
    let data_a_day = TRANSACTIONS_A_DAY * flysch_charts::number::real(run.bytes) / 1_048_576.0;
    run.lifetime_mb.map_or(f64::NAN, |mb| mb / data_a_day / DAYS_A_YEAR)
}

fn touched(run: &Run) -> f64 {
    real_len(run.by_block.iter().filter(|block| block.page_programs > 0).count())
}

fn listing(kinds: &[(&str, &Sweep); 2]) -> Listing {
    let row = |kind: &str, run: &Run, stack: Stack| -> Vec<Value> {
        let requests = f64::from(run.inputs.requests);
        let most = run.by_block.iter().map(|block| block.block_erases).max().unwrap_or(0);
        vec![
            json!(kind),
            json!(stack_name(stack)),
            json!(format!("{} B", run.inputs.record_size)),
            json!((PROGRAMS.of)(run) / requests),
            json!((ERASES.of)(run) / requests),
            json!(touched(run)),
            json!(most),
            json!(run.wear.mean_erase_count),
            json!(run.wear.max_erase_count),
            json!(years(run)),
        ]
    };
    let mut rows = Vec::new();
    for (kind, sweep) in kinds {
        for stack in STACKS {
            rows.extend(SIZES.map(|size| row(kind, sweep.last(stack, size), stack)));
        }
    }
    Listing {
        item: "lifetime",
        name: "lifetime".to_owned(),
        title: format!(
            "What a request costs, of runs of {}; years at {TRANSACTIONS_A_DAY} such transactions a \
             day, until the rated cycles of the 50 MB partition are used up with even wear",
            REQUESTS[REQUESTS.len() - 1]
        ),
        head: vec![
            "requests",
            "file system",
            "record size",
            "programs per request",
            "erases per request",
            "blocks programmed",
            "erases of the most erased",
            "mean erase count",
            "most",
            "years",
        ],
        rows,
    }
}

fn life_figure(kinds: &[(&str, &Sweep); 2]) -> Figure {
    let panel = |(kind, sweep): &(&str, &Sweep)| {
        let bars = |stack: Stack| {
            let bar = |size: u32| (format!("{size} B"), years(sweep.last(stack, size)));
            Series::bars(stack_name(stack), Source::Flysch, SIZES.map(bar).to_vec())
        };
        Panel {
            title: format!("{kind}, years"),
            x: Scale::linear("record size"),
            y: Scale::linear("years"),
            series: STACKS.map(bars).to_vec(),
        }
    };
    Figure {
        item: "lifetime",
        name: "lifetime-years".to_owned(),
        title: format!("Years that the partition lasts, {TRANSACTIONS_A_DAY} transactions a day"),
        caption: "Each of 5000 requests, until the rated erase cycles are used up with even wear."
            .to_owned(),
        panels: kinds.iter().map(panel).collect(),
    }
}
