//! The sheet that lines and points are drawn on: a title, two axes, and a grid.

use super::axis::Axis;
use super::svg::{Point, Svg, text_width};

const TOP: f64 = 46.0;
const BOTTOM: f64 = 38.0;
const RIGHT: f64 = 20.0;

/// The frame of a chart: title, axes and description.
pub struct Sheet<'a> {
    /// Width and height of the drawing.
    pub size: Point,
    /// The title above the chart.
    pub title: &'a str,
    /// What the chart shows, for readers who cannot see it.
    pub desc: &'a str,
    pub x: Axis,
    /// Name of the horizontal axis, with the unit.
    pub x_name: &'a str,
    pub y: Axis,
    /// Name of the vertical axis, with the unit.
    pub y_name: &'a str,
}

impl Sheet<'_> {
    /// Begin the drawing: everything but the data.
    pub fn open(&self) -> Svg {
        let mut svg = Svg::new(self.size, self.title, self.desc);
        let (left, right, floor) = (self.left(), self.size.0 - RIGHT, self.size.1 - BOTTOM);
        svg.text("title", (0.0, 13.0), self.title);
        svg.text("y-name", (0.0, 27.0), self.y_name);
        for tick in self.y.ticks() {
            let y = self.place(0.0, tick.value).1;
            svg.line("rule", (left, y), (right, y));
            svg.text("end", (left - 6.0, y + 3.8), &tick.label);
        }
        let mut free_from = f64::MIN;
        for tick in self.x.ticks() {
            let x = self.place(tick.value, 0.0).0;
            svg.line("frame", (x, floor), (x, floor + 4.0));
            let half = text_width(&tick.label) / 2.0;
            if x - half >= free_from {
                svg.text("middle", (x.min(self.size.0 - half), floor + 18.0), &tick.label);
                free_from = x + half + 6.0;
            }
        }
        svg.line("frame", (left, floor), (right, floor));
        svg.text("end", (right, floor + 33.0), self.x_name);
        svg
    }

    /// The position of a pair of values on the drawing.
    pub fn place(&self, x: f64, y: f64) -> Point {
        let (left, floor) = (self.left(), self.size.1 - BOTTOM);
        let across = (self.size.0 - RIGHT - left) * self.x.share(x);
        (left + across, floor - (floor - TOP) * self.y.share(y))
    }

    /// The left end of the horizontal axis. The longest label of the vertical axis fits to its
    /// left.
    fn left(&self) -> f64 {
        let widths = self.y.ticks().iter().map(|tick| text_width(&tick.label));
        widths.fold(12.0, f64::max) + 10.0
    }
}
