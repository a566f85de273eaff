//! Runs on the Linux machine that this program runs on: real file systems, real flash, and SQLite's
//! own VFS.
//!
//! [`target`] names the file system to run on. `flash` formats and mounts it, and undoes that
//! afterwards. `files` makes calls on real files, and `timers` controls the kernel's timers.
//! `options` says which parameters a target refuses. `cell` is the
//! [`Site`](flysch_lab::bench::site::Site) at which a scenario runs; a live tracer replaces that of
//! the simulated chip. [`bench`](mod@bench) runs one scenario.

pub mod bench;
mod cell;
mod clock;
mod error;
mod files;
mod flash;
mod options;
pub mod target;
mod timers;

pub use error::KernelError;
pub use target::Target;
