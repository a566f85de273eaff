//! Figure 3: the effect of the number of requests, and of the kernel's version on random requests.
//! Also Tables 2 and 3, which state the powers that the energy of these runs is computed from.

use std::sync::Arc;

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Main;
use flysch_lab::workload::{Pattern, Read};
use serde_json::Value;

use super::board::{
    FILE_SYSTEMS, PATTERNS, PLATFORM, Pair, READ_STEPS, exact, greatest, least, pairs, reads,
};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::listing::Listing;
use crate::paper::{Cause, Effort, Evidence, Trial};

/// Numbers of requests in a run.
const COUNTS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
/// Further kernel versions, whose rules of read-ahead are compared with those of the board's
/// kernel.
const ERAS: [&str; 2] = ["2.6.29", "6.1"];
const ERA_NOTE: &str = "Not of the paper: the same board under the rules of another kernel.";

/// Number of random orders that are averaged. With few requests, one rarely finds its page in the
/// cache, so the savings vary by more than their mean.
const fn draw_count(effort: Effort) -> u64 {
    match effort {
        Effort::Full => 32,
        Effort::Quick => 8,
    }
}

/// The savings for one number of requests.
struct Point {
    main: Main,
    pattern: Pattern,
    requests: u32,
    pair: Pair,
}

pub(super) fn steps(effort: Effort) -> u64 {
    let of_systems = COUNTS.len() as u64 * 2 * 2 * (1 + draw_count(effort));
    let of_eras = COUNTS.len() as u64 * 2 * ERAS.len() as u64 * draw_count(effort);
    (of_systems + of_eras) * READ_STEPS
}

pub(super) fn figure_3(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let own = Arc::new(Platform::named(PLATFORM)?);
    let mut sweeps = Vec::new();
    for main in FILE_SYSTEMS {
        for pattern in PATTERNS {
            sweeps.push(Sweep { main, pattern, platform: Arc::clone(&own) });
        }
    }
    let of_own = sweeps.len() * COUNTS.len();
    sweeps.extend(ERAS.map(|era| {
        let rules = era.parse().expect("a kernel version");
        let platform = Arc::new(Platform { read_ahead: rules, ..(*own).clone() });
        Sweep { main: Main::Yaffs2, pattern: Pattern::Random, platform }
    }));
    let mut points = points(trial, &sweeps)?;
    let of_eras = points.split_off(of_own);
    let mut evidence = Evidence::default();
    evidence.claims.extend(sequential(&points));
    evidence.claims.extend(random(&points));
    evidence.claims.extend(whole(&points));
    evidence.figures.push(drawn(&points));
    evidence.claims.extend(energies(&points));
    evidence.listings.push(powers(&own));
    let (old, new) = of_eras.split_at(COUNTS.len());
    let of_own: Vec<&Point> = of(&points, Main::Yaffs2, Pattern::Random).collect();
    evidence.figures.push(by_era(&of_own, old, new, &mut evidence.claims));
    Ok(evidence)
}

/// One order of requests on one file system, under the rules of one kernel.
struct Sweep {
    main: Main,
    pattern: Pattern,
    platform: Arc<Platform>,
}

/// Run each sweep with all numbers of requests. The points are ordered by sweep.
fn points(trial: &Trial<'_>, sweeps: &[Sweep]) -> Result<Vec<Point>, Cause> {
    let (mut places, mut grids) = (Vec::new(), Vec::new());
    for &Sweep { main, pattern, ref platform } in sweeps {
        for requests in COUNTS {
            let mut grid = reads(Read { pattern, ..Read::DEFAULT }, main)?;
            grid.platforms = vec![Arc::clone(platform)];
            grid.axes.requests = vec![requests];
            if pattern == Pattern::Random {
                grid.axes.seeds = (1..=draw_count(trial.effort)).collect();
            }
            grids.push(grid);
            places.push((main, pattern, requests));
        }
    }
    let point = |((main, pattern, requests), pair)| Point { main, pattern, requests, pair };
    Ok(places.into_iter().zip(pairs(trial, &grids, READ_STEPS)?).map(point).collect())
}

fn of(points: &[Point], main: Main, pattern: Pattern) -> impl Iterator<Item = &Point> {
    points.iter().filter(move |it| it.main == main && it.pattern == pattern)
}

fn at(points: &[Point], main: Main, pattern: Pattern, requests: u32) -> Option<&Pair> {
    of(points, main, pattern).find(|it| it.requests == requests).map(|it| &it.pair)
}

