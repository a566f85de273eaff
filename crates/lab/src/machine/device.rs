//! The devices as the laboratory holds them.

use flysch_chip::{FaultInjector, Pram, Shared, Tracer};

/// A NAND: chip, fault injector, tracer.
pub type Device = Shared<Tracer<FaultInjector>>;

/// A PRAM: chip and tracer.
pub type Memory = Shared<Tracer<Pram>>;
