//! Shapes that contain their colours, in whole pixels, for drawings without a style sheet.
//!
//! Background, text and grid also have classes. On a dark page, a style rule in the drawing
//! replaces their colours. A viewer without support for such rules shows the drawing in light
//! colours.

use super::escape::escape;
use super::svg::Svg;

/// Colour of axes and text.
pub const INK: &str = "#333333";
/// Colour of the lines behind the data.
pub const GRID: &str = "#e2e2e2";

/// Style rules for a dark page: the colours of background, of text and axes, and of the grid.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) { .ground { fill: #14181c; } \
                    text { fill: #d8dde2; } .axis { stroke: #9aa5af; } .grid { stroke: #2a3138; } \
                    }</style>";

/// Which end of a text is at its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// Begin a drawing with a title. The background is white, or dark on a dark page.
    pub fn painted(width: u32, height: u32, title: &str) -> Self {
        let mut svg = Self { text: String::new() };
        svg.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">"
        ));
        svg.put(format_args!("<title>{}</title>", escape(title)));
        svg.put(format_args!("{DARK}"));
        svg.put(format_args!(
            "<rect class=\"ground\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
        ));
        svg.put(format_args!(
            "<text x=\"{}\" y=\"24\" text-anchor=\"middle\" font-size=\"16\" fill=\"{INK}\">{}</text>",
            width / 2,
            escape(title)
        ));
        svg
    }

    /// Draw a filled rectangle.
    pub fn painted_rect(&mut self, (x, y): (u32, u32), (width, height): (u32, u32), fill: &str) {
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"
        ));
    }

    /// Draw the outline of a rectangle.
    pub fn frame(&mut self, (x, y): (u32, u32), (width, height): (u32, u32)) {
        self.put(format_args!(
            "<rect class=\"axis\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"{INK}\"/>"
        ));
    }

    /// Draw a straight line.
    pub fn painted_line(&mut self, from: (u32, u32), to: (u32, u32), stroke: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let class = match stroke {
            GRID => "grid",
            INK => "axis",
            _ => "data",
        };
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{stroke}\"/>"
        ));
    }

    /// Draw filled shapes of one colour, given as SVG path data.
    pub fn painted_path(&mut self, data: &str, fill: &str) {
        self.put(format_args!("<path d=\"{data}\" fill=\"{fill}\"/>"));
    }

    /// Draw a line of text.
    pub fn label(&mut self, (x, y): (u32, u32), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{INK}\">{}</text>",
            escape(text)
        ));
    }

    /// Draw a line of text that reads upwards, centred on a point.
    pub fn label_upward(&mut self, (x, y): (u32, u32), text: &str) {
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{INK}\" \
             transform=\"rotate(-90 {x} {y})\">{}</text>",
            escape(text)
        ));
    }
}
