//! The laboratory: what a database costs on a flash storage stack, and why.
//!
//! A [`machine`] is a stack of engine, file systems and devices, built from the data of a platform.
//! A [`workload`] is what programs do on it; [`tpcc`] is the largest workload. [`bench`](mod@bench)
//! runs workloads and measures them. [`trace`] reads, writes and summarises traces. [`report`] is a
//! page that shows the results. [`image`] makes flash images from folders and copies files out of
//! them. [`index`] compares index structures on the bare chip. [`reference`](mod@reference) holds
//! the counts of the real kernel and how near a simulation must come to them.
//!
//! [`program`] runs programs of the user's. [`recording`] is what they asked of SQLite, as a file
//! that runs without them. [`budget`] holds limits of what a program may cost. [`crash`] cuts the
//! power during a program. [`advice`] finds the configuration under which the flash lives longest.
//! [`calibrate`] finds what the work of a kernel and of SQLite takes.

#![forbid(unsafe_code)]

pub mod advice;
pub mod bench;
pub mod budget;
pub mod calibrate;
pub mod contents;
pub mod crash;
pub mod image;
pub mod index;
pub mod machine;
pub mod parameter;
pub mod program;
pub mod recording;
pub mod reference;
pub mod report;
pub mod tpcc;
pub mod trace;
pub mod workload;

pub use flysch_linux::mtd::EccMode;
pub use flysch_linux::ubifs::Maker;
pub use flysch_linux::yaffs2::Profile;
pub use flysch_sqlite::{JournalMode, Synchronous};
