//! The laboratory: what a database costs on a flash storage stack, and why.
//!
//! A [`machine`] is a stack of engine, file systems and devices, built from a platform's figures.
//! A [`workload`] is what is asked of it, [`tpcc`] the largest of them, and [`bench`](mod@bench)
//! carries that out and measures it. [`trace`] reads, writes and sums up traces, [`report`] is the
//! page that shows it all, and [`image`] makes flash from a folder and a folder from flash.
//! [`index`] measures index structures side by side on the bare chip. [`reference`](mod@reference)
//! is what the real kernel counted, and how near a simulation must come.

#![forbid(unsafe_code)]

pub mod bench;
pub mod choice;
pub mod image;
pub mod index;
pub mod machine;
pub mod reference;
pub mod report;
pub mod tpcc;
pub mod trace;
pub mod workload;

pub use flysch_linux::mtd::EccMode;
pub use flysch_linux::ubifs::Maker;
pub use flysch_linux::yaffs2::Profile;
pub use flysch_sqlite::{JournalMode, Synchronous};
