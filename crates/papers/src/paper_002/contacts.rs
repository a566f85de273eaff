//! Figures 6 and 7: selects of SQLite on a small and a large database of contacts.

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_charts::statistics::mean;
use flysch_lab::bench::grid::Grid;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_lab::workload::{Contacts, Pattern, Workload};

use super::board::{FILE_SYSTEMS, PATTERNS, Pair, greatest, grid, pairs};
use super::seed_count;
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::{Cause, Effort, Evidence, Trial};

/// Progress steps of a run.
const STEPS: u64 = 6;
/// Bytes of each text in the small database and in the large one.
const TEXT_SIZES: [u32; 2] = [64, 128];
const RANGE_NOTE: &str =
    "The paper does not tell the runs that its means are over: here 20 to 1000 selects.";

/// Savings in percent that the paper states: the mean, and the greatest if it states one.
struct Stated {
    main: Main,
    pattern: Pattern,
    time_mean: f64,
    time_most: Option<f64>,
    energy_mean: f64,
}

const PAPER: [Stated; 4] = [
    Stated {
        main: Main::Jffs2,
        pattern: Pattern::Sequential,
        time_mean: 9.5,
        time_most: None,
        energy_mean: 8.6,
    },
    Stated {
        main: Main::Yaffs2,
        pattern: Pattern::Sequential,
        time_mean: 5.0,
        time_most: None,
        energy_mean: 5.3,
    },
    Stated {
        main: Main::Jffs2,
        pattern: Pattern::Random,
        time_mean: 44.0,
        time_most: Some(70.0),
        energy_mean: 41.0,
    },
    Stated {
        main: Main::Yaffs2,
        pattern: Pattern::Random,
        time_mean: 25.0,
        time_most: Some(50.0),
        energy_mean: 25.5,
    },
];

/// The savings for one number of selects.
struct Point {
    main: Main,
    pattern: Pattern,
    text_size: u32,
    selects: u32,
    pair: Pair,
}

fn counts(effort: Effort) -> &'static [u32] {
    match effort {
        Effort::Full => &[20, 50, 100, 200, 500, 1000],
        Effort::Quick => &[20, 50, 200, 1000],
    }
}

pub(super) fn steps(effort: Effort) -> u64 {
    let runs = counts(effort).len() as u64 * 2 * 2 * (1 + seed_count(effort));
    runs * 2 * STEPS
}

pub(super) fn figures_6_and_7(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let points = points(trial)?;
    let figures = vec![
        drawn(&points, "figure-6", "time saved, %", Pair::time_saved),
        drawn(&points, "figure-7", "energy saved, %", Pair::energy_saved),
    ];
    let claims = PAPER.iter().flat_map(|stated| claims(stated, &points)).collect();
    Ok(Evidence { claims, figures, ..Evidence::default() })
}

fn points(trial: &Trial<'_>) -> Result<Vec<Point>, Cause> {
    let (mut places, mut grids) = (Vec::new(), Vec::new());
    for main in FILE_SYSTEMS {
        for pattern in PATTERNS {
            for text_size in TEXT_SIZES {
                for &selects in counts(trial.effort) {
                    places.push((main, pattern, text_size, selects));
                    grids.push(selects_of(trial.effort, main, pattern, text_size, selects)?);
                }
            }
        }
    }
    let pairs = pairs(trial, &grids, STEPS)?;
    let point = |((main, pattern, text_size, selects), pair)| Point {
        main,
        pattern,
        text_size,
        selects,
        pair,
    };
    Ok(places.into_iter().zip(pairs).map(point).collect())
}

fn selects_of(
    effort: Effort,
    main: Main,
    pattern: Pattern,
    text_size: u32,
    selects: u32,
) -> Result<Grid, Cause> {
    let contacts = Contacts { pattern, text_size, ..Contacts::DEFAULT };
    let stack = Stack { engine: Engine::Sqlite, main, journals: None };
    let mut grid = grid(Workload::Contacts(contacts), stack)?;
    grid.axes.requests = vec![selects];
    if pattern == Pattern::Random {
        grid.axes.seeds = (1..=seed_count(effort)).collect();
    }
    Ok(grid)
}

fn claims(stated: &Stated, points: &[Point]) -> Vec<Claim> {
    let own = points.iter().filter(|it| it.main == stated.main && it.pattern == stated.pattern);
    let (times, energies): (Vec<f64>, Vec<f64>) =
        own.map(|it| (it.pair.time_saved(), it.pair.energy_saved())).unzip();
    let title = format!("{}, {}", stated.main.name(), stated.pattern.name());
    let of = |item, text: String, paper: f64, measured: f64| Claim {
        note: RANGE_NOTE.to_owned(),
        reason: "The mean depends on which runs it is over: short ones save most, whole files nothing.",
        ..Claim::new(item, text, Target::Value(paper), measured, Band::SAVING)
    };
    let mut claims = vec![
        of("figure-6", format!("{title}: mean time saved, %"), stated.time_mean, mean(&times)),
        of(
            "figure-7",
            format!("{title}: mean energy saved, %"),
            stated.energy_mean,
            mean(&energies),
        ),
    ];
    if let Some(most) = stated.time_most {
        let text = format!("{title}: most time saved, %");
        claims.push(of("figure-6", text, most, greatest(&times)));
    }
    claims
}

fn drawn(points: &[Point], item: &'static str, y: &str, figure: fn(&Pair) -> f64) -> Figure {
    let panel = |main: Main| {
        let mut series = Vec::new();
        for pattern in PATTERNS {
            for text_size in TEXT_SIZES {
                let own = points.iter().filter(|it| it.main == main && it.pattern == pattern);
                let own = own.filter(|it| it.text_size == text_size);
                let line = own.map(|it| (f64::from(it.selects), figure(&it.pair))).collect();
                let size = if text_size == TEXT_SIZES[0] { "small" } else { "large" };
                series.push(Series::line(format!("{}, {size}", pattern.name()), line));
            }
        }
        Panel {
            title: main.name().to_owned(),
            x: Scale::log("selects"),
            y: Scale::linear(y),
            series,
        }
    };
    Figure {
        item,
        name: item.to_owned(),
        title: "What SELECT saves without read-ahead".to_owned(),
        caption: "1000 contacts with texts of 64 bytes (small) and 128 (large).".to_owned(),
        panels: FILE_SYSTEMS.map(panel).into(),
    }
}
