//! The report on index methods: a table of all runs, bar charts, and line charts if a numeric
//! parameter varies.

use std::collections::BTreeSet;

use flysch_charts::axis::Axis;
use flysch_charts::bars::{Bar, Group, bars};
use flysch_charts::escape::escape;
use flysch_charts::line::{Line, key, lines};
use flysch_charts::number::{real, significant};
use flysch_charts::page::{Section, page, panel_width};
use flysch_charts::sheet::Sheet;
use flysch_charts::svg::Point;
use flysch_charts::table::Table;

use crate::index::costs::IndexCosts;

const HEIGHT: f64 = 240.0;
/// The most runs that are shown as bars. More bars would be less clear than the table.
const BARS_MAX: usize = 40;

/// A figure of a run, with its name and how it is drawn.
struct Metric {
    name: &'static str,
    of: fn(&IndexCosts) -> Option<f64>,
    /// Whether the axis is logarithmic, because methods differ by powers of ten.
    is_log: bool,
}

const METRICS: [Metric; 12] = [
    Metric { name: "R present, reads", of: |run| run.r_present, is_log: false },
    Metric { name: "R absent, reads", of: |run| run.r_absent, is_log: false },
    Metric { name: "Present lookup, ms", of: |run| lookup_ms(run, "present"), is_log: true },
    Metric { name: "Absent lookup, ms", of: |run| lookup_ms(run, "absent"), is_log: true },
    Metric { name: "W, bytes per key", of: |run| Some(run.w_bytes_per_key), is_log: true },
    Metric { name: "IR, pages", of: |run| Some(run.ir_pages), is_log: true },
    Metric { name: "VP, pages", of: |run| Some(f64::from(run.vp_pages)), is_log: true },
    Metric { name: "Block erases", of: |run| Some(real(run.block_erases)), is_log: true },
    Metric { name: "Mean insert, ms", of: |run| Some(run.insert_ns / 1e6), is_log: true },
    Metric { name: "Worst insert, ms", of: |run| Some(worst_insert_ms(run)), is_log: true },
    Metric { name: "Energy of an insert, uJ", of: |run| Some(run.insert_uj), is_log: true },
    Metric { name: "RAM, bytes", of: |run| Some(real(run.ram_bytes as u64)), is_log: true },
];

fn lookup_ms(run: &IndexCosts, kind: &str) -> Option<f64> {
    run.lookups.iter().find(|cost| cost.kind == kind).map(|cost| cost.time_ns / 1e6)
}

fn worst_insert_ms(run: &IndexCosts) -> f64 {
    real(run.worst_insert_ns) / 1e6
}

/// Parameters that may become the horizontal axis. The first one that varies is used.
const ACROSS: [&str; 7] =
    ["n", "updates", "rows-per-key", "key-size", "ram", "bits-per-key", "hash-count"];

/// Write the report of these runs.
pub fn indexes(runs: &[IndexCosts]) -> String {
    let varying = varying(runs);
    let across = ACROSS.into_iter().find(|name| varying.contains(name));
    let mut sections = vec![Section {
        id: "summary",
        title: "Summary",
        lead: "Counts of the load come from the trace of the chip. R counts array reads of a lookup, \
               that of the record included; pages are sectors over sectors per page.",
        html: table(runs, &varying).html(),
    }];
    if let Some(across) = across {
        sections.push(Section {
            id: "growth",
            title: "As the load varies",
            lead: "A line for each method and each combination of the other parameters.",
            html: growth(runs, &varying, across),
        });
    }
    if runs.len() <= BARS_MAX {
        sections.push(Section {
            id: "side-by-side",
            title: "Side by side",
            lead: "A bar for each run.",
            html: side_by_side(runs, &varying),
        });
    }
    page("Indexes on raw flash", &format!("{} runs of flysch index bench", runs.len()), &sections)
}

/// Names of the parameters that vary between the runs. A parameter that a run does not have does
/// not count.
fn varying(runs: &[IndexCosts]) -> Vec<&'static str> {
    let mut values: Vec<(&'static str, BTreeSet<String>)> = Vec::new();
    for (name, value) in runs.iter().flat_map(attributes) {
        match values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => {
                known.insert(value);
            }
            None => values.push((name, BTreeSet::from([value]))),
        }
    }
    values.into_iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name).collect()
}

/// The parameters of a run, by their names on the command line.
fn attributes(run: &IndexCosts) -> Vec<(&'static str, String)> {
    let fixed = [
        ("method", run.method.to_owned()),
        ("n", run.n.to_string()),
        ("key-size", run.key_size.to_string()),
        ("key-distribution", run.key_distribution.to_owned()),
        ("rows-per-key", run.rows_per_key.to_string()),
        ("lookup-distribution", run.lookup_distribution.to_owned()),
        ("updates", run.updates.to_string()),
        ("part", run.part.clone()),
        ("seed", run.seed.to_string()),
    ];
    let others = run.parameters.iter().map(|(&name, value)| (name, value.to_string()));
    fixed.into_iter().chain(others).collect()
}

