//! Models: what an index costs before it is built, and what runs cost that were not made.
//!
//! The closed forms are those of the `PBFilter` paper (Yin and Pucheral, Information Systems 37,
//! 2012). Bottom-up: [`setting`] what is indexed; [`yao`] how many blocks a choice of records hits;
//! [`bloom`] Table 1; [`tree`], [`skimpystash`] and [`pbfilter`] the columns of Tables 4 and 5;
//! [`reading`] what a lookup in a `PBFilter` costs, which the paper prints in several ways that
//! cannot all hold; [`layout`] and [`expected`] what its formulas leave out; [`bitmap`] section
//! 5.1; [`queries`] lookups after updates, and ranges; [`method`] all of it by name; [`figure`]
//! Fig. 12; [`dump`] every value by its label.
//! [`runs`] is the same for the engine's index of runs, and [`size`] chooses among them.
//! [`fit`] finds what runs cost from runs that were measured.
//!
//! The formulas as printed contradict themselves in places. Where one had to be repaired, its
//! documentation says what is printed, what is taken, and why. Every number is in pages unless its
//! name says otherwise, and real: the paper's own roundings are in the formulas, no others.

#![forbid(unsafe_code)]

pub mod bitmap;
pub mod bloom;
pub mod dump;
mod error;
pub mod expected;
pub mod figure;
pub mod fit;
mod gamma;
pub mod layout;
pub mod method;
pub mod pbfilter;
pub mod queries;
pub mod reading;
pub mod runs;
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
    /// R: page reads of a lookup, on average.
    pub r_pages: f64,
    /// IR: page reads of all insertions.
    pub ir_pages: f64,
    /// W: page writes of all insertions.
    pub w_pages: f64,
    /// RAM in KiB.
    pub ram_kb: f64,
    /// VP: pages that hold anything valid.
    pub vp_pages: f64,
    /// OP: pages that hold obsolete data only.
    pub op_pages: f64,
}
