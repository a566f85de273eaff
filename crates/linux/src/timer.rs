//! The kernel's clock tick, and the timers that fire on it (`CONFIG_HZ=250`).

/// Time between two clock ticks, nanoseconds. The scheduler looks at its tasks at each tick.
pub(crate) const TICK_NS: u64 = 4_000_000;
/// Delay of write-back (`dirty_writeback_interval`, 5 s), ticks.
const WRITEBACK_TICKS: u64 = 1250;
/// A timer of 504 to 4031 ticks fires at the next whole multiple of this (the timer wheel since
/// 4.8). Work that is put off again and again therefore comes every 5.12 s.
const GRAIN_TICKS: u64 = 64;

/// When write-back fires if it is put off at `now_ns`, nanoseconds. That is 5.004 to 5.26 s later.
pub(crate) const fn writeback_ns(now_ns: u64) -> u64 {
    ((now_ns / TICK_NS + WRITEBACK_TICKS) / GRAIN_TICKS + 1) * GRAIN_TICKS * TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_back_comes_with_a_grain_of_the_wheel() {
        assert_eq!(writeback_ns(0), 5_120_000_000);
        assert_eq!(writeback_ns(119_999_999), 5_120_000_000);
        assert_eq!(writeback_ns(120_000_000), 5_376_000_000);
        assert_eq!(writeback_ns(5_120_000_000), 10_240_000_000);
    }
}
