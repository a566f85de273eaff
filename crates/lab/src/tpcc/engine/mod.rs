//! TPC-C on the engine, through its typed calls: the same rows, requests and conditions as in
//! SQLite.
//!
//! ```text
//! schema                the nine tables
//! rows                  rows as owned values; reading and writing them
//! loading               the rows of the loader, some hundreds to a transaction
//! transactions          the five transactions
//! conditions            the four conditions, by scans
//! ```

mod conditions;
mod loading;
mod rows;
mod schema;
mod transactions;

pub use conditions::check;
pub use loading::load;
pub use schema::SCHEMA;
pub use transactions::Transactions;
