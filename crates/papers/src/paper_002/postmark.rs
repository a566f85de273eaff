//! Table 1: the throughput of `PostMark`'s reads when a part of each file is read.

use flysch_lab::bench::run::Run;
use flysch_lab::machine::stack::{Main, Stack};
use flysch_lab::workload::{Postmark, Workload};
use serde_json::Value;

use super::board::{FILE_SYSTEMS, Pair, grid, pairs};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::listing::Listing;
use crate::paper::{Cause, Evidence, Trial};

/// Progress steps of a run.
pub(super) const STEPS: u64 = 45;

/// The set of files: between half a megabyte and one megabyte each. The paper does not state the
/// sizes. If files were smaller, the first read-ahead window would contain the whole file, and the
/// ratios would differ from the paper's.
const FILES: Postmark =
    Postmark { files: 24, size_min: 512 << 10, size_max: 1 << 20, block_size: 4096, percent: 100 };
const TRANSACTIONS: u32 = 40;

/// Percentage of a file that is read, then MB/s with and without read-ahead, for JFFS2 and YAFFS2.
const PAPER: [(u32, [(f64, f64); 2]); 3] = [
    (25, [(2.86, 6.68), (6.68, 14.30)]),
    (50, [(4.77, 7.63), (9.54, 14.30)]),
    (100, [(7.63, 7.63), (14.30, 14.30)]),
];
/// All values of the table are whole bytes per microsecond, converted to units of 2^20 bytes per
/// second. Fractions were cut off, so the true values may be greater by up to this much.
const CUT_OFF: f64 = 1e6 / 1_048_576.0;
const NOTE: &str = "The paper's figures are whole bytes per microsecond, cut off: 0.95 MB/s.";

pub(super) fn table_1(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut evidence = Evidence::default();
    let mut rows = Vec::new();
    let mut grids = Vec::new();
    for (percent, _) in PAPER {
        for main in FILE_SYSTEMS {
            let postmark = Workload::Postmark(Postmark { percent, ..FILES });
            let mut grid = grid(postmark, Stack::file(main))?;
            grid.axes.requests = vec![TRANSACTIONS];
            grids.push(grid);
        }
    }
    let mut pairs = pairs(trial, &grids, STEPS)?.into_iter();
    for (percent, of_systems) in PAPER {
        for ((main, paper), pair) in FILE_SYSTEMS.into_iter().zip(of_systems).zip(pairs.by_ref()) {
            let measured = throughput(&pair);
            evidence.claims.extend(claims(main, percent, paper, measured));
            let numbers = [paper.0, measured.0, paper.1, measured.1];
            let mut row = vec![Value::from(percent), Value::from(main.name())];
            row.extend(numbers.map(Value::from));
            rows.push(row);
        }
    }
    evidence.listings.push(Listing {
        item: "table-1",
        name: "table-1".to_owned(),
        title: "Mean read throughput, MB/s, with read-ahead and without".to_owned(),
        head: vec!["percent", "file system", "on, paper", "on", "off, paper", "off"],
        rows,
    });
    Ok(evidence)
}

fn throughput(pair: &Pair) -> (f64, f64) {
    let of = |runs: &[Run]| runs.first().map_or(f64::NAN, |run| run.figures["read_mb_s"]);
    (of(&pair.on), of(&pair.off))
}

fn claims(main: Main, percent: u32, paper: (f64, f64), measured: (f64, f64)) -> Vec<Claim> {
    let title = format!("{} % of each file on {}", percent, main.name());
    let of = |set: &str, paper: f64, measured: f64| Claim {
        note: NOTE.to_owned(),
        ..Claim::new(
            "table-1",
            format!("{title}, read-ahead {set}, MB/s"),
            Target::Between(paper, paper + CUT_OFF),
            measured,
            Band::TIME,
        )
    };
    let ratio = Claim {
        note: NOTE.to_owned(),
        ..Claim::new(
            "table-1",
            format!("{title}, throughput without read-ahead over with it"),
            Target::Between(paper.1 / (paper.0 + CUT_OFF), (paper.1 + CUT_OFF) / paper.0),
            measured.1 / measured.0,
            Band::RATIO,
        )
    };
    vec![of("on", paper.0, measured.0), of("off", paper.1, measured.1), ratio]
}
