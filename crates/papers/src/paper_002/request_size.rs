//! Figure 4: the effect of the size of requests on time and energy, with a file of 32 MiB.

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_lab::machine::stack::Main;
use flysch_lab::workload::{Pattern, Read};

use super::board::{FILE_SYSTEMS, PATTERNS, Pair, exact, greatest, least, pairs, reads};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::paper::{Cause, Effort, Evidence, Trial};

/// Progress steps of a run on such a large file.
const STEPS: u64 = 50;
const FILE_SIZE: u32 = 32 << 20;
const MANY: u32 = 1024;
const FEW: u32 = 16;

/// The savings for one number and size of requests.
struct Point {
    main: Main,
    pattern: Pattern,
    requests: u32,
    kib: u32,
    pair: Pair,
}

fn sizes_kib(effort: Effort) -> &'static [u32] {
    match effort {
        Effort::Full => &[2, 4, 16, 32],
        Effort::Quick => &[2, 4, 32],
    }
}

pub(super) fn steps(effort: Effort) -> u64 {
    let points = FILE_SYSTEMS.len() * sizes_kib(effort).len() * 2 * 2;
    points as u64 * 2 * STEPS
}

pub(super) fn figure_4(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let points = points(trial)?;
    let claims = FILE_SYSTEMS.into_iter().flat_map(|main| claims(&points, main)).collect();
    Ok(Evidence { claims, figures: vec![drawn(&points)], ..Evidence::default() })
}

fn points(trial: &Trial<'_>) -> Result<Vec<Point>, Cause> {
    let (mut places, mut grids) = (Vec::new(), Vec::new());
    for main in FILE_SYSTEMS {
        for pattern in PATTERNS {
            for requests in [FEW, MANY] {
                for &kib in sizes_kib(trial.effort) {
                    let (request_size, file_size) = (kib * 1024, FILE_SIZE);
                    let read = Read { pattern, request_size, file_size, ..Read::DEFAULT };
                    let mut grid = reads(read, main)?;
                    grid.axes.requests = vec![requests];
                    grids.push(grid);
                    places.push((main, pattern, requests, kib));
                }
            }
        }
    }
    let point =
        |((main, pattern, requests, kib), pair)| Point { main, pattern, requests, kib, pair };
    Ok(places.into_iter().zip(pairs(trial, &grids, STEPS)?).map(point).collect())
}

fn saved(points: &[Point], main: Main, pattern: Pattern, requests: u32) -> Vec<(u32, f64)> {
    let own = points.iter().filter(|it| it.main == main && it.pattern == pattern);
    let own = own.filter(|it| it.requests == requests);
    own.map(|it| (it.kib, it.pair.time_saved())).collect()
}

fn claims(points: &[Point], main: Main) -> Vec<Claim> {
    let sequential = saved(points, main, Pattern::Sequential, FEW);
    let falls = sequential.windows(2).filter(|pair| pair[1].1 <= pair[0].1).count();
    let random = saved(points, main, Pattern::Random, MANY);
    let middle: Vec<f64> =
        random.iter().filter(|(kib, _)| *kib < 32).map(|&(_, saved)| saved).collect();
    let of_size = |wanted| {
        random.iter().find(|(kib, _)| *kib == wanted).map_or(f64::NAN, |&(_, saved)| saved)
    };
    let own = points.iter().filter(|it| it.main == main);
    let apart = own.map(|it| (it.pair.time_saved() - it.pair.energy_saved()).abs());
    let name = main.name();
    vec![
        Claim {
            reason: "The last window reaches beyond the last request by now more, now fewer pages.",
            ..Claim::new(
                "figure-4",
                format!(
                    "{name}: steps at which larger sequential requests save less, {FEW} requests"
                ),
                Target::Value(exact(sequential.len() as u64 - 1)),
                exact(falls as u64),
                Band::COUNT,
            )
        },
        Claim {
            reason: "On so large a file most random requests meet no cached neighbour yet.",
            ..Claim::new(
                "figure-4",
                format!("{name}: least over greatest saving of {MANY} random requests below 32 KB"),
                Target::Value(1.0),
                least(&middle) / greatest(&middle),
                Band::RATIO,
            )
        },
        Claim::new(
            "figure-4",
            format!("{name}: saving of {MANY} random requests of 32 KB less that of 4 KB, points"),
            Target::AtMost(0.0),
            of_size(32) - of_size(4),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-4",
            format!("{name}: largest difference of savings in time and in energy, points"),
            Target::AtMost(5.0),
            greatest(&apart.collect::<Vec<_>>()),
            Band::STATEMENT,
        ),
    ]
}

fn drawn(points: &[Point]) -> Figure {
    let panel = |pattern: Pattern, title: &str, y: &str, figure: fn(&Pair) -> f64| {
        let mut series: Vec<Series> = Vec::new();
        for main in FILE_SYSTEMS {
            for requests in [FEW, MANY] {
                let own = points.iter().filter(|it| it.main == main && it.pattern == pattern);
                let own = own.filter(|it| it.requests == requests);
                let line: Vec<(f64, f64)> =
                    own.map(|it| (f64::from(it.kib), figure(&it.pair))).collect();
                if !line.is_empty() {
                    let name = format!("{}, {requests} requests", main.name());
                    series.push(Series::line(name, line));
                }
            }
        }
        Panel {
            title: format!("{title}, {}", pattern.name()),
            x: Scale::log("request size, KB"),
            y: Scale::linear(y),
            series,
        }
    };
    let mut panels = Vec::new();
    for pattern in PATTERNS {
        panels.push(panel(pattern, "a: time", "time saved, %", Pair::time_saved));
        panels.push(panel(pattern, "b: energy", "energy saved, %", Pair::energy_saved));
    }
    Figure {
        item: "figure-4",
        name: "figure-4".to_owned(),
        title: "What doing without read-ahead saves, by the size of requests".to_owned(),
        caption: "A file of 32 MiB.".to_owned(),
        panels,
    }
}
