//! Virtual time: the only clock of a simulation.

use std::cell::Cell;
use std::rc::Rc;

/// A handle on the virtual clock; clones share it. Nanoseconds since the simulation began.
#[derive(Clone, Debug, Default)]
pub struct Clock(Rc<Cell<u64>>);

impl Clock {
    /// Start a clock at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tell the time in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.0.get()
    }

    /// Let `ns` nanoseconds pass.
    pub fn advance(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
}
