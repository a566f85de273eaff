//! Report section: operations and time of the runs as bars next to each other.

use flysch_charts::bars::{Bar, Group, bars};
use flysch_charts::number::{duration, real};
use flysch_charts::page::panel_width;

use super::cases::{Case, Cases};
use super::metrics::{ERASES, Metric, PROGRAMS, READS};

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
        let bar = |case: &Case<'_>| (vec![(metric.of)(case.run)], value(metric, case));
        let desc = format!("{} of each run", metric.name);
        html.push_str(&bars(width, metric.name, &desc, &groups(cases, &shown, bar)));
    }
    html + "</div>\n"
}

fn groups(
    cases: &Cases<'_>,
    shown: &[&Case<'_>],
    bar: impl Fn(&Case<'_>) -> (Vec<f64>, String),
) -> Vec<Group> {
    let of_workload = |workload: &&str| {
        let own = shown.iter().filter(|case| case.run.workload == *workload);
        let bars = own.map(|case| {
            let (parts, value) = bar(case);
            Bar { name: cases.full_name(case), style: case.style, parts, value }
        });
        Group { name: (*workload).to_owned(), bars: bars.collect() }
    };
    cases.workloads.iter().map(of_workload).collect()
}

/// The times of CPU, flash and neither, in nanoseconds, and the text of the total.
fn time(case: &Case<'_>) -> (Vec<f64>, String) {
    let (run, flash_ns) = (case.run, super::causes::flash_ns(case.run));
    let rest_ns = run.time_ns.saturating_sub(run.cpu_ns + flash_ns);
    (vec![real(run.cpu_ns), real(flash_ns), real(rest_ns)], duration(run.time_ns))
}

fn value(metric: &Metric, case: &Case<'_>) -> String {
    metric.text(case.run)
}
