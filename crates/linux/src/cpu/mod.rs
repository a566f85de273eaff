//! CPU time of the stack, which advances the virtual clock.
//!
//! The stack counts its work in [`Unit`]s that it can count exactly: bytes and calls. [`Prices`]
//! turn units into instructions, and the speed of the platform turns instructions into time.

use std::cell::Cell;
use std::rc::Rc;

use flysch_chip::Clock;

mod prices;

pub use prices::{Counts, Prices, Unit};

/// A compressor. Each has a cost of its own per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Deflate, as JFFS2 has zlib do it.
    Zlib,
    /// Deflate at the higher level of the kernel's crypto layer, which UBIFS uses.
    CryptoDeflate,
    /// LZO1X-1, which JFFS2 and UBIFS can use.
    Lzo,
    /// Rtime, a simple compressor of JFFS2.
    Rtime,
    /// Zstandard at level 3.
    Zstd,
}

/// The speed of a platform's CPU. With the default all work takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Time per kernel instruction, picoseconds.
    pub ps_per_instruction: u64,
    /// Time per instruction of the program, picoseconds.
    pub program_ps_per_instruction: u64,
    /// Time to copy a byte, picoseconds. Memory decides it more than instructions do.
    pub copy_ps_per_byte: u64,
    /// Instructions of each unit of work.
    pub prices: Prices,
}

impl Codec {
    /// The units of compressing: a call, a byte taken, a byte given.
    const fn packing(self) -> [Option<Unit>; 3] {
        match self {
            Self::Zlib => [Some(Unit::Deflate), Some(Unit::DeflateIn), Some(Unit::DeflateOut)],
            Self::CryptoDeflate => [
                Some(Unit::CryptoDeflate),
                Some(Unit::CryptoDeflateIn),
                Some(Unit::CryptoDeflateOut),
            ],
            Self::Lzo => [Some(Unit::Lzo), Some(Unit::LzoIn), Some(Unit::LzoOut)],
            Self::Rtime => [None, Some(Unit::RtimeIn), None],
            Self::Zstd => [Some(Unit::Zstd), Some(Unit::ZstdIn), None],
        }
    }

    /// The units of decompressing: a call, a byte taken, a byte given.
    const fn unpacking(self) -> [Option<Unit>; 3] {
        match self {
            Self::Zlib | Self::CryptoDeflate => {
                [Some(Unit::Inflate), Some(Unit::InflateIn), Some(Unit::InflateOut)]
            }
            Self::Lzo | Self::Rtime => [None, None, Some(Unit::UnlzoOut)],
            Self::Zstd => [Some(Unit::Unzstd), None, Some(Unit::UnzstdOut)],
        }
    }
}

/// The longest CPU time, picoseconds: whole nanoseconds. It stands for what is longer, because a
/// platform may have absurd figures.
const BUSY_PS_MAX: u64 = u64::MAX / 1000 * 1000;

/// A handle on the CPU of one simulation. Clones share the same CPU.
#[derive(Clone, Debug)]
pub struct Cpu {
    clock: Clock,
    speed: Speed,
    busy_ps: Rc<Cell<u64>>,
    counts: Rc<[Cell<u64>; Unit::COUNT]>,
    copied: Rc<Cell<u64>>,
    idle: Rc<Cell<bool>>,
    free: Rc<Cell<bool>>,
}

/// What a CPU has done until a moment.
#[derive(Clone, Copy, Debug)]
pub struct CpuMark {
    busy_ps: u64,
    counts: [u64; Unit::COUNT],
    copied: u64,
    idle: bool,
    free: bool,
}

impl Cpu {
    /// What the CPU has done until now.
    pub fn mark(&self) -> CpuMark {
        CpuMark {
            busy_ps: self.busy_ps.get(),
            counts: std::array::from_fn(|unit| self.counts[unit].get()),
            copied: self.copied.get(),
            idle: self.idle.get(),
            free: self.free.get(),
        }
    }

    /// Take the CPU back to a mark of it. The clock stays.
    pub fn take_back(&self, mark: &CpuMark) {
        self.busy_ps.set(mark.busy_ps);
        for (count, &kept) in self.counts.iter().zip(&mark.counts) {
            count.set(kept);
        }
        self.copied.set(mark.copied);
        self.idle.set(mark.idle);
        self.free.set(mark.free);
    }

