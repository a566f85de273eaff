//! The engine: a relational database that lives directly on raw NAND, in a few kilobytes of RAM.
//!
//! Bottom-up: [`media`] is the only module that calls the chip. [`row`] turns values to bytes and
//! back. [`store`] finds rows by their keys. [`db`] is what a program calls.
//!
//! Nothing here allocates: RAM is given by the caller and counted to the byte.
#![no_std]
#![forbid(unsafe_code)]
#![warn(
    clippy::alloc_instead_of_core,
    clippy::float_arithmetic,
    clippy::large_stack_frames,
    clippy::std_instead_of_core,
    missing_docs
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "positions within a page, a block or a chip: geometries are checked when mounted"
)]

/// The guide, so that its example is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/engine.md")]
pub struct Guide;

pub mod bytes;
pub mod cache;
pub mod db;
mod log;
pub mod media;
pub mod query;
mod record;
pub mod row;
pub mod store;
