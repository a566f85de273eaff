//! Live tracing: what a real Linux machine does to its flash, through tracefs kprobe events.
//!
//! No kernel module, no compiler: [`level`] says how near to the array a trace sees, `hook` chooses
//! functions of the running kernel by its symbols, `layout` tells where a call keeps its arguments
//! on this machine, `tracefs` puts probes there in a trace instance of their own, `line` reads what
//! they print, [`device`] is the flash that sysfs describes, and [`tracer`] makes a
//! [`Trace`](flysch_chip::Trace) of it, the same that a simulation gives. [`signals`] ends a
//! recording early without leaving probes behind.
//!
//! Invariants:
//! 1. What is put into the kernel is taken out when its owner is dropped: probes, instance, buffers.
//! 2. Lost events are counted and told; none is made up.
//! 3. A count is of array operations where the kernel has functions for them, and of pages touched by
//!    requests where it has not: [`level::Level`] says which.

pub mod device;
mod error;
mod hook;
mod layout;
pub mod level;
mod line;
pub mod signals;
mod tape;
mod tracefs;
pub mod tracer;

pub use error::LiveError;
