//! Cost models from measurements: cost = f(requests, record size), for each stack and workload.
//!
//! Bottom-up: [`observation`] what was measured, from the CSV of `flysch bench`; `least_squares`
//! coefficients of a sum; [`form`] the sums that are tried; [`model`] the one that errs least on
//! what it was not fitted to, and what it predicts.

pub mod form;
mod least_squares;
pub mod model;
pub mod observation;
