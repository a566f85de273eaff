//! Draws figures as charts: lines, points and bars. Values that a paper states are ringed or
//! outlined.

use super::axis::Axis;
use super::bars::{Bar, Group, bars};
use super::escape::escape;
use super::figure::{Figure, Panel, Points, Scale, Series, Source};
use super::line::{Line, curves, key, numbers};
use super::number::significant;
use super::page::panel_width;
use super::sheet::Sheet;
use super::statistics::Spread;
use super::svg::{Point, Svg, series_class, step};

const HEIGHT: f64 = 230.0;

/// Draw a figure as HTML.
pub fn figure_html(figure: &Figure) -> String {
    let names = names(figure);
    let title = escape(&figure.title);
    let is_stated = |series: &Series| series.source == Source::Paper;
    let mut caption = figure.caption.clone();
    if figure.panels.iter().any(|panel| panel.series.iter().any(is_stated)) {
        caption.push_str(" Ringed or marked \"paper\": values that the paper's text states.");
    }
    let width = panel_width(figure.panels.len());
    let panels: String =
        figure.panels.iter().map(|panel| draw(panel, width, &figure.title, &names)).collect();
    let is_keyed = names.len() > 1;
    let key = if is_keyed { key(names.iter().copied().enumerate()) } else { String::new() };
    format!(
        "<h4>{title}</h4>\n<p class=\"note\">{}</p>\n{key}<div class=\"panels\">{panels}</div>\n",
        escape(caption.trim())
    )
}

/// The names of the series, each once, in order. The index of a name is its style.
fn names(figure: &Figure) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

fn draw(panel: &Panel, width: f64, title: &str, names: &[&str]) -> String {
    let of_names = |series: &Series| matches!(series.points, Points::Bars(_));
    if panel.series.iter().any(of_names) {
        return bars(width, &panel.title, title, &groups(panel, names));
    }
    let ends = |series| shown(panel, series).into_iter().chain(ends(panel, series));
    let all: Vec<Point> = panel.series.iter().flat_map(ends).collect();
    let sheet = Sheet {
        size: (width, HEIGHT),
        title: &panel.title,
        desc: title,
        x: axis(&panel.x, all.iter().map(|point| point.0)),
        x_name: &panel.x.name,
        y: axis(&panel.y, all.iter().map(|point| point.1)),
        y_name: &panel.y.name,
    };
    let line = |series| line(panel, series, names);
    if panel.series.iter().all(|series| shown(panel, series).len() <= 1) {
        return numbers(&sheet, &panel.series.iter().map(line).collect::<Vec<_>>());
    }
    let mut svg = sheet.open();
    for series in panel.series.iter().filter(|series| matches!(series.points, Points::Dots(_))) {
        dots(&mut svg, &sheet, panel, series, style(names, &series.name));
    }
    let is_line = |series: &&Series| matches!(series.points, Points::Line(_));
    let lines: Vec<Line<'_>> = panel.series.iter().filter(is_line).map(line).collect();
    curves(&mut svg, &sheet, &lines);
    svg.finish()
}

/// A series as a line.
fn line<'a>(panel: &Panel, series: &'a Series, names: &[&str]) -> Line<'a> {
    let lower = ends(panel, series).step_by(2).map(|end| end.1);
    let upper = ends(panel, series).skip(1).step_by(2).map(|end| end.1);
    Line {
        name: &series.name,
        style: style(names, &series.name),
        points: shown(panel, series),
        band: lower.zip(upper).collect(),
    }
}

/// The ends of the interval of each point that is shown. On a logarithmic axis, an interval that
/// reaches down to zero is drawn from its point.
fn ends<'a>(panel: &'a Panel, series: &'a Series) -> impl Iterator<Item = Point> + 'a {
    let of_points = match &series.points {
        Points::Line(points) | Points::Dots(points) => points.as_slice(),
        Points::Bars(_) => &[],
    };
    let known = of_points.iter().zip(&series.spread);
    known.filter(|(point, _)| has_place(panel, point)).flat_map(|(&(x, y), spread)| {
        let (low, high) = spread.interval();
        let low = if panel.y.is_log && low <= 0.0 { y } else { low };
        [(x, low), (x, high)]
    })
}

/// Draw single points. Points that a paper states are rings.
fn dots(svg: &mut Svg, sheet: &Sheet<'_>, panel: &Panel, series: &Series, style: usize) {
    let points = shown(panel, series);
    if series.source == Source::Paper {
        for (x, y) in points {
            let tip = format!("{}, paper: {} at {}", series.name, significant(y), significant(x));
            svg.ring(style, sheet.place(x, y), &tip);
        }
        return;
    }
    let dots: String = points.iter().map(|&(x, y)| step('M', sheet.place(x, y)) + "h0").collect();
    svg.path(&format!("dots {}", series_class(style)), &dots);
}

fn style(names: &[&str], name: &str) -> usize {
    names.iter().position(|other| *other == name).expect("every series is named")
}

/// The points of a series that the panel's axes can show.
fn shown(panel: &Panel, series: &Series) -> Vec<Point> {
    let points = match &series.points {
        Points::Line(points) | Points::Dots(points) => points.as_slice(),
        Points::Bars(_) => &[],
    };
    points.iter().filter(|point| has_place(panel, point)).copied().collect()
}

fn has_place(panel: &Panel, point: &Point) -> bool {
    let fits = |scale: &Scale, value: f64| value.is_finite() && (!scale.is_log || value > 0.0);
    fits(&panel.x, point.0) && fits(&panel.y, point.1)
}

/// An axis for these values. A linear axis includes zero.
fn axis(scale: &Scale, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let max = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let min = values.fold(f64::INFINITY, f64::min);
    match (min.is_finite(), scale.is_log) {
        (false, true) => Axis::log(1.0, 10.0),
        (false, false) => Axis::linear(0.0, 1.0),
        (true, true) => Axis::log(min, max),
        (true, false) => Axis::linear(min.min(0.0), max.max(0.0)),
    }
}

/// A group for each name, with a bar for each series.
fn groups(panel: &Panel, names: &[&str]) -> Vec<Group> {
    let bars_of = |series: &Series| match &series.points {
        Points::Bars(bars) => bars.clone(),
        Points::Line(_) | Points::Dots(_) => Vec::new(),
    };
    let mut heads: Vec<String> = Vec::new();
    for (head, _) in panel.series.iter().flat_map(bars_of) {
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    let bar = |series: &Series, head: &str| {
        let all = bars_of(series);
        let place = all.iter().position(|(name, _)| name == head)?;
        let value = all[place].1;
        let is_paper = series.source == Source::Paper;
        let length = if value.is_finite() { value.max(0.0) } else { 0.0 };
        Some(Bar {
            name: if is_paper { format!("{}, paper", series.name) } else { series.name.clone() },
            style: style(names, &series.name),
            parts: if is_paper { vec![0.0, 0.0, length] } else { vec![length] },
            value: significant(value),
            interval: series.spread.get(place).map(Spread::interval),
        })
    };
    let group = |head: String| {
        let bars = panel.series.iter().filter_map(|series| bar(series, &head)).collect();
        Group { name: head, bars }
    };
    heads.into_iter().map(group).collect()
}
