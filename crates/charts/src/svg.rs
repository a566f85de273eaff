//! A writer of SVG. The look of the shapes comes from the classes of `chart.css`.
//!
//! Invariants:
//! 1. All text is escaped here.
//! 2. Every coordinate is finite and written with at most one decimal, so that the same numbers
//!    give the same bytes.

use std::fmt::{Arguments, Write};

use super::escape::escape;

/// The style sheet of all charts, for light and dark pages. A page contains it once; a drawing
/// without a page needs it in a `style` element.
pub const STYLE: &str = include_str!("chart.css");

/// Number of colours. They are by Okabe and Ito; `chart.css` has the classes `c0` and up for them.
const COLOURS: usize = 7;

/// A position in a drawing, in pixels from its left and top edges.
pub type Point = (f64, f64);

/// A drawing under construction.
pub struct Svg {
    pub(super) text: String,
}

impl Svg {
    /// Begin a drawing of this size. Screen readers read its title and description.
    pub fn new(size: Point, title: &str, desc: &str) -> Self {
        let (width, height) = (coordinate(size.0), coordinate(size.1));
        let (title, desc) = (escape(title), escape(desc));
        Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" \
                 height=\"{height}\" viewBox=\"0 0 {width} {height}\"><title>{title}</title>\
                 <desc>{desc}</desc>\n"
            ),
        }
    }

    /// Draw a filled rectangle.
    pub fn rect(&mut self, class: &str, at: Point, size: Point) {
        let (x, y) = (coordinate(at.0), coordinate(at.1));
        let (width, height) = (coordinate(size.0), coordinate(size.1));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        ));
    }

    /// Draw a straight line.
    pub fn line(&mut self, class: &str, from: Point, to: Point) {
        let (x1, y1) = (coordinate(from.0), coordinate(from.1));
        let (x2, y2) = (coordinate(to.0), coordinate(to.1));
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    /// Draw text. The class decides on which side of the position it is.
    pub fn text(&mut self, class: &str, at: Point, text: &str) {
        let (x, y, text) = (coordinate(at.0), coordinate(at.1), escape(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    /// Draw a path of SVG path commands, which [`step`] can write.
    pub fn path(&mut self, class: &str, commands: &str) {
        self.put(format_args!("<path class=\"{class}\" d=\"{commands}\"/>"));
    }

    /// Draw the mark of the series with this style. `tip` is shown when the pointer is on it.
    pub fn mark(&mut self, style: usize, at: Point, tip: &str) {
        let class = format!("mark {}", series_class(style));
        let commands = format!("{}{}", step('M', at), MARKS[style % MARKS.len()]);
        if tip.is_empty() {
            return self.path(&class, &commands);
        }
        self.put(format_args!(
            "<path class=\"{class}\" d=\"{commands}\"><title>{}</title></path>",
            escape(tip)
        ));
    }

    /// Draw a ring, for a value that is stated and not measured. `tip` is shown when the pointer is
    /// on it.
    pub fn ring(&mut self, style: usize, at: Point, tip: &str) {
        let commands = format!("{}m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z", step('M', at));
        let (class, tip) = (series_class(style), escape(tip));
        self.put(format_args!(
            "<path class=\"ring {class}\" d=\"{commands}\"><title>{tip}</title></path>"
        ));
    }

    /// Append an element on a new line.
    pub(super) fn put(&mut self, element: Arguments<'_>) {
        writeln!(self.text, "{element}").expect("memory takes what is written");
    }

    /// End the drawing and return its text.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Outlines of the marks around a point: circle, square, triangle, diamond, inverted triangle.
const MARKS: [&str; 5] = [
    "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
    "m-2.9 -2.9h5.8v5.8h-5.8z",
    "m0 -3.8l3.7 6.6h-7.4z",
    "m0 -4l4 4l-4 4l-4 -4z",
    "m0 3.8l3.7 -6.6h-7.4z",
];

/// The classes that distinguish a series: a colour, and a dash once colours repeat.
pub fn series_class(style: usize) -> String {
    let colour = style % COLOURS;
    match style / COLOURS {
        0 => format!("c{colour}"),
        dash => format!("c{colour} dash{}", dash.min(2)),
    }
}

/// A path command followed by a position.
pub fn step(command: char, at: Point) -> String {
    format!("{command}{} {}", coordinate(at.0), coordinate(at.1))
}

/// The greatest width of `text` at the font size of the charts, in pixels. In a wide font, a digit
/// takes 0.64 of the font size.
pub fn text_width(text: &str) -> f64 {
    text.chars().map(|letter| if letter == super::number::SPACE { 3.5 } else { 7.0 }).sum()
}

fn coordinate(value: f64) -> String {
    assert!(value.is_finite(), "a shape has no place");
    let mut written = format!("{value:.1}");
    if written.ends_with(".0") {
        written.truncate(written.len() - 2);
    }
    if written == "-0" { "0".to_owned() } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0, 1.25, -0.01, 10.96].map(coordinate), ["1", "1.2", "0", "11"]);
    }

    #[test]
    fn series_differ() {
        let classes: std::collections::BTreeSet<String> = (0..21).map(series_class).collect();
        assert_eq!(classes.len(), 21);
    }
}
