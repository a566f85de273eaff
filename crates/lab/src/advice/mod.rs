//! Advice: which configuration lets the flash live longest under a workload.
//!
//! ```text
//! configuration  what may be chosen
//! measure        what a configuration costs: one run
//! search         few runs that find the best of many configurations
//! ```

mod configuration;
mod measure;
mod search;

pub use configuration::{Configuration, Space};
pub use flysch_sqlite::Safety;
pub use measure::{Demand, Measurement, Subject};
pub use search::{Advice, Change, advise};