fn sequential(points: &[Point]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for main in FILE_SYSTEMS {
        let few = of(points, main, Pattern::Sequential).filter(|it| it.requests < 64);
        let saved: Vec<f64> = few.map(|it| it.pair.reads_saved()).collect();
        claims.push(Claim::new(
            "figure-3",
            format!("{}: flash reads saved, sequential, less than 64 requests, %", main.name()),
            Target::AtLeast(50.0),
            least(&saved),
            Band::STATEMENT,
        ));
        let times: Vec<f64> =
            of(points, main, Pattern::Sequential).map(|it| it.pair.time_saved()).collect();
        claims.push(Claim::new(
            "figure-3",
            format!("{}: most time saved, sequential, %", main.name()),
            Target::Value(70.0),
            greatest(&times),
            Band::SAVING,
        ));
        let falls = times.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        claims.push(Claim {
            reason: "The last window reaches beyond the last request by now more, now fewer pages.",
            ..Claim::new(
                "figure-3",
                format!("{}: steps at which more sequential requests save less, of 7", main.name()),
                Target::Value(7.0),
                exact(falls as u64),
                Band::COUNT,
            )
        });
    }
    claims
}

fn random(points: &[Point]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for main in FILE_SYSTEMS {
        let saved = |requests| {
            at(points, main, Pattern::Random, requests).map_or(f64::NAN, Pair::reads_saved)
        };
        for (requests, paper) in [(32, 20.0), (256, 50.0)] {
            claims.push(Claim {
                note: "The mean of several draws; the paper's is one.".to_owned(),
                reason: "The context read-ahead of that kernel fetches little for so few requests.",
                ..Claim::new(
                    "figure-3",
                    format!("{}: flash reads saved, random, {requests} requests, %", main.name()),
                    Target::Value(paper),
                    saved(requests),
                    Band::SAVING,
                )
            });
        }
        claims.push(Claim::new(
            "figure-3",
            format!(
                "{}: random, reads saved by 256 requests less those by 32, points",
                main.name()
            ),
            Target::AtLeast(0.0),
            saved(256) - saved(32),
            Band::STATEMENT,
        ));
    }
    claims
}

/// Claims about all runs together.
fn whole(points: &[Point]) -> Vec<Claim> {
    let times: Vec<f64> = points.iter().map(|it| it.pair.time_saved()).collect();
    let random: Vec<f64> = points
        .iter()
        .filter(|it| it.pattern == Pattern::Random)
        .map(|it| it.pair.time_saved())
        .collect();
    let pairs = points.iter().filter(|it| it.main == Main::Jffs2);
    let apart = pairs.map(|it| {
        let other = at(points, Main::Yaffs2, it.pattern, it.requests);
        (it.pair.time_saved() - other.map_or(f64::NAN, Pair::time_saved)).abs()
    });
    let most = at(points, Main::Yaffs2, Pattern::Sequential, 1024);
    vec![
        Claim {
            reason: "With the fewest random requests nothing is fetched that was not asked for.",
            ..Claim::new(
                "figure-3",
                "least time saved by doing without read-ahead, any run, %",
                Target::AtLeast(-1.0),
                least(&times),
                Band::STATEMENT,
            )
        },
        Claim::new(
            "figure-3",
            "most time saved, random, %",
            Target::Value(60.0),
            greatest(&random),
            Band::SAVING,
        ),
        Claim::new(
            "figure-3",
            "JFFS2 and YAFFS2 behave alike: largest difference of what they save, points",
            Target::AtMost(10.0),
            greatest(&apart.collect::<Vec<_>>()),
            Band::STATEMENT,
        ),
        Claim::new(
            "figure-3",
            "time saved when most of the file is read in order (YAFFS2, 1024 requests), %",
            Target::AtMost(10.0),
            most.map_or(f64::NAN, Pair::time_saved),
            Band::STATEMENT,
        ),
    ]
}

fn line(points: &[&Point], of: impl Fn(&Pair) -> f64) -> Vec<(f64, f64)> {
    points.iter().map(|it| (f64::from(it.requests), of(&it.pair))).collect()
}

fn drawn(points: &[Point]) -> Figure {
    let panel = |title: &str, y: &str, figure: fn(&Pair) -> f64| {
        let mut series = Vec::new();
        for main in FILE_SYSTEMS {
            for pattern in PATTERNS {
                let own: Vec<&Point> = of(points, main, pattern).collect();
                let name = format!("{}, {}", main.name(), pattern.name());
                series.push(Series::line(name, line(&own, figure)));
            }
        }
        Panel { title: title.to_owned(), x: Scale::log("requests"), y: Scale::linear(y), series }
    };
    Figure {
        item: "figure-3",
        name: "figure-3".to_owned(),
        title: "What doing without read-ahead saves, by the number of requests".to_owned(),
        caption: "Reads of 4 KiB of a file of 5 MiB; random ones are the mean of several draws."
            .to_owned(),
        panels: vec![
            panel("a: time", "time saved, %", Pair::time_saved),
            panel("b: flash reads", "flash reads saved, %", Pair::reads_saved),
        ],
    }
}

