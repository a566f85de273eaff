//! TPC-C (standard specification, revision 5.11; the mix that DBT-2 implements) on SQLite.
//!
//! ```text
//! scale random          how many rows; the specification's random numbers and strings
//! schema load/          nine tables and their rows
//! files                 the files they are in
//! deck request          which transaction comes next, and with what input
//! query transactions/   prepared statements; the five transactions
//! terminals             when each terminal asks: keying and think times on the virtual clock
//! condition consistency the specification's four conditions, checked after every run
//! ```
//!
//! Money is in cents, rates in hundredths of a percent, times in milliseconds since 1970: integers,
//! so that the conditions hold exactly or not at all.

mod condition;
mod consistency;
mod deck;
mod error;
mod files;
mod load;
mod query;
mod random;
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
