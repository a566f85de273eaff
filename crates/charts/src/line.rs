//! Line charts, and the legend that names their lines.

use super::bars::{Bar, Group, bars};
use super::escape::escape;
use super::number::significant;
use super::sheet::Sheet;
use super::svg::{Point, Svg, series_class, step};

/// If a line has more points than this, they get no marks.
const MARKS_MAX: usize = 24;

/// A line of a chart.
pub struct Line<'a> {
    /// Name of the series.
    pub name: &'a str,
    /// The number of the style, which decides colour, dash and mark.
    pub style: usize,
    /// The points from left to right.
    pub points: Vec<Point>,
    /// The confidence interval of each point, low and high. Empty if each point was measured once.
    pub band: Vec<(f64, f64)>,
}

/// Draw lines. If no line has more than one point, bars are drawn instead.
pub fn lines(sheet: &Sheet<'_>, lines: &[Line<'_>]) -> String {
    if lines.iter().all(|line| line.points.len() <= 1) {
        return numbers(sheet, lines);
    }
    let mut svg = sheet.open();
    curves(&mut svg, sheet, lines);
    svg.finish()
}

/// The numbers of lines that have one point each, as bars.
pub fn numbers(sheet: &Sheet<'_>, lines: &[Line<'_>]) -> String {
    let bar = |line: &Line<'_>| {
        let &(x, y) = line.points.first()?;
        let name = line.name.to_owned();
        let value = format!("{} at {}", significant(y), significant(x));
        let interval = line.band.first().copied();
        Some(Bar { name, style: line.style, parts: vec![y.max(0.0)], value, interval })
    };
    let name = format!("{}, at {}", sheet.y_name, sheet.x_name);
    let group = Group { name, bars: lines.iter().filter_map(bar).collect() };
    bars(sheet.size.0, sheet.title, sheet.desc, &[group])
}

/// Draw lines on a chart. Lines with few points also get a mark at each point.
pub fn curves(svg: &mut Svg, sheet: &Sheet<'_>, lines: &[Line<'_>]) {
    for line in lines.iter().filter(|line| !line.band.is_empty()) {
        svg.path(&format!("band {}", series_class(line.style)), &band(sheet, line));
    }
    for line in lines {
        svg.path(&format!("curve {}", series_class(line.style)), &path(sheet, &line.points));
    }
    for line in lines.iter().filter(|line| line.points.len() <= MARKS_MAX) {
        for &(x, y) in &line.points {
            let tip = format!("{}: {} at {}", line.name, significant(y), significant(x));
            svg.mark(line.style, sheet.place(x, y), &tip);
        }
    }
}

/// Write the legend of a chart: each series' line and mark next to its name.
pub fn key<'a>(series: impl IntoIterator<Item = (usize, &'a str)>) -> String {
    let mut html = "<p class=\"key\">".to_owned();
    for (style, name) in series {
        let mut svg = Svg::new((26.0, 12.0), name, "line and mark of this series");
        let class = format!("curve {}", series_class(style));
        svg.path(&class, "M1 6H25");
        svg.mark(style, (13.0, 6.0), "");
        html.push_str(&format!("<span>{}{}</span>\n", svg.finish(), escape(name)));
    }
    html + "</p>\n"
}

fn path(sheet: &Sheet<'_>, points: &[Point]) -> String {
    let mut commands = String::new();
    for &(x, y) in points {
        let command = if commands.is_empty() { 'M' } else { 'L' };
        commands.push_str(&step(command, sheet.place(x, y)));
    }
    commands
}

/// The area between the lower and the upper ends of the intervals.
fn band(sheet: &Sheet<'_>, line: &Line<'_>) -> String {
    let ends = || line.points.iter().zip(&line.band);
    let upper: Vec<Point> = ends().map(|(point, (_, high))| (point.0, *high)).collect();
    let lower: Vec<Point> = ends().rev().map(|(point, (low, _))| (point.0, *low)).collect();
    path(sheet, &[upper, lower].concat()) + "z"
}
