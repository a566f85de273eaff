//! Tracing: every operation of a device becomes an event with time, address, bytes, task and cause.
//!
//! The [`Recorder`] is a handle that the whole simulation shares. Each layer opens a [`Scope`]
//! around what it does. The [`Tracer`] around the device makes an [`Event`] of each operation. Its
//! cause is the scope that is then innermost, with all that enclose it. All statistics are computed
//! from the events.

mod blame;
mod cargo;
mod cause;
mod event;
mod recorder;
mod tracer;

pub use blame::{Blame, TableName};
pub use cargo::{Cargo, Origin, Shares};
pub use cause::{CauseId, CauseTree};
pub use event::{Event, EventKind, EventPlace, TaskId, Trace};
pub use recorder::{Recorder, Scope, Shipment, TaskScope, Writing};
pub use tracer::Tracer;
