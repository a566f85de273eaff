//! The types of the simulated devices: each is a chip with the tracer and fault injector above it.

use flysch_chip::{FaultInjector, Pram, Shared, Tracer};

/// A NAND chip with a fault injector and a tracer on it.
pub type Device = Shared<Tracer<FaultInjector>>;

/// A PRAM chip with a tracer on it.
pub type Memory = Shared<Tracer<Pram>>;