    #[expect(clippy::large_types_passed_by_value, reason = "it is kept")]
    pub fn new(clock: Clock, speed: Speed) -> Self {
        Self {
            clock,
            speed,
            busy_ps: Rc::default(),
            counts: Rc::new([const { Cell::new(0) }; Unit::COUNT]),
            copied: Rc::default(),
            idle: Rc::default(),
            free: Rc::default(),
        }
    }

    /// Charge `number` units of work.
    pub fn charge(&self, unit: Unit, number: u64) {
        if self.free.get() {
            return;
        }
        let count = &self.counts[unit as usize];
        count.set(count.get() + number);
        let Speed { ps_per_instruction, program_ps_per_instruction, prices, .. } = &self.speed;
        let is_of_program = unit.is_of_program();
        let ps = if is_of_program { program_ps_per_instruction } else { ps_per_instruction };
        self.charge_ps(number.saturating_mul(prices.of(unit)).saturating_mul(*ps) / 1000);
    }

    /// Charge for copying bytes between user, cache and buffers.
    pub fn copy(&self, bytes: usize) {
        if self.free.get() {
            return;
        }
        self.copied.set(self.copied.get() + bytes as u64);
        self.charge_ps(bytes as u64 * self.speed.copy_ps_per_byte);
    }

    /// Charge for compressing bytes to `stored` bytes.
    pub fn compress(&self, codec: Codec, bytes: usize, stored: usize) {
        self.charge_each(codec.packing(), [1, bytes as u64, stored as u64]);
    }

    /// Charge for compressing bytes that get no shorter: about as many are given as were taken.
    pub fn compress_in_vain(&self, codec: Codec, bytes: usize) {
        let mut units = codec.packing();
        if codec == Codec::Zlib {
            units[2] = Some(Unit::DeflateVain);
        }
        self.charge_each(units, [1, bytes as u64, bytes as u64]);
    }

    /// Charge for decompressing `stored` bytes to `bytes`.
    pub fn decompress(&self, codec: Codec, stored: usize, bytes: usize) {
        self.charge_each(codec.unpacking(), [1, stored as u64, bytes as u64]);
    }

    fn charge_each(&self, units: [Option<Unit>; 3], numbers: [u64; 3]) {
        for (unit, number) in units.into_iter().zip(numbers) {
            if let Some(unit) = unit {
                self.charge(unit, number);
            }
        }
    }

    /// How many units of each kind were charged, and how many bytes were copied.
    pub fn counts(&self) -> (Counts, u64) {
        (std::array::from_fn(|unit| self.counts[unit].get()), self.copied.get())
    }

    /// Charge time that another layer computed, such as the time of the database engine.
    pub fn charge_ps(&self, ps: u64) {
        if self.free.get() {
            return;
        }
        // Fractions of a nanosecond are carried over, so that small pieces of work are not rounded
        // away.
        let before = self.busy_ps.get();
        let after = before.saturating_add(ps).min(BUSY_PS_MAX);
        self.busy_ps.set(after);
        self.clock.advance(after / 1000 - before / 1000);
    }

    /// Round the CPU time up to a whole nanosecond. A measurement that follows then begins without
    /// a fraction, and its result does not depend on what ran before.
    pub fn end_nanosecond(&self) {
        self.charge_ps(self.busy_ps.get().next_multiple_of(1000) - self.busy_ps.get());
    }

    /// CPU time charged up to this moment, nanoseconds.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ps.get() / 1000
    }

    /// Switch charging off or on. A run switches it off while it prepares what it measures
    /// afterwards.
    pub fn set_free(&self, free: bool) {
        self.free.set(free);
    }

    /// Note whether the foreground sleeps. Background tasks then have the CPU to themselves.
    pub fn set_idle(&self, idle: bool) {
        self.idle.set(idle);
    }

    pub fn is_idle(&self) -> bool {
        self.idle.get()
    }

    /// CPU time charged since a mark, picoseconds.
    pub fn busy_ps_since(&self, mark: &CpuMark) -> u64 {
        self.busy_ps.get() - mark.busy_ps
    }

    /// The clock that charged work advances.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_figures_take_the_longest_time() {
        let figure = 1_000_000_000;
        let speed = Speed { ps_per_instruction: figure, ..Speed::default() };
        let cpu = Cpu::new(Clock::new(), speed);
        cpu.charge(Unit::ChecksumByte, figure);
        let busy_ns = cpu.busy_ns();
        assert!(busy_ns > figure, "{busy_ns}");
        cpu.charge_ps(u64::MAX);
        cpu.charge(Unit::ChecksumByte, figure);
        cpu.end_nanosecond();
        assert_eq!(cpu.busy_ns(), u64::MAX / 1000);
    }
}
