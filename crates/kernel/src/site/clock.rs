//! Real time, on the clock that the kernel's trace uses.

use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds since the machine started, as on the trace clock `mono`.
pub(super) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of this process in nanoseconds, including the kernel's work for it.
pub(super) fn cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Wait in real time.
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
