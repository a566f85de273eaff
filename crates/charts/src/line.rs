//! Line charts, and the legend that names their lines.

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
}

pub fn lines(sheet: &Sheet<'_>, lines: &[Line<'_>]) -> String {
    let mut svg = sheet.open();
    curves(&mut svg, sheet, lines);
    svg.finish()
}

/// Draw lines on a chart. Lines with few points also get a mark at each point.
pub fn curves(svg: &mut Svg, sheet: &Sheet<'_>, lines: &[Line<'_>]) {
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
