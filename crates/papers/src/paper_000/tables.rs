//! Tables I, II and III: throughput by level, and the response times of single requests.

use std::sync::Arc;

use flysch_charts::figure::{Figure, Panel, Scale, Series};
use flysch_charts::number::{real, real_len};
use flysch_charts::statistics::{median, variation};
use flysch_lab::bench::run::Run;
use flysch_lab::bench::throughput::levels;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::Stack;
use flysch_lab::report::peaks::peaks;
use flysch_lab::workload::Micro;
use serde_json::{Value, json};

use super::chart::stack_name;
use super::sweep::{PLATFORM, SIZES, STACKS, scenario};
use crate::band::{Band, Target};
use crate::claim::Claim;
use crate::listing::Listing;
use crate::paper::{Cause, Evidence, Trial};

/// Why BEGIN and the first request after it are much faster than in the paper.
const PAGED_IN: &str = "The paper's time is no cost of the database: the program itself is paged in \
    from the flash after all caches were dropped (on a real kernel 50 ms so, 0.08 ms with the \
    program in RAM). Its size and layout are not stated, so it is not modelled.";
/// How many requests the chart of response times shows: twice as many as in the paper's excerpt.
const SNAPSHOT: u32 = 250;
/// Requests in each run. Even with the smallest records, they are enough for two read-ahead windows
/// of 128 KB.
const REQUESTS: u32 = 3000;

/// Table II, JFFS2, milliseconds: record size, BEGIN, request 1, requests 11 to 19, END.
const TABLE_2: [(u32, f64, f64, [f64; 9], f64); 3] = [
    (150, 32.75, 7.27, [0.66, 0.78, 0.76, 0.81, 0.66, 0.65, 0.65, 0.65, 0.74], 20.86),
    (300, 35.02, 6.47, [0.63, 0.61, 0.67, 0.60, 0.60, 0.67, 0.83, 0.61, 0.67], 39.07),
    (600, 34.29, 6.83, [0.91, 0.77, 0.78, 0.90, 0.79, 0.78, 0.92, 0.90, 0.78], 116.84),
];

/// Table III, milliseconds: request (0 is BEGIN), JFFS2, UBIFS.
const TABLE_3: [(u32, f64, f64); 15] = [
    (0, 30.52, 33.25),
    (43, 0.96, 1.93),
    (44, 1.06, 0.93),
    (45, 0.96, 1.14),
    (46, 42.65, 1.17),
    (47, 0.99, 1.98),
    (48, 1.07, 1.18),
    (49, 0.98, 1.06),
    (50, 0.96, 1.04),
    (51, 1.06, 2.00),
    (52, 0.96, 1.19),
    (109, 1.05, 1.06),
    (110, 42.14, 1.17),
    (111, 1.00, 1.83),
    (112, 0.98, 1.24),
];

/// Table I with its claims.
pub(super) fn throughput(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let platform = Arc::new(Platform::named(PLATFORM)?);
    let build = scenario(Micro::Select, Stack::JFFS2, 600, 1)?.build;
    let mut claims = Vec::new();
    let measured = levels(&build)?;
    for level in &measured {
        let stated = platform.throughput.iter().find(|row| row.level == level.level);
        let stated = stated.ok_or("the platform has the paper's throughput")?;
        let note = match level.level {
            "driver" => "Put in: controller and driver are set by it.",
            "file" => "The copying of a byte is fitted to the read.",
            _ => "",
        };
        let pairs = [
            ("write", stated.write_mb_s, level.write_mb_s),
            ("read", stated.read_mb_s, level.read_mb_s),
        ];
        claims.extend(pairs.map(|(verb, paper, measured)| {
            let text = format!("{} level, {verb}, MB/s", level.level);
            let note = note.to_owned();
            Claim { note, ..time("table-1", text, paper, measured) }
        }));
    }
    let [driver, user, file] = &measured;
    let losses = [
        ("write", driver.write_mb_s / user.write_mb_s, user.write_mb_s / file.write_mb_s),
        ("read", driver.read_mb_s / user.read_mb_s, user.read_mb_s / file.read_mb_s),
    ];
    claims.extend(losses.map(|(verb, one, other)| {
        let text =
            format!("each layer of software costs throughput, {verb}: least loss of a level");
        Claim::new("table-1", text, Target::AtLeast(1.0), one.min(other), Band::STATEMENT)
    }));
    (trial.done)(1);
    Ok(Evidence { claims, ..Evidence::default() })
}

