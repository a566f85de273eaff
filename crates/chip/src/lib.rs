//! The simulated device: it takes the place of a chip on a board below a storage stack.
//!
//! From the bottom up: [`Clock`] is the only time there is. [`Part`] is a data sheet in the form of
//! data. [`Chip`] is the array of cells with the rules, timing and wear of NAND. [`FaultInjector`]
//! adds faults. [`Tracer`] records every operation with its cause. The last three each implement
//! [`Nand`](flysch_nand::Nand) and are stacked in this order: `Tracer<FaultInjector>`.
//!
//! Invariants:
//! 1. A breach of the contract by the caller panics here, because it is a bug of the code under
//!    test. Pages that came from an image are an exception: see [`Chip::load`].
//! 2. A fault of the chip is returned as an error.
//! 3. The same part, seed and calls give the same bytes, events and times.
//!
//! An example: a chip whose power fails during the second operation:
//!
//! ```
//! use std::sync::Arc;
//!
//! use flysch_chip::{Chip, Clock, EventKind, FaultInjector, FaultPlan, Part, Recorder, Tracer};
//! use flysch_nand::{BlockAddr, Nand, PageAddr, ProgramError};
//!
//! let part = Arc::new(Part::named("nandsim")?);
//! let clock = Clock::new();
//! let recorder = Recorder::new(clock.clone(), "example");
//! let chip = Chip::new(part, clock, 1);
//! let mut device = Tracer::new(FaultInjector::new(chip), recorder.clone());
//! device.device_mut().arm(FaultPlan { cut_at: Some(1), ..FaultPlan::default() });
//!
//! device.erase(BlockAddr(0))?;
//! let outcome = device.program(PageAddr(0), 0, &[0x5A; 2048], &[]);
//! assert_eq!(outcome, Err(ProgramError::PowerLost));
//! device.device_mut().power_up();
//! assert_eq!(recorder.count(EventKind::Erase), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod array;
mod changes;
mod clock;
mod fault;
pub mod fields;
mod hooks;
mod image;
mod nvram;
mod part;
mod prng;
mod shared;
mod supply;
mod trace;

pub use array::{Chip, Wear};
pub use changes::{Change, Changes};
pub use clock::Clock;
pub use fault::{Ending, FaultInjector, FaultPlan};
pub use hooks::{Counts, Hooked, Hooks};
pub use image::ImageError;
pub use nvram::{Nor, NorFigures, Pram, PramFigures, Traffic};
pub use part::{EccStrength, Part, PartError, Timing};
pub use prng::Prng;
pub use shared::Shared;
pub use supply::Supply;
pub use trace::{
    Blame, Cargo, CauseId, CauseTree, Event, EventKind, EventPlace, Origin, Recorder,
    RecordingMark, Scope, Shares, Shipment, TableName, TaskId, TaskScope, Trace, Tracer, Writing,
};
