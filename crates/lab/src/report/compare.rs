//! Report section: bar charts that compare operations and time of the runs.

use flysch_charts::bars::{Bar, Group, bars};
use flysch_charts::number::{duration, real};
use flysch_charts::page::panel_width;

use super::cases::{Case, Cases};
use super::causes::flash_ns;
use super::metrics::{ERASES, PROGRAMS, READS, TIME};
use crate::bench::run::Run;

/// The values of a bar.
struct Shown {
    parts: Vec<f64>,
    value: String,
    interval: Option<(f64, f64)>,
}

/// Bars of the runs shown, grouped by workload.
pub(super) fn compare(cases: &Cases<'_>) -> String {
    let shown = cases.shown();
    let width = panel_width(2);
    let mut html = cases.shown_note() + "<div class=\"panels\">\n";
    html.push_str(&bars(
        width,
        "Time: CPU (solid), flash (pale), neither (outlined)",
        "virtual time of each run, split into CPU and flash",
        &groups(cases, &shown, time),
    ));
    for metric in [&PROGRAMS, &READS, &ERASES] {
        let bar = |case: &Case<'_>| Shown {
            parts: vec![case.spread(metric.of).mean],
            value: metric.text_of(case),
            interval: case.interval(metric.of),
        };
        let desc = format!("{} of each run", metric.name);
        html.push_str(&bars(width, metric.name, &desc, &groups(cases, &shown, bar)));
    }
    html + "</div>\n"
}

fn groups(cases: &Cases<'_>, shown: &[&Case<'_>], bar: impl Fn(&Case<'_>) -> Shown) -> Vec<Group> {
    let of_workload = |workload: &&str| {
        let own = shown.iter().filter(|case| case.run.inputs.workload == *workload);
        let bars = own.map(|case| {
            let Shown { parts, value, interval } = bar(case);
            Bar { name: cases.full_name(case), style: case.style, parts, value, interval }
        });
        Group { name: (*workload).to_owned(), bars: bars.collect() }
    };
    cases.workloads.iter().map(of_workload).collect()
}

/// The times of CPU, of flash and of neither, in nanoseconds, with the text of their total.
fn time(case: &Case<'_>) -> Shown {
    let total = |run: &Run| real(run.time_ns);
    let flash = |run: &Run| real(flash_ns(run));
    let rest = |run: &Run| real(run.time_ns.saturating_sub(run.cpu_ns + flash_ns(run)));
    Shown {
        parts: vec![
            case.spread(|run| real(run.cpu_ns)).mean,
            case.spread(flash).mean,
            case.spread(rest).mean,
        ],
        value: match case.seeds.as_slice() {
            [run] => duration(run.time_ns),
            _ => TIME.text_of(case) + " ms",
        },
        interval: case.interval(total),
    }
}
