//! Models: the costs of an index before it is built, and of runs that were not made.
//!
//! The closed forms are those of the `PBFilter` paper (Yin and Pucheral, Information Systems 37,
//! 2012). From the bottom up:
//!
//! - [`setting`] describes what is indexed.
//! - [`yao`] computes how many blocks a random choice of records hits.
//! - [`bloom`] is Table 1.
//! - [`tree`], [`skimpystash`] and [`pbfilter`] are the columns of Tables 4 and 5.
//! - [`reading`] is the cost of a lookup in a `PBFilter`. The paper prints it in several ways that
//!   contradict each other.
//! - [`layout`] and [`expected`] compute what the paper's formulas leave out.
//! - [`bitmap`] is section 5.1.
//! - [`queries`] are lookups after updates, and range queries.
//! - [`method`] gives all of it by name, [`figure`] draws Fig. 12, and [`dump`] lists every value.
//! - [`hash_runs`] models the engine's index of runs, and [`size`] chooses an index for a device.
//! - [`fit`] predicts the cost of runs from runs that were measured.
//!
//! Some of the printed formulas contradict each other. If one had to be corrected, its
//! documentation says what is printed, what is used, and why. Numbers are in pages unless their
//! name says otherwise. They are rounded only where the paper's formulas round.

#![forbid(unsafe_code)]

pub mod bitmap;
pub mod bloom;
pub mod dump;
mod error;
pub mod expected;
pub mod figure;
pub mod fit;
mod gamma;
pub mod hash_runs;
pub mod layout;
pub mod method;
pub mod pbfilter;
pub mod queries;
pub mod reading;
pub mod setting;
pub mod size;
pub mod skimpystash;
pub mod tree;
pub mod yao;

use serde::Serialize;

pub use error::ModelError;

/// Table 5: what indexing all records costs, in the metrics of section 2.3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// R: mean page reads of a lookup.
    pub r_pages: f64,
    /// IR: page reads of all insertions.
    pub ir_pages: f64,
    /// W: page writes of all insertions.
    pub w_pages: f64,
    /// RAM that the index takes, in KiB.
    pub ram_kb: f64,
    /// VP: pages that hold at least some valid data.
    pub vp_pages: f64,
    /// OP: pages that hold only obsolete data.
    pub op_pages: f64,
}
