//! The papers' experiments, and what becomes of each of their claims.
//!
//! Bottom-up: [`band`] is how far a measurement may lie from the paper; [`claim`] is what a paper
//! says, what was measured, and the verdict; [`listing`] is a table; [`paper`] holds a paper's items
//! and the experiments that measure them; [`choice`] says which of them are asked for; `page` and
//! [`files`] are what is written. Each paper has a module of its own.
//!
//! Invariants:
//! 1. A verdict is computed from the paper's value, the measurement and the band; none is typed in.
//! 2. Same effort, same bytes, on any number of cores.
//! 3. A page asks the network for nothing; every number in it is also in a CSV and a JSON file.

#![forbid(unsafe_code)]
#![expect(
    clippy::format_push_string,
    reason = "pages are put together from pieces; `write!` to a String adds a Result to ignore"
)]

pub mod band;
pub mod choice;
pub mod claim;
pub mod files;
pub mod listing;
mod page;
pub mod paper;
mod paper_000;
mod paper_002;
mod paper_003;
mod paper_004;

pub use page::figures_page;
use paper::Paper;
pub use paper_003::{Drill, Life, Tally};

/// Every paper, in order of its number.
pub const PAPERS: [&Paper; 4] =
    [&paper_000::PAPER, &paper_002::PAPER, &paper_003::PAPER, &paper_004::PAPER];