/// Table II with its claims.
pub(super) fn inserts(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut scenarios = Vec::new();
    for stack in STACKS {
        for (size, ..) in TABLE_2 {
            scenarios.push(scenario(Micro::Insert, stack, size, 100)?);
        }
    }
    let runs = trial.run_all(&scenarios, 1)?;
    let (jffs2, ubifs) = runs.split_at(TABLE_2.len());
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    for ((size, begin, first, some, end), run) in TABLE_2.into_iter().zip(jffs2) {
        let of = |what: &str| format!("insert of {size} B on JFFS2: {what}, ms");
        let paged_in = |text, paper, measured| Claim {
            reason: PAGED_IN,
            ..time("table-2", text, paper, measured)
        };
        claims.push(paged_in(of("BEGIN"), begin, ms(run.begin_ns)));
        claims.push(paged_in(of("request 1"), first, ms(run.request_ns[0])));
        let own = median(&some_ms(run, 11..=19));
        claims.push(time("table-2", of("median of requests 11 to 19"), median(&some), own));
        claims.push(time("table-2", of("END"), end, ms(run.end_ns)));
        let row = |request: Value, paper: f64, ns: u64| {
            vec![json!(format!("{size} B")), request, json!(paper), json!(ms(ns))]
        };
        rows.push(row(json!("BEGIN"), begin, run.begin_ns));
        rows.push(row(json!("1"), first, run.request_ns[0]));
        for (request, paper) in (11..).zip(some) {
            rows.push(row(json!(request.to_string()), paper, run.request_ns[request - 1]));
        }
        rows.push(row(json!("END"), end, run.end_ns));
    }
    claims.extend(insert_statements(jffs2, ubifs));
    let listing = Listing {
        item: "table-2",
        name: "table-2".to_owned(),
        title: "Table II, response times of inserts on JFFS2".to_owned(),
        head: vec!["record size", "request", "paper, ms", "flysch, ms"],
        rows,
    };
    Ok(Evidence { claims, listings: vec![listing], ..Evidence::default() })
}

/// What the paper concludes from Table II.
fn insert_statements(jffs2: &[Run], ubifs: &[Run]) -> [Claim; 4] {
    let both = || jffs2.iter().chain(ubifs);
    let statement = |text: &str, target, measured| {
        Claim::new("table-2", text, target, measured, Band::STATEMENT)
    };
    let steady = both().map(|run| variation(&some_ms(run, 2..=100))).fold(0.0, f64::max);
    let begins: Vec<f64> = both().map(|run| ms(run.begin_ns)).collect();
    let ends: Vec<f64> = jffs2.iter().map(|run| ms(run.end_ns)).collect();
    let gaps = jffs2.iter().zip(ubifs).map(|(one, other)| {
        let end = ms(one.end_ns) - ms(other.end_ns);
        let rest: f64 =
            some_ms(one, 1..=100).iter().sum::<f64>() - some_ms(other, 1..=100).iter().sum::<f64>();
        end.abs() / (end.abs() + rest.abs())
    });
    [
        Claim {
            note: "The paper's own rows vary by 0.11 at most.".to_owned(),
            ..statement(
                "response times of one size are almost constant: largest standard deviation over \
                 mean of requests 2 to 100",
                Target::AtMost(0.15),
                steady,
            )
        },
        statement(
            "BEGIN takes almost the same time whatever the size and file system: standard \
             deviation over mean",
            Target::AtMost(0.05),
            variation(&begins),
        ),
        statement(
            "END takes the longer the more was inserted: END of 600 B over END of 150 B",
            Target::AtLeast(1.0),
            ends[2] / ends[0],
        ),
        statement(
            "the difference between the file systems is made at END: least share of it",
            Target::AtLeast(0.5),
            gaps.fold(f64::INFINITY, f64::min),
        ),
    ]
}

