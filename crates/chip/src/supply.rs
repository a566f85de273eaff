//! The power supply. If it is cut, all devices on it fail together.

use std::cell::Cell;
use std::rc::Rc;

/// A handle on a power supply. Clones share the same supply.
///
/// The supply numbers the operations of all its devices from zero. It fails during the operation
/// for which it is armed. From then on it is off until it is switched on again. Operations that
/// change the content of a device are also numbered separately.
#[derive(Clone, Debug)]
pub struct Supply(Rc<State>);

#[derive(Debug)]
struct State {
    is_on: Cell<bool>,
    operations: Cell<u64>,
    /// Number of the operation during which the supply fails, or [`NEVER`].
    cut_at: Cell<u64>,
    changes: Cell<u64>,
    /// Number of the change during which the supply fails, or [`NEVER`].
    cut_at_change: Cell<u64>,
}

/// A number that no operation reaches.
const NEVER: u64 = u64::MAX;

/// The state of the supply during an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    On,
    /// The power is on when the operation begins, and off before it ends.
    Failing,
    Off,
}

impl Default for Supply {
    fn default() -> Self {
        Self(Rc::new(State {
            is_on: Cell::new(true),
            operations: Cell::new(0),
            cut_at: Cell::new(NEVER),
            changes: Cell::new(0),
            cut_at_change: Cell::new(NEVER),
        }))
    }
}

impl Supply {
    /// A supply that is on and is not armed to fail.
    pub fn new() -> Self {
        Self::default()
    }

    /// A supply of its own in the state of this one.
    #[must_use]
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        copy.take_back(self);
        copy
    }

    /// Take the supply back to the state of a copy of it.
    pub fn take_back(&self, copy: &Self) {
        let (state, kept) = (&self.0, &copy.0);
        state.is_on.set(kept.is_on.get());
        state.operations.set(kept.operations.get());
        state.cut_at.set(kept.cut_at.get());
        state.changes.set(kept.changes.get());
        state.cut_at_change.set(kept.cut_at_change.get());
    }

    /// Count operations from zero, and fail during number `cut_at`. With `None` it does not fail.
    pub fn arm(&self, cut_at: Option<u64>) {
        self.0.operations.set(0);
        self.0.cut_at.set(cut_at.unwrap_or(NEVER));
    }

    /// Count changes from zero, and fail during number `cut_at`. With `None` it does not fail.
    pub fn arm_change(&self, cut_at: Option<u64>) {
        self.0.changes.set(0);
        self.0.cut_at_change.set(cut_at.unwrap_or(NEVER));
    }

    /// Number of operations since the supply was armed. Operations that found it off do not count.
    pub fn operations(&self) -> u64 {
        self.0.operations.get()
    }

    pub fn is_on(&self) -> bool {
        self.0.is_on.get()
    }

    /// Switch power off between two operations.
    pub fn power_off(&self) {
        self.0.is_on.set(false);
    }

    pub fn power_up(&self) {
        self.0.is_on.set(true);
    }

    /// Begin an operation, and return the state of the supply during it.
    pub(crate) fn draw(&self) -> Power {
        if self.is_on() { self.count(&self.0.operations, &self.0.cut_at) } else { Power::Off }
    }

    /// Begin an operation that changes the content of a device.
    pub(crate) fn draw_change(&self) -> Power {
        match self.draw() {
            Power::On => self.count(&self.0.changes, &self.0.cut_at_change),
            power => power,
        }
    }

    /// Count an operation or change, and fail if it is the one at which the power is to be cut.
    fn count(&self, counter: &Cell<u64>, cut_at: &Cell<u64>) -> Power {
        let number = counter.replace(counter.get() + 1);
        if number == cut_at.get() {
            self.power_off();
            return Power::Failing;
        }
        Power::On
    }
}
