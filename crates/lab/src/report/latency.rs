//! Report section: the response time of each request, in order and as a distribution.

use flysch_charts::axis::Axis;
use flysch_charts::escape::escape;
use flysch_charts::line::{Line, lines};
use flysch_charts::number::{NONE, fixed, real, real_len};
use flysch_charts::page::panel_width;
use flysch_charts::scatter::{Scatter, scatter};
use flysch_charts::sheet::Sheet;
use flysch_charts::svg::Point;
use flysch_charts::table::Table;

use super::cases::{Case, Cases};
use super::growth::series_key;
use super::peaks::{peaks, sentence};
use crate::bench::run::Latency;

const HEIGHT: f64 = 250.0;
/// If the greatest response time is at least this many times the least, the axis is logarithmic.
const LOG_FROM: f64 = 20.0;
/// Approximate number of points in the line of a distribution.
const QUANTILES: usize = 160;

/// Response times of the runs shown, grouped by workload.
pub(super) fn latency(cases: &Cases<'_>) -> String {
    let mut html = cases.shown_note();
    for workload in &cases.workloads {
        let shown: Vec<&Case<'_>> = cases
            .shown()
            .into_iter()
            .filter(|case| case.run.inputs.workload == *workload)
            .collect();
        html.push_str(&format!("<h3>{}</h3>\n<div class=\"panels\">\n", escape(workload)));
        let timed: Vec<&Case<'_>> =
            shown.iter().copied().filter(|case| !case.run.request_ns.is_empty()).collect();
        if timed.is_empty() {
            html.push_str("<p class=\"note\">No request of its own was timed.</p>\n");
        } else {
            html.push_str(&scatters(cases, workload, &timed));
            html.push_str(&distribution(cases, workload, &timed));
        }
        let table = table(cases, workload, &shown).html();
        html.push_str(&format!("<div class=\"beside\">{table}</div>\n</div>\n"));
    }
    html
}

/// A scatter chart for each run. All charts have the same vertical scale.
fn scatters(cases: &Cases<'_>, workload: &str, timed: &[&Case<'_>]) -> String {
    let axis = time_axis(timed);
    let mut html = String::new();
    for case in timed {
        let title = cases.full_name(case);
        let desc = format!("response time of each request of {workload} on {title}");
        let requests = real_len(case.run.request_ns.len());
        let sheet = Sheet {
            size: (panel_width(2), HEIGHT),
            title: &title,
            desc: &desc,
            x: Axis::linear(0.0, requests),
            x_name: "request number",
            y: axis.clone(),
            y_name: "response time, ms",
        };
        let found = peaks(&case.run.request_ns, case.run.latency_ns.p50);
        let data = Scatter { request_ns: &case.run.request_ns, peaks: &found, style: case.style };
        html.push_str(&format!(
            "<figure>{}<figcaption>{}</figcaption></figure>\n",
            scatter(&sheet, &data),
            escape(&sentence(case.run, &found))
        ));
    }
    html
}

/// An axis for the response times of all these runs, in milliseconds.
fn time_axis(timed: &[&Case<'_>]) -> Axis {
    let all = || timed.iter().flat_map(|case| case.run.request_ns.iter().copied());
    let max_ms = real(all().max().unwrap_or(0)) / 1e6;
    let min_ms = real(all().min().unwrap_or(0)) / 1e6;
    if min_ms > 0.0 && max_ms / min_ms >= LOG_FROM {
        Axis::log(min_ms, max_ms)
    } else {
        Axis::linear(0.0, max_ms)
    }
}

/// Chart of the share of requests that were answered within a given time.
fn distribution(cases: &Cases<'_>, workload: &str, timed: &[&Case<'_>]) -> String {
    let names: Vec<String> = timed.iter().map(|case| cases.full_name(case)).collect();
    let curve = |(case, name): (&&Case<'_>, _)| {
        let points = quantiles(&case.run.request_ns);
        Line { name, style: case.style, points, band: Vec::new() }
    };
    let curves: Vec<Line<'_>> =
        timed.iter().zip(names.iter().map(String::as_str)).map(curve).collect();
    let sheet = Sheet {
        size: (panel_width(2), HEIGHT),
        title: "Share of requests answered within a time",
        desc: &format!("cumulative distribution of the response times of {workload}"),
        x: time_axis(timed),
        x_name: "response time, ms",
        y: Axis::linear(0.0, 100.0),
        y_name: "requests, %",
    };
    let chart = lines(&sheet, &curves);
    format!("<figure>{chart}{}</figure>\n", series_key(cases, timed))
}

/// Points of the cumulative distribution, drawn as a staircase. They are thinned evenly, but both
/// ends and the slowest hundredth of the requests are kept.
fn quantiles(request_ns: &[u64]) -> Vec<Point> {
    let mut sorted = request_ns.to_vec();
    sorted.sort_unstable();
    let len = sorted.len();
    let (stride, tail) = (len.div_ceil(QUANTILES), len - len.div_ceil(100).min(QUANTILES));
    let mut points: Vec<Point> = Vec::new();
    for (index, &time_ns) in sorted.iter().enumerate() {
        let is_kept = index % stride == 0 || index >= tail;
        if is_kept {
            let time_ms = real(time_ns) / 1e6;
            let below = points.last().map_or(0.0, |point| point.1);
            points.push((time_ms, below));
            points.push((time_ms, real_len(index + 1) * 100.0 / real_len(len)));
        }
    }
    points
}

fn table(cases: &Cases<'_>, workload: &str, shown: &[&Case<'_>]) -> Table {
    let head = ["Stack", "BEGIN", "Least", "Median", "90 %", "99 %", "Greatest", "END"];
    let row = |case: &&Case<'_>| {
        let run = case.run;
        let ms = |time_ns: u64| fixed(real(time_ns) / 1e6, 3);
        let of_requests = |time_ns| match run.request_ns.as_slice() {
            [] => NONE.to_owned(),
            _ => ms(time_ns),
        };
        let Latency { min, p50, p90, p99, max } = run.latency_ns;
        let mut row = vec![cases.full_name(case), ms(run.begin_ns)];
        row.extend([min, p50, p90, p99, max].map(of_requests));
        row.push(ms(run.end_ns));
        row
    };
    Table {
        caption: format!("Response times of {workload}, ms"),
        head: head.map(str::to_owned).to_vec(),
        names: 1,
        rows: shown.iter().map(row).collect(),
        is_sortable: false,
    }
}
