//! Report section: charts of throughput and flash operations over the number of requests.

use flysch_charts::axis::Axis;
use flysch_charts::escape::escape;
use flysch_charts::line::{Line, key, lines};
use flysch_charts::number::thousands;
use flysch_charts::page::panel_width;
use flysch_charts::sheet::Sheet;
use flysch_charts::svg::Point;
use flysch_charts::table::Table;

use super::cases::{Case, Cases};
use super::metrics::{ERASES_PER_KB, Metric, PROGRAMS_PER_KB, READS_PER_KB, THROUGHPUT};

const HEIGHT: f64 = 210.0;
const METRICS: [&Metric; 4] = [&THROUGHPUT, &READS_PER_KB, &PROGRAMS_PER_KB, &ERASES_PER_KB];

/// Charts of every workload that was run with several numbers of requests.
pub(super) fn growth(cases: &Cases<'_>) -> String {
    let mut html = String::new();
    for workload in &cases.workloads {
        let these = cases.of_workload(workload);
        html.push_str(&format!("<h3>{}</h3>\n", escape(workload)));
        html.push_str(&series_key(cases, &these));
        for metric in METRICS {
            html.push_str(&row(cases, workload, metric, &these));
        }
    }
    html
}

/// A legend of the series that these cases belong to.
pub(super) fn series_key(cases: &Cases<'_>, these: &[&Case<'_>]) -> String {
    let mut styles: Vec<usize> = these.iter().map(|case| case.style).collect();
    styles.sort_unstable();
    styles.dedup();
    key(styles.into_iter().map(|style| (style, cases.series[style].as_str())))
}

/// Charts of one metric of one workload: one for each record size, all on the same scale.
fn row(cases: &Cases<'_>, workload: &str, metric: &Metric, these: &[&Case<'_>]) -> String {
    let values = these.iter().map(|case| high(case, metric)).filter(|value| value.is_finite());
    let max = values.fold(0.0, f64::max);
    let name = metric.name;
    if max <= 0.0 {
        return format!("<p class=\"note\">{}: none in any run.</p>\n", escape(name));
    }
    let sizes: Vec<u32> = cases
        .record_sizes
        .iter()
        .copied()
        .filter(|size| these.iter().any(|case| case.run.inputs.record_size == *size))
        .collect();
    let width = panel_width(sizes.len());
    let mut html = format!("<h4>{}</h4>\n<div class=\"panels\">\n", escape(name));
    for size in sizes {
        let title = format!("{}\u{202f}B records", thousands(size.into()));
        let desc = format!("{name} of {workload} against the number of requests, {title}");
        let sheet = Sheet {
            size: (width, HEIGHT),
            title: &title,
            desc: &desc,
            x: Axis::linear(0.0, cases.requests.last().copied().map_or(1.0, f64::from)),
            x_name: "requests",
            y: Axis::linear(0.0, max),
            y_name: name,
        };
        html.push_str(&lines(&sheet, &curves(cases, metric, these, size)));
    }
    html + "</div>\n" + &table(cases, workload, metric, these).folded()
}

/// The greatest value that is drawn for a case, including the end of its interval.
fn high(case: &Case<'_>, metric: &Metric) -> f64 {
    case.spread(metric.of).interval().1
}

fn curves<'a>(
    cases: &'a Cases<'_>,
    metric: &Metric,
    these: &[&Case<'_>],
    size: u32,
) -> Vec<Line<'a>> {
    let curve = |(style, name): (usize, &'a String)| {
        let own =
            these.iter().filter(|case| case.style == style && case.run.inputs.record_size == size);
        let mut own: Vec<(&Case<'_>, f64)> = own
            .map(|&case| (case, case.spread(metric.of).mean))
            .filter(|(_, mean)| mean.is_finite())
            .collect();
        own.sort_by_key(|(case, _)| case.run.inputs.requests);
        let point = |(case, mean): &(&Case<'_>, f64)| (f64::from(case.run.inputs.requests), *mean);
        let points: Vec<Point> = own.iter().map(point).collect();
        let band: Option<Vec<_>> = own.iter().map(|(case, _)| case.interval(metric.of)).collect();
        Line { name, style, points, band: band.unwrap_or_default() }
    };
    let curves = cases.series.iter().enumerate().map(curve);
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

/// The numbers of a row of charts as a table: a row for each number of requests, and a column for
/// each record size and series.
fn table(cases: &Cases<'_>, workload: &str, metric: &Metric, these: &[&Case<'_>]) -> Table {
    let mut columns: Vec<(u32, usize)> =
        these.iter().map(|case| (case.run.inputs.record_size, case.style)).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut head = vec!["Requests".to_owned()];
    head.extend(columns.iter().map(|(size, style)| {
        format!("{} {}\u{202f}B", cases.series[*style], thousands((*size).into()))
    }));
    let row = |requests: &u32| {
        let mut row = vec![thousands((*requests).into())];
        row.extend(columns.iter().map(|column| {
            let is_it = |case: &&&Case<'_>| {
                (case.run.inputs.record_size, case.style) == *column
                    && case.run.inputs.requests == *requests
            };
            these.iter().find(is_it).map_or(String::new(), |case| metric.text_of(case))
        }));
        row
    };
    Table {
        caption: format!("{}, {workload}", metric.name),
        head,
        names: 1,
        rows: cases.requests.iter().map(row).collect(),
        is_sortable: false,
    }
}
