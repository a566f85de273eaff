//! The paper's test with different amounts of free flash space, on which all results depend.

use flysch_charts::figure::{Figure, Panel, Points, Scale, Series, Source};
use serde_json::json;

use super::band::{Band, Target};
use super::claim::Claim;
use super::listing::Listing;
use super::paper::{Cause, Effort, Evidence, Trial};
use super::stacks::{
    self, HYBRID, NAND, Pair, erases_per_second, per_minute, response_ms, run_all, scenario, tpcc,
    writes_per_second,
};

/// The divisor that makes the database smaller. A tenth of the size is enough, because the work of
/// the garbage collector depends on how full the flash is, not on its size.
const DIVISOR: u32 = 10;
/// Number of transactions in a run.
const TRANSACTIONS: u32 = 400;
/// How much of the flash the database fills, in percent.
const FILLS: [u32; 10] = [85, 75, 70, 65, 60, 55, 50, 45, 35, 25];
/// The same for a quick trial.
const FILLS_QUICK: [u32; 3] = [65, 50, 25];
/// Progress steps of a run without PRAM and of one with PRAM.
const STEPS: (u64, u64) = (12, 6);

/// The ratios of the proposed to the conventional database that the paper reports: response time,
/// NOTPM, writes, erases.
const PAPER: [(&str, f64); 4] = [
    ("response time", 0.55),
    ("NOTPM", 0.334 / 0.172),
    ("writes in equal time", 5_178.0 / 13_020.0),
    ("erases in equal time", 12.0 / 77.0),
];

const fn fills(effort: Effort) -> &'static [u32] {
    match effort {
        Effort::Full => &FILLS,
        Effort::Quick => &FILLS_QUICK,
    }
}

pub(super) fn steps(effort: Effort) -> u64 {
    fills(effort).len() as u64 * (STEPS.0 + STEPS.1)
}

/// The measured ratios, with the flash filled to one percentage.
struct Point {
    fill: u32,
    blocks: u32,
    ratios: [f64; 4],
}

impl Point {
    /// How many of the paper's ratios are within the band at this fill.
    fn met(&self) -> usize {
        let pairs = PAPER.iter().zip(self.ratios);
        pairs.filter(|((_, paper), own)| Band::RATIO.holds(Target::Value(*paper), *own)).count()
    }
}

pub(super) fn run(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut scenarios = Vec::new();
    for &fill in fills(trial.effort) {
        for (stack, steps) in [(NAND, STEPS.0), (HYBRID, STEPS.1)] {
            let mut one = scenario(tpcc(DIVISOR), stack, TRANSACTIONS)?;
            stacks::fill(&mut one, tpcc(DIVISOR), fill)?;
            scenarios.push((one, steps));
        }
    }
    let blocks: Vec<u32> =
        scenarios.iter().step_by(2).map(|(it, _)| it.build.partition_blocks).collect();
    let mut runs = run_all(trial, &scenarios)?.into_iter();
    let mut points = Vec::new();
    for (&fill, blocks) in fills(trial.effort).iter().zip(blocks) {
        let (Some(nand), Some(hybrid)) = (runs.next(), runs.next()) else { break };
        let pair = Pair { nand, hybrid };
        let ratios = [
            pair.ratio(response_ms),
            pair.ratio(per_minute),
            pair.ratio(writes_per_second),
            pair.ratio(erases_per_second),
        ];
        points.push(Point { fill, blocks, ratios });
    }
    Ok(Evidence {
        claims: claims(&points),
        figures: vec![figure(&points)],
        listings: vec![listing(&points)],
    })
}

#[expect(clippy::cast_precision_loss, reason = "at most four")]
fn claims(points: &[Point]) -> Vec<Claim> {
    let Some(best) = points.iter().max_by_key(|point| point.met()) else { return Vec::new() };
    let text = "ratios of the paper (response time, NOTPM, writes, erases) that hold within 15 % at \
                one and the same free space";
    let joint = Claim {
        note: format!("With a database that fills {} % of the flash.", best.fill),
        reason: "Between the fills that were tried, or with tests of another length, there may be a \
                 better one.",
        ..Claim::new("free-space", text, Target::Value(4.0), best.met() as f64, Band::STATEMENT)
    };
    vec![joint]
}

fn figure(points: &[Point]) -> Figure {
    let of = |place: usize| -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64)> =
            points.iter().map(|point| (f64::from(point.fill), point.ratios[place])).collect();
        line.sort_by(|left, right| left.0.total_cmp(&right.0));
        line
    };
    let (first, last) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), point| {
        (low.min(f64::from(point.fill)), high.max(f64::from(point.fill)))
    });
    let panel = |(place, (name, paper)): (usize, &(&str, f64))| Panel {
        title: (*name).to_owned(),
        x: Scale::linear("share of the flash that the database fills, %"),
        y: Scale::linear("proposed over conventional"),
        series: vec![
            Series::line("measured", of(place)),
            Series {
                name: "paper".to_owned(),
                source: Source::Paper,
                points: Points::Line(vec![(first, *paper), (last, *paper)]),
                spread: Vec::new(),
            },
        ],
    };
    Figure {
        item: "free-space",
        name: "free-space".to_owned(),
        title: "The proposed database over the conventional one".to_owned(),
        caption: format!(
            "{TRANSACTIONS} transactions on a database of a tenth of the specification's size. \
             Deleting a journal leaves a header behind that keeps YAFFS2 from collecting its block \
             before older ones: the fuller the flash, the more the journal on NAND costs. On flash \
             with ample space the PRAM of Table 1 is the slower place for a journal."
        ),
        panels: PAPER.iter().enumerate().map(panel).collect(),
    }
}

fn listing(points: &[Point]) -> Listing {
    let row = |point: &Point| {
        let mut row = vec![json!(point.fill), json!(point.blocks)];
        row.extend(point.ratios.map(|ratio| json!(ratio)));
        row.push(json!(point.met()));
        row
    };
    Listing {
        item: "free-space",
        name: "free-space-ratios".to_owned(),
        title: "Ratios by free space; the last column counts those of the paper within 15 %"
            .to_owned(),
        head: vec![
            "fill_percent",
            "partition_blocks",
            "response_time",
            "notpm",
            "writes_in_equal_time",
            "erases_in_equal_time",
            "within_band",
        ],
        rows: points.iter().map(row).collect(),
    }
}