/// Table III with its claims.
pub(super) fn selects(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let mut scenarios = Vec::new();
    for stack in STACKS {
        for size in SIZES {
            scenarios.push(scenario(Micro::Select, stack, size, REQUESTS)?);
        }
    }
    let runs = trial.run_all(&scenarios, 1)?;
    let (of_jffs2, of_ubifs) = runs.split_at(SIZES.len());
    let (jffs2, ubifs) = (&of_jffs2[SIZES.len() - 1], &of_ubifs[SIZES.len() - 1]);
    let mut claims = Vec::new();
    for (stack, run, of_paper) in [("JFFS2", jffs2, 0), ("UBIFS", ubifs, 1)] {
        let paper = |row: &(u32, f64, f64)| [row.1, row.2][of_paper];
        let rows = || TABLE_3.iter().skip(1);
        let flat: Vec<f64> = rows().map(paper).filter(|&ms| ms < 1.5).collect();
        claims.push(Claim {
            reason: PAGED_IN,
            ..time(
                "table-3",
                format!("select on {stack}: BEGIN, ms"),
                paper(&TABLE_3[0]),
                ms(run.begin_ns),
            )
        });
        let own = median(&some_ms(run, 43..=112));
        let text = format!("select of 600 B on {stack}: median between the peaks, ms");
        claims.push(Claim {
            reason: "One time for SQLite's instructions serves inserts and selects alike.",
            ..time("table-3", text, median(&flat), own)
        });
        for row in rows().filter(|row| paper(row) > 1.5) {
            claims.extend(peak(stack, run, row.0, paper(row)));
        }
    }
    claims.extend(jffs2_statements(of_jffs2));
    claims.extend(ubifs_statements(of_ubifs));
    claims.extend(both_statements(of_jffs2, of_ubifs));
    let row = |(request, one, other): (u32, f64, f64)| {
        let own = |run: &Run| match request.checked_sub(1) {
            None => ms(run.begin_ns),
            Some(index) => ms(run.request_ns[index as usize]),
        };
        vec![
            json!(request.to_string()),
            json!(one),
            json!(own(jffs2)),
            json!(other),
            json!(own(ubifs)),
        ]
    };
    let listing = Listing {
        item: "table-3",
        name: "table-3".to_owned(),
        title: "Table III, response times of selects of 600 B; request 0 is BEGIN".to_owned(),
        head: vec![
            "request",
            "JFFS2, paper, ms",
            "JFFS2, flysch, ms",
            "UBIFS, paper, ms",
            "UBIFS, flysch, ms",
        ],
        rows: TABLE_3.into_iter().map(row).collect(),
    };
    let figures = vec![response_figure(jffs2, ubifs)];
    Ok(Evidence { claims, figures, listings: vec![listing] })
}

/// Claims about the position and the height of one of the paper's peaks.
fn peak(stack: &str, run: &Run, request: u32, paper_ms: f64) -> [Claim; 2] {
    let found = peak_requests(run);
    let near = found.iter().copied().min_by_key(|peak| peak.abs_diff(request as usize));
    let near = near.unwrap_or_default();
    let height = near.checked_sub(1).map_or(f64::NAN, |index| ms(run.request_ns[index]));
    let place = format!("select of 600 B on {stack}: request of the peak at {request}");
    let text = format!("select of 600 B on {stack}: height of the peak at {request}, ms");
    let target = Target::Value(f64::from(request));
    [
        Claim::new("table-3", place, target, real_len(near), Band::POSITION),
        time("table-3", text, paper_ms, height),
    ]
}

/// What the paper says about JFFS2's peaks. `runs` are ordered by record size.
fn jffs2_statements(runs: &[Run]) -> Vec<Claim> {
    let run = &runs[runs.len() - 1];
    let high: Vec<usize> = peak_requests(run).into_iter().filter(|&peak| peak > 40).collect();
    let gaps: Vec<usize> = high.windows(2).map(|two| two[1] - two[0]).collect();
    let gap = |nth: usize| gaps.get(nth).map_or(f64::NAN, |&gap| real_len(gap));
    let took = high.get(1).map_or(f64::NAN, |&peak| ms(run.request_ns[peak - 1]));
    let between = high.get(1).map_or(f64::NAN, |&peak| {
        let flat: f64 = some_ms(run, high[0] + 1..=peak - 1).iter().sum();
        flat / (flat + took)
    });
    let numbered = |text: &str, paper, measured, band| {
        Claim::new("table-3", text, Target::Value(paper), measured, band)
    };
    vec![
        numbered(
            "JFFS2: requests from the first to the second peak of 42 ms",
            64.0,
            gap(0),
            Band::POSITION,
        ),
        Claim {
            reason: "From 46 to 110 the window still grows; from there on each fetch of 128 KB serves \
                     128 requests, one to a page of 1 KB, and the paper's snapshot ends before.",
            ..numbered(
                "JFFS2: requests from one peak to the next from there on",
                64.0,
                gap(1),
                Band::COUNT,
            )
        },
        Claim {
            note: "Each request from one peak to the next finds a page of 1 KB.".to_owned(),
            ..numbered("JFFS2: KB of the file that a peak fetches", 128.0, gap(1), Band::COUNT)
        },
        numbered("JFFS2: throughput of a fetch, MB/s", 3.0, gap(1) * 1.024 / took, Band::TIME),
        Claim {
            note: "The paper's own figures: 63 requests of 1 ms beside 42 ms of flash.".to_owned(),
            ..numbered(
                "JFFS2: share of SQLite in the time between the first two peaks",
                0.6,
                between,
                Band::SHARE,
            )
        },
    ]
}

