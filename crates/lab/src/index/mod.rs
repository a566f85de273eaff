//! Index methods side by side on one simulated chip, each storing and finding real keys.
//!
//! [`method`] what all of them can do, by name; [`bed`] the chip below; [`keys`] and [`records`]
//! what is indexed; `pbfilter` and `runs` the engine's own; `btree` on a translation layer; `bftl` and
//! `skimpystash` on a `page_log`; [`meter`] from the trace to counts; [`bench`](mod@bench) makes a
//! [`run`].
//!
//! Invariants:
//! 1. Every count and every time comes from the trace.
//! 2. A key that is missed, or one that is found though nobody inserted it, ends the run.

pub mod bed;
pub mod bench;
mod bftl;
mod btree;
mod entries;
pub mod error;
pub mod keys;
mod make;
pub mod meter;
pub mod method;
mod page_log;
mod pbfilter;
pub mod records;
pub mod run;
mod runs;
mod skimpystash;