/// The savings of random reads under the rules of three kernels, with their claims.
fn by_era(own: &[&Point], old: &[Point], new: &[Point], claims: &mut Vec<Claim>) -> Figure {
    let most = |points: &[&Point]| {
        let few = points.iter().filter(|it| it.requests <= 256);
        greatest(&few.map(|it| it.pair.reads_saved()).collect::<Vec<_>>())
    };
    let (old, new): (Vec<&Point>, Vec<&Point>) = (old.iter().collect(), new.iter().collect());
    let cases = [("2.6.29", most(&old), 5.0), ("6.1", most(&new), 17.0)];
    for (era, measured, bound) in cases {
        claims.push(Claim {
            note: ERA_NOTE.to_owned(),
            ..Claim::new(
                "eras",
                format!("most flash reads saved, random, up to 256 requests, rules of {era}, %"),
                Target::AtMost(bound),
                measured,
                Band::STATEMENT,
            )
        });
    }
    claims.push(Claim {
        note: ERA_NOTE.to_owned(),
        ..Claim::new(
            "eras",
            "what the rules of 2.6.37 save over what those of 6.1 do, random, up to 256 requests",
            Target::AtLeast(2.0),
            most(own) / most(&new),
            Band::STATEMENT,
        )
    });
    let series = [("2.6.29", &old[..]), ("2.6.37", own), ("6.1", &new[..])];
    Figure {
        item: "eras",
        name: "eras".to_owned(),
        title: "Random reads without read-ahead, under the rules of three kernels".to_owned(),
        caption: "YAFFS2. From 2.6.31 to 3.11 one cached page before a miss is taken for the sign \
                  of a sequential scan; before and after, it is not."
            .to_owned(),
        panels: vec![Panel {
            title: "flash reads".to_owned(),
            x: Scale::log("requests"),
            y: Scale::linear("flash reads saved, %"),
            series: series
                .map(|(era, points)| Series::line(era, line(points, Pair::reads_saved)))
                .into(),
        }],
    }
}

/// Claims about energy, which is time multiplied by the sum of the powers in Table 2.
fn energies(points: &[Point]) -> Vec<Claim> {
    let paper_w = |main: Main, pattern: Pattern, on: bool| match (main, pattern, on) {
        (Main::Jffs2, Pattern::Sequential, true) => 0.223 + 0.029,
        (Main::Jffs2, Pattern::Sequential, false) => 0.223 + 0.024,
        (Main::Jffs2, Pattern::Random, _) => 0.223 + 0.023,
        (_, Pattern::Sequential, true) => 0.211 + 0.028,
        (_, Pattern::Sequential, false) => 0.214 + 0.028,
        (_, Pattern::Random, true) => 0.211 + 0.024,
        (_, Pattern::Random, false) => 0.214 + 0.026,
    };
    let mut claims = Vec::new();
    for it in points.iter().filter(|it| it.requests == 256) {
        for (set, runs) in [("on", &it.pair.on), ("off", &it.pair.off)] {
            let sum = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>();
            let watts = sum(|run| run.energy_mj) / sum(|run| exact(run.time_ns) / 1e6);
            claims.push(Claim {
                note: "The model's own constant: it is put in, not predicted.".to_owned(),
                ..Claim::new(
                    "table-2",
                    format!(
                        "{}, {}, read-ahead {set}: energy over time, W",
                        it.main.name(),
                        it.pattern.name()
                    ),
                    Target::Value(paper_w(it.main, it.pattern, set == "on")),
                    watts,
                    Band::STATEMENT,
                )
            });
        }
    }
    claims
}

fn powers(platform: &Platform) -> Listing {
    let text = |value: &Option<String>| value.clone().map_or(Value::Null, Value::from);
    let row = |draw: &flysch_lab::machine::power::Draw| {
        vec![
            serde_json::to_value(draw.component).unwrap_or(Value::Null),
            text(&draw.engine),
            text(&draw.fs),
            text(&draw.pattern),
            text(&draw.read_ahead),
            Value::from(draw.mw),
        ]
    };
    Listing {
        item: "table-2",
        name: "tables-2-3".to_owned(),
        title: "Mean power above idle, as the platform has it from Tables 2 and 3".to_owned(),
        head: vec!["component", "engine", "file system", "order", "read-ahead", "mW"],
        rows: platform.power.draw.iter().map(row).collect(),
    }
}
