//! Runs on the Linux machine that this program runs on: real file systems, real flash, SQLite's own VFS.
//!
//! [`target`] names what to run on; `flash` formats and mounts it and puts everything back; `files`
//! are calls on real files, `timers` the kernel's own; `cell` is the [`Site`](flysch_lab::bench::site::Site) that a scenario is
//! carried out at, with a live tracer in place of the simulated chip's; [`bench`](mod@bench) runs one scenario.

pub mod bench;
mod cell;
mod clock;
mod error;
mod files;
mod flash;
pub mod target;
mod timers;

pub use error::KernelError;
pub use target::Target;
