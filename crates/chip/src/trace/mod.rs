//! Tracing: every operation of the device as an event with time, address, bytes, task and cause.
//!
//! The [`Recorder`] is a handle that the whole simulation shares. Layers open a [`Scope`] around
//! what they do; the [`Tracer`] around the device turns each operation into an [`Event`] that
//! carries the scopes then open: its cause. Statistics come from the events alone.

mod cause;
mod event;
mod recorder;
mod tracer;

pub use cause::{CauseId, CauseTree};
pub use event::{Event, EventKind, EventPlace, TaskId, Trace};
pub use recorder::{Recorder, Scope, TaskScope};
pub use tracer::Tracer;
