//! The papers' experiments, and the verdict on each of their claims.
//!
//! From the bottom up: [`band`] says how far a measurement may be from a paper's value. [`claim`]
//! is a statement of a paper with its measurement and verdict. [`listing`] is a table. `cells`
//! makes each run once. [`paper`] holds a paper's items and the experiments that measure them, and
//! [`selection`] finds them by name. [`seeds`] joins the findings of several seeds. `page` and
//! [`files`] write the results.
//! Each paper has a module of its own.
//!
//! Invariants:
//! 1. A verdict is computed from the paper's value, the measurement and the band. None is written
//!    by hand.
//! 2. The same effort gives the same bytes, on any number of cores.
//! 3. A page loads nothing from the network. Every number in it is also in a CSV and a JSON file.

#![forbid(unsafe_code)]
#![expect(
    clippy::format_push_string,
    reason = "pages are put together from pieces; `write!` to a String adds a Result to ignore"
)]

pub mod band;
mod cells;
pub mod claim;
pub mod files;
pub mod listing;
mod page;
pub mod paper;
mod paper_000;
mod paper_002;
mod paper_003;
mod paper_004;
pub mod seeds;
pub mod selection;

pub use page::figures_page;
use paper::Paper;
pub use paper_003::{AfterCut, PowerCutTest, Tally};

/// All papers, ordered by number.
pub const PAPERS: [&Paper; 4] =
    [&paper_000::PAPER, &paper_002::PAPER, &paper_003::PAPER, &paper_004::PAPER];
