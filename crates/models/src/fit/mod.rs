//! Cost models from measurements: cost = f(requests, record size), for each stack and workload.
//!
//! From the bottom up: [`observation`] reads measurements from the CSV of `flysch bench`.
//! `least_squares` finds the coefficients of a sum. [`form`] lists the sums to try. [`model`] picks
//! the sum with the smallest error on observations that it was not fitted to, and predicts costs
//! with it.

pub mod form;
mod least_squares;
pub mod model;
pub mod observation;
