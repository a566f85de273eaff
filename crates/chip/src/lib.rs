//! The simulated device: what stands below a storage stack when no board is at hand.
//!
//! Bottom-up: [`Clock`] is the only time there is; [`Part`] a data sheet as data; [`Chip`] the
//! array of cells with NAND's rules, timing and wear; [`FaultInjector`] what the world does to it;
//! [`Tracer`] records every operation with its cause. The last three are each a
//! [`Nand`](flysch_nand::Nand), stacked in this order: `Tracer<FaultInjector>`.
//!
//! Invariants:
//! 1. A breach of the contract by the caller panics here: it is a bug of the code under test.
//! 2. What the world does is a `Result`.
//! 3. Same part, same seed, same calls: same bytes, same events, same times.

#![forbid(unsafe_code)]

mod array;
mod clock;
mod fault;
mod image;
pub mod nearest;
mod nvram;
mod part;
mod prng;
mod shared;
mod supply;
mod trace;

pub use array::{Chip, Wear};
pub use clock::Clock;
pub use fault::{Ending, FaultInjector, FaultPlan};
pub use image::ImageError;
pub use nvram::{Nor, NorFigures, Pram, PramFigures};
pub use part::{EccStrength, Part, PartError, Timing};
pub use prng::Prng;
pub use shared::Shared;
pub use supply::Supply;
pub use trace::{
    CauseId, CauseTree, Event, EventKind, Recorder, Scope, TaskId, TaskScope, Trace, Tracer,
};
