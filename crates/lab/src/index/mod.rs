//! Index methods, compared on the same simulated chip. Each of them stores and finds real keys.
//!
//! [`method`] defines what all of them can do, [`chip_setup`] the chip below, and [`keys`],
//! [`rows`] and [`records`] what is indexed. `store` is the engine's own index,
//! `pbfilter` and `runs` are those of `flysch_indexes`. `btree` works on a translation layer,
//! `bftl` and `skimpystash` on a `page_log`. [`meter`] computes counts from the trace, and
//! [`bench`](mod@bench) makes a result, the [`costs`], by an `experiment`.
//!
//! Invariants:
//! 1. Every count and every time comes from the trace.
//! 2. A run fails if an inserted key is not found, or if a key is found that was never inserted.

pub mod bench;
mod bftl;
mod btree;
pub mod chip_setup;
mod collide;
pub mod costs;
mod entries;
pub mod error;
mod experiment;
mod hash_runs;
pub mod keys;
mod make;
pub mod meter;
pub mod method;
mod page_log;
mod pbfilter;
pub mod records;
pub mod rows;
mod skimpystash;
mod store;
mod zipf;
