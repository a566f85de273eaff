//! Real time, as the kernel's trace has it.

use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time since the machine started, nanoseconds: the clock `mono` of traces.
pub(super) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time that this process took so far, the kernel's work for it included, nanoseconds.
pub(super) fn cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Wait: real caches and real background tasks know no virtual clock.
pub(super) fn sleep(ns: u64) {
    let mut left = Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).expect("a wait is short"),
        tv_nsec: i64::try_from(ns % 1_000_000_000).expect("below a second"),
    };
    while let NanosleepRelativeResult::Interrupted(rest) = nanosleep(&left) {
        left = rest;
    }
}

fn nanoseconds(time: Timespec) -> u64 {
    let part = |number: i64| u64::try_from(number).expect("time since a start is not negative");
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}
