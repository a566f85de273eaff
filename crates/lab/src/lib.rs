//! The laboratory: what a database costs on a flash storage stack, and why.
//!
//! [`platform`] a board and its kernel as data; [`stack`] engine, file system and device put
//! together by name, of what [`beside`] adds to it; [`dual`] one database on two file systems;
//! [`storage`] the seam between SQLite and the stack; [`workload`] what is asked;
//! [`scenario`] one run of it, [`session`] under way; [`measure`] from the trace to a [`run`]'s figures, [`energy`] among
//! them; [`trace`] files
//! and analyses of traces; [`model`] what an index costs before it is built, in closed form;
//! [`report`] the page that shows it all; [`repro`] the papers' experiments; [`index`] index
//! structures side by side on the bare chip; [`fit`] what runs cost that were not made.

#![forbid(unsafe_code)]

pub mod age;
pub mod beside;
pub mod choice;
pub mod dual;
pub mod energy;
pub mod fit;
pub mod grid;
pub mod image;
pub mod index;
pub mod kernel;
pub mod layers;
pub mod live;
pub mod machine;
pub mod measure;
pub mod model;
pub mod platform;
pub mod report;
pub mod repro;
pub mod run;
pub mod scenario;
pub mod session;
pub mod site;
pub mod stack;
mod statistics;
pub mod storage;
pub mod throughput;
pub mod tpcc;
pub mod trace;
pub mod validate;
pub mod values;
pub mod vm;
pub mod workload;

pub use flysch_linux::mtd::EccMode;
pub use flysch_linux::ubifs::Maker;
pub use flysch_linux::yaffs2::Profile;
pub use flysch_sqlite::{JournalMode, Synchronous};