/// What the paper says about UBIFS's peaks. `runs` are ordered by record size.
fn ubifs_statements(runs: &[Run]) -> [Claim; 3] {
    let widest = &runs[runs.len() - 1];
    let statement =
        |text, target, measured| Claim::new("table-3", text, target, measured, Band::STATEMENT);
    [
        falling("UBIFS", runs),
        statement(
            "UBIFS: period of the peaks of 600 B, requests, and so KB fetched at each",
            Target::Value(4.0),
            period(widest),
        ),
        Claim::new(
            "table-3",
            "UBIFS: peaks of 600 B over the other response times",
            Target::Value(2.0),
            height(widest) / median(&some_ms(widest, 1..=REQUESTS as usize)),
            Band::RATIO,
        ),
    ]
}

/// What the paper says about the peaks of both file systems compared.
fn both_statements(jffs2: &[Run], ubifs: &[Run]) -> [Claim; 4] {
    let (one, other) = (&jffs2[jffs2.len() - 1], &ubifs[ubifs.len() - 1]);
    let spread = |run: &Run| variation(&some_ms(run, 1..=REQUESTS as usize));
    let statement =
        |text, target, measured| Claim::new("table-3", text, target, measured, Band::STATEMENT);
    [
        falling("JFFS2", jffs2),
        statement(
            "the period of JFFS2's peaks is much larger: over UBIFS's, 600 B",
            Target::AtLeast(2.0),
            period(one) / period(other),
        ),
        Claim::new(
            "table-3",
            "JFFS2's peaks are far higher: height over UBIFS's, 600 B",
            Target::Value(21.0),
            height(one) / height(other),
            Band::RATIO,
        ),
        statement(
            "UBIFS varies less than JFFS2: standard deviation over mean, ratio of the two",
            Target::AtMost(1.0),
            spread(other) / spread(one),
        ),
    ]
}

/// The claim that the period of the peaks falls as records grow.
fn falling(name: &str, runs: &[Run]) -> Claim {
    let periods: Vec<f64> = runs.iter().map(period).collect();
    let shrinks = periods.windows(2).all(|two| two[1] < two[0]);
    Claim {
        note: format!("Periods by record size: {periods:?}."),
        ..Claim::new(
            "table-3",
            format!("{name}: the period of the peaks falls with the record size (1: it does)"),
            Target::Value(1.0),
            f64::from(u8::from(shrinks)),
            Band::STATEMENT,
        )
    }
}

/// The median height of a run's peaks, milliseconds.
fn height(run: &Run) -> f64 {
    let heights = peak_requests(run).into_iter().map(|peak| ms(run.request_ns[peak - 1]));
    median(&heights.collect::<Vec<_>>())
}

/// The median distance between two peaks, in requests.
fn period(run: &Run) -> f64 {
    let peaks = peak_requests(run);
    median(&peaks.windows(2).map(|two| real_len(two[1] - two[0])).collect::<Vec<_>>())
}

fn response_figure(jffs2: &Run, ubifs: &Run) -> Figure {
    let panel = |(place, run): (usize, &Run)| {
        let name = stack_name(STACKS[place]);
        let times = (1..=SNAPSHOT).zip(&run.request_ns);
        let own = times.map(|(request, &ns)| (f64::from(request), ms(ns))).collect();
        let paper = TABLE_3.iter().map(|row| (f64::from(row.0), [row.1, row.2][place])).collect();
        Panel {
            title: name.clone(),
            x: Scale::linear("request"),
            y: Scale::linear("response time, ms"),
            series: vec![Series::dots(name.clone(), own), Series::stated(name, paper)],
        }
    };
    Figure {
        item: "table-3",
        name: "table-3-requests".to_owned(),
        title: "Response time of each select of 600 B".to_owned(),
        caption: String::new(),
        panels: [jffs2, ubifs].into_iter().enumerate().map(panel).collect(),
    }
}

/// Numbers of the requests that are peaks, counted from 1.
fn peak_requests(run: &Run) -> Vec<usize> {
    peaks(&run.request_ns, run.latency_ns.p50).into_iter().map(|index| index + 1).collect()
}

/// Response times of a range of requests, counted from 1, in milliseconds.
fn some_ms(run: &Run, requests: std::ops::RangeInclusive<usize>) -> Vec<f64> {
    run.request_ns[requests.start() - 1..*requests.end()].iter().map(|&ns| ms(ns)).collect()
}

fn ms(ns: u64) -> f64 {
    real(ns) / 1e6
}

fn time(item: &'static str, text: String, paper: f64, measured: f64) -> Claim {
    Claim::new(item, text, Target::Value(paper), measured, Band::TIME)
}
