//! Charts: figures, tables and pages as SVG and HTML. The same numbers give the same bytes.
//!
//! From the bottom up: [`escape`] and [`number`] make text, and [`statistics`] summarises numbers.
//! [`svg`] draws shapes that a style sheet colours; `painted` draws shapes that contain their
//! colours. [`axis`] and [`sheet`] draw what surrounds a chart, and [`scale`] is an axis in whole
//! numbers. [`line`](mod@line), [`scatter`], [`bars`] and [`heat`] are the charts, and [`table`] is
//! a table. A [`figure`] is panels with series of numbers, which `draw` turns into charts. [`page`]
//! puts sections together into one file.
//!
//! Invariants:
//! 1. A page loads nothing from the network. Every name in it is escaped.
//! 2. Nothing here depends on where its numbers come from.

#![forbid(unsafe_code)]
#![expect(
    clippy::format_push_string,
    reason = "pages are put together from pieces; `write!` to a String adds a Result to ignore"
)]

pub mod axis;
pub mod bars;
mod draw;
pub mod escape;
pub mod figure;
pub mod heat;
pub mod line;
pub mod number;
pub mod page;
mod painted;
pub mod scale;
pub mod scatter;
pub mod sheet;
pub mod statistics;
pub mod svg;
pub mod table;

pub use draw::figure_html;
pub use painted::{Anchor, GRID, INK};
