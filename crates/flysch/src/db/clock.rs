//! The time of commits. The engine has no clock of its own, so the caller tells the time.

use core::fmt;

use flysch_nand::Nand;

use super::Db;

/// A clock of the caller's. It counts microseconds since 1970, or since any other fixed moment.
pub trait Clock: fmt::Debug {
    /// The time now, microseconds since 1970.
    fn now(&self) -> u64;
}

impl<'s, N: Nand> Db<'_, 's, N> {
    /// Set the time, in microseconds since 1970. It is the time of all commits until it is set
    /// again.
    pub const fn set_time(&mut self, time: u64) {
        self.next_time = time;
    }

    /// Ask a clock for the time of each commit from now on.
    pub const fn set_clock(&mut self, clock: &'s dyn Clock) {
        self.clock = Some(clock);
    }

    /// The time of the last commit, in microseconds.
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// Take the time from the caller's clock, if there is one.
    pub(super) fn note_time(&mut self) {
        self.next_time = self.now();
    }

    /// The time now, in microseconds: the clock's, or else what the caller told last.
    pub(super) fn now(&self) -> u64 {
        self.clock.map_or(self.next_time, Clock::now)
    }
}
