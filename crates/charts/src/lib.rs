//! Charts: figures, tables and pages as SVG and HTML, the same bytes for the same numbers.
//!
//! Bottom-up: [`escape`] and [`number`] make text, [`statistics`] sums numbers up. [`svg`] draws
//! shapes that a style sheet colours, `painted` those that carry their colours with them.
//! [`axis`] and [`sheet`] are what stands around a chart, [`scale`] is an axis in whole numbers.
//! [`line`](mod@line), [`scatter`], [`bars`] and [`heat`] are the charts, and [`table`] is a table.
//! A [`figure`] is series of numbers in panels, of which `draw` makes charts. [`page`] puts
//! sections together into one file.
//!
//! Invariants:
//! 1. A page asks the network for nothing; every name in it is escaped.
//! 2. Nothing here knows where its numbers come from.

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
