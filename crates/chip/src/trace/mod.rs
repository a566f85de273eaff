//! Tracing: every operation of a device becomes an event with time, address, bytes, task and cause.
//!
//! The [`Recorder`] is a handle that the whole simulation shares. Each layer opens a [`Scope`]
//! around its work. The [`Tracer`] around the device makes an [`Event`] of each operation. The
//! cause of the event is the innermost open scope, with all scopes around it. All statistics are
//! computed from the events.

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
pub use recorder::{Recorder, RecordingMark, Scope, Shipment, TaskScope, Writing};
pub use tracer::Tracer;
