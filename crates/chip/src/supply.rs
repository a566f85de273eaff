//! The supply: what fails when the power is cut. Devices on one supply fail together.

use std::cell::Cell;
use std::rc::Rc;

/// A handle on a power supply; clones share it.
///
/// It numbers the operations of all devices on it from zero and fails during the one it is armed
/// to fail in. Until it is switched on again every later operation finds it off.
#[derive(Clone, Debug)]
pub struct Supply(Rc<State>);

#[derive(Debug)]
struct State {
    is_on: Cell<bool>,
    operations: Cell<u64>,
    /// The operation to fail in; [`NEVER`] while not armed.
    cut_at: Cell<u64>,
}

/// No operation reaches this number.
const NEVER: u64 = u64::MAX;

/// What an operation finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    On,
    /// On when the operation begins, off before it ends.
    Failing,
    Off,
}

impl Default for Supply {
    fn default() -> Self {
        let state =
            State { is_on: Cell::new(true), operations: Cell::new(0), cut_at: Cell::new(NEVER) };
        Self(Rc::new(state))
    }
}

impl Supply {
    /// Make a supply that is on and does not fail.
    pub fn new() -> Self {
        Self::default()
    }

    /// Count operations from zero again and fail in number `cut_at`; never where it is `None`.
    pub fn arm(&self, cut_at: Option<u64>) {
        self.0.operations.set(0);
        self.0.cut_at.set(cut_at.unwrap_or(NEVER));
    }

    /// Operations begun since the supply was armed, those that found it off not included.
    pub fn operations(&self) -> u64 {
        self.0.operations.get()
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.0.is_on.get()
    }

    /// Switch off between two operations.
    pub fn power_off(&self) {
        self.0.is_on.set(false);
    }

    /// Switch on again.
    pub fn power_up(&self) {
        self.0.is_on.set(true);
    }

    /// Begin an operation.
    pub(crate) fn draw(&self) -> Power {
        if !self.is_on() {
            return Power::Off;
        }
        let operation = self.0.operations.get();
        self.0.operations.set(operation + 1);
        if operation == self.0.cut_at.get() {
            self.power_off();
            return Power::Failing;
        }
        Power::On
    }
}