fn attribute(run: &IndexCosts, name: &str) -> String {
    let found = attributes(run).into_iter().find(|(known, _)| *known == name);
    found.map_or(String::new(), |(_, value)| value)
}

/// The method of a run, with the parameters that vary, except that of the horizontal axis.
fn title(run: &IndexCosts, varying: &[&str], across: Option<&str>) -> String {
    let names = varying.iter().filter(|&&name| name != "method" && Some(name) != across);
    let parameters = names.map(|name| (name, attribute(run, name)));
    let parameters = parameters.filter(|(_, value)| !value.is_empty());
    let parameters = parameters.map(|(name, value)| format!(", {name} {value}"));
    run.method.to_owned() + &parameters.collect::<String>()
}

fn table(runs: &[IndexCosts], varying: &[&str]) -> Table {
    let names: Vec<&str> = varying.iter().copied().filter(|&name| name != "method").collect();
    let mut head = vec!["method".to_owned()];
    head.extend(names.iter().map(|&name| name.to_owned()));
    head.extend(METRICS.iter().map(|metric| metric.name.to_owned()));
    head.extend(["Out of order", "Copies"].map(str::to_owned));
    let row = |run: &IndexCosts| {
        let mut row = vec![run.method.to_owned()];
        row.extend(names.iter().map(|name| attribute(run, name)));
        row.extend(METRICS.iter().map(|metric| text((metric.of)(run))));
        row.extend([run.out_of_order_programs, run.gc_copies].map(|count| count.to_string()));
        row
    };
    Table {
        caption: "All runs".to_owned(),
        head,
        names: 1,
        rows: runs.iter().map(row).collect(),
        is_sortable: true,
    }
}

fn text(value: Option<f64>) -> String {
    value.map_or(flysch_charts::number::NONE.to_owned(), significant)
}

fn growth(runs: &[IndexCosts], varying: &[&str], across: &str) -> String {
    let mut series: Vec<String> = Vec::new();
    for run in runs {
        let name = title(run, varying, Some(across));
        if !series.contains(&name) {
            series.push(name);
        }
    }
    let mut html = key(series.iter().map(String::as_str).enumerate());
    html.push_str("<div class=\"panels\">\n");
    for metric in &METRICS {
        let curve = |(style, name): (usize, &'_ String)| {
            let own = runs.iter().filter(|run| title(run, varying, Some(across)) == *name);
            let points = own.filter_map(|run| {
                let x = attribute(run, across).parse().ok()?;
                (metric.of)(run).filter(|&y| y > 0.0).map(|y| (x, y))
            });
            let mut points: Vec<Point> = points.collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            (style, points)
        };
        let curves: Vec<(usize, Vec<Point>)> = series.iter().enumerate().map(curve).collect();
        let curves = curves.iter().filter(|(_, points)| !points.is_empty());
        let curves = curves.map(|(style, points)| Line {
            name: &series[*style],
            style: *style,
            points: points.clone(),
            band: Vec::new(),
        });
        html.push_str(&chart(metric, across, &curves.collect::<Vec<_>>()));
    }
    html + "</div>\n"
}

fn chart(metric: &Metric, across: &str, curves: &[Line<'_>]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    if points().next().is_none() {
        return format!("<p class=\"note\">{}: none in any run.</p>\n", escape(metric.name));
    }
    let low = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.1).fold(0.0, f64::max);
    let sheet = Sheet {
        size: (panel_width(2), HEIGHT),
        title: metric.name,
        desc: &format!("{} against {across}", metric.name),
        x: Axis::linear(0.0, points().map(|point| point.0).fold(0.0, f64::max)),
        x_name: across,
        y: if metric.is_log { Axis::log(low, high) } else { Axis::linear(0.0, high) },
        y_name: metric.name,
    };
    lines(&sheet, curves)
}

fn side_by_side(runs: &[IndexCosts], varying: &[&str]) -> String {
    let mut methods: Vec<&str> = Vec::new();
    for run in runs {
        if !methods.contains(&run.method) {
            methods.push(run.method);
        }
    }
    let mut html = "<div class=\"panels\">\n".to_owned();
    for metric in &METRICS {
        let bar = |run: &IndexCosts| {
            let value = (metric.of)(run);
            let style = methods.iter().position(|name| *name == run.method).unwrap_or(0);
            let name = title(run, varying, None);
            let parts = vec![value.unwrap_or(0.0)];
            Bar { name, style, parts, value: text(value), interval: None }
        };
        let group = Group { name: String::new(), bars: runs.iter().map(bar).collect() };
        let desc = format!("{} of each run", metric.name);
        html.push_str(&bars(panel_width(2), metric.name, &desc, &[group]));
    }
    html + "</div>\n"
}
