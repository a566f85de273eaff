//! The simulated chip that all engines use, and what it counts.

use std::sync::Arc;

use flysch_chip::{Chip, Clock, Counts, FaultInjector, Hooked, Part, Shared};

/// Blocks of the chip that an engine may use: 8 MB of a W25N01GV.
pub const BLOCKS: u32 = 64;

/// A chip that can be cut, and counts its operations. Clones share it.
pub type Device = Shared<Hooked<FaultInjector, Counts>>;

/// A new chip, and its clock.
///
/// # Panics
/// Never: the part comes with the program.
pub fn new_device(seed: u64) -> (Device, Clock) {
    let part = Part::builtin("w25n01gv").expect("the part comes with the program");
    let clock = Clock::new();
    let chip = Chip::new(Arc::new(part), clock.clone(), seed);
    let hooks = Counts::default();
    (Shared::new(Hooked { device: FaultInjector::new(chip), hooks }), clock)
}

/// Operations, and the time that the chip took for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub reads: u64,
    pub programs: u64,
    pub erases: u64,
    pub nanoseconds: u64,
}

/// What a chip did so far.
pub fn spent(device: &Device, clock: &Clock) -> Cost {
    let Counts([reads, programs, erases]) = device.borrow().hooks;
    Cost { reads, programs, erases, nanoseconds: clock.now_ns() }
}

impl Cost {
    /// What was done since an earlier moment.
    #[must_use]
    pub const fn since(self, then: Self) -> Self {
        Self {
            reads: self.reads - then.reads,
            programs: self.programs - then.programs,
            erases: self.erases - then.erases,
            nanoseconds: self.nanoseconds - then.nanoseconds,
        }
    }
}
