//! TPC-C on SQLite and on this project's engine (standard specification, revision 5.11, with the
//! mix of transactions of DBT-2).
//!
//! ```text
//! scale random          how many rows; the specification's random numbers and strings
//! relation schema load/ nine tables and their rows
//! files loaded          the files that hold them, and those that were loaded before
//! deck request          which transaction comes next, and its input
//! query transactions/   prepared statements; the five transactions
//! engine/               the same on the engine
//! terminals             when each terminal asks: keying and think times on the virtual clock
//! condition consistency the specification's four conditions, checked after every run
//! ```
//!
//! Money is in cents, rates in hundredths of a percent, and times in milliseconds since 1970. All
//! are integers, so that the conditions hold exactly or not at all.

mod condition;
mod consistency;
mod deck;
pub mod engine;
mod error;
mod files;
mod load;
mod loaded;
mod query;
mod random;
mod relation;
mod request;
mod scale;
mod schema;
mod terminals;
mod transactions;

pub use condition::{Condition, Violation};
pub use consistency::{check, violations};
pub use deck::{Deck, Kind};
pub use error::TpccError;
pub use files::{Files, Image};
pub use query::Compiler;
pub use random::Random;
pub use request::{Customer, Line, Request, Requests, Who};
pub use scale::{DISTRICTS, Scale};
pub use terminals::{Pace, Terminals, Waiting};
pub use transactions::{Outcome, Transactions};
