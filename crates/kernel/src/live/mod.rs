//! Live tracing: record what a real Linux machine does to its flash, with kprobe events of tracefs.
//!
//! It needs no kernel module and no compiler. [`level`] says how near to the flash array a trace
//! records. `hook` chooses functions of the running kernel by their symbols, and `layout` knows
//! where calls have their arguments on this machine. `tracefs` sets probes there, in a trace
//! instance of their own, and `line` parses what they print. [`device`] describes the flash by
//! sysfs. [`tracer`] builds a [`Trace`](flysch_chip::Trace) like that of a simulation. [`signals`]
//! ends a recording early without leaving probes behind.
//!
//! Invariants:
//! 1. Everything that is added to the kernel is removed when its owner is dropped: probes,
//!    instance, buffers.
//! 2. Lost events are counted and reported. No event is invented.
//! 3. If the kernel has functions for array operations, these are counted. Otherwise the pages that
//!    requests touch are counted. [`level::Level`] says which.

pub mod device;
mod error;
mod hook;
mod layout;
pub mod level;
mod line;
mod recording;
pub mod signals;
mod tracefs;
pub mod tracer;

pub use error::LiveError;
