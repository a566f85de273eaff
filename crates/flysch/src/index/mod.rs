//! Indexes: from a key to the records that carry it.
//!
//! Every index is append-only on flash and leaves the last word to the record: a pointer it gives
//! may belong to another key of the same hash, never is one missing.
//!
//! * [`pbfilter`]: Bloom-filter summaries of a key area, partitioned ever finer, as published.
//! * [`runs`]: hash-ordered runs, merged level by level; the engine's default.
//! * [`bitmap`]: for attributes of few values, and for ranges of them.
//! * [`zone`]: least and greatest key of each page, for keys that ascend.
//!
//! [`criteria`]: a query of several criteria is a pipeline of these, and nothing is kept in
//! between.

pub mod bitmap;
pub mod bloom;
pub mod criteria;
mod error;
pub mod hash;
pub mod pbfilter;
pub mod runs;
pub mod zone;

pub use error::{ConfigError, IndexError};
