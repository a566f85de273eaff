//! Virtual time, which is the only time in a simulation.

use std::cell::Cell;
use std::rc::Rc;

/// A handle on the virtual clock. Clones share the same clock. It counts nanoseconds from zero.
#[derive(Clone, Debug, Default)]
pub struct Clock(Rc<Cell<u64>>);

impl Clock {
    pub fn new() -> Self {
        Self::default()
    }

    /// The time since the simulation began, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.0.get()
    }

    /// Take the clock back to a time that it showed before.
    pub fn take_back(&self, now_ns: u64) {
        self.0.set(now_ns);
    }

    pub fn advance(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
}
