//! CPU time of the stack, which advances the virtual clock.
//!
//! The stack counts its work in units that it can count exactly: bytes and calls. Each unit stands
//! for a number of instructions, and the speed of the platform turns instructions into time.

use std::cell::Cell;
use std::rc::Rc;

use flysch_chip::Clock;

/// A piece of kernel work that takes CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One system call: entry, exit, argument checks and the lookup of the descriptor.
    Syscall,
    /// One page-cache page looked up, locked and marked.
    PageLookup,
    /// One request handed to the MTD layer.
    MtdRequest,
    /// One request handed to the block layer and to the host of an MMC card, with its interrupt.
    BlockRequest,
    /// Bytes copied between user, cache and buffers.
    Copy(usize),
    /// Bytes run through CRC-32.
    Checksum(usize),
    /// Bytes passed to a compressor.
    Compress(Codec, usize),
    /// Bytes that a decompressor returned.
    Decompress(Codec, usize),
    /// One on-flash node or tag that is parsed, linked or walked past.
    Node,
}

/// A compressor. Each has a cost of its own per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Deflate, as zlib does it.
    Zlib,
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
    /// Time to copy a byte, picoseconds. Memory decides it more than instructions do.
    pub copy_ps_per_byte: u64,
}

impl Work {
    /// Number of instructions. These numbers fix the ratios between kinds of work on every
    /// platform, and the platform's speed fixes their scale. They are orders of magnitude of the
    /// kernel's loops. The checksum is the table-driven CRC-32, one byte a step. Deflate is fitted
    /// to the VM of the reference: it takes 21 ms, at 31 million instructions a second, to try and
    /// fail on 4 KiB of random data. LZO is what it needs where the data shrinks. A block request
    /// is what Caulfield et al. (Moneta, MICRO 2010) count for issuing and completing 4 KiB through
    /// Linux's block layer, quoted from memory.
    const fn instructions(self) -> u64 {
        match self {
            Self::Syscall => 800,
            Self::PageLookup => 600,
            Self::MtdRequest => 1_500,
            Self::BlockRequest => 18_000,
            Self::Node => 400,
            Self::Copy(_) => 0,
            Self::Checksum(bytes) => 4 * bytes as u64,
            Self::Compress(Codec::Zlib, bytes) => 110 * bytes as u64,
            Self::Compress(Codec::Zstd, bytes) => 40 * bytes as u64,
            Self::Compress(Codec::Lzo, bytes) => 12 * bytes as u64,
            Self::Compress(Codec::Rtime, bytes) => 10 * bytes as u64,
            Self::Decompress(Codec::Zlib, bytes) => 9 * bytes as u64,
            Self::Decompress(Codec::Zstd, bytes) => 5 * bytes as u64,
            Self::Decompress(Codec::Lzo | Codec::Rtime, bytes) => 3 * bytes as u64,
        }
    }

    const fn copied(self) -> u64 {
        match self {
            Self::Copy(bytes) => bytes as u64,
            _ => 0,
        }
    }
}

/// A handle on the CPU of one simulation. Clones share the same CPU.
#[derive(Clone, Debug)]
pub struct Cpu {
    clock: Clock,
    speed: Speed,
    busy_ps: Rc<Cell<u64>>,
    idle: Rc<Cell<bool>>,
    free: Rc<Cell<bool>>,
}

impl Cpu {
    pub fn new(clock: Clock, speed: Speed) -> Self {
        Self { clock, speed, busy_ps: Rc::default(), idle: Rc::default(), free: Rc::default() }
    }

    pub fn charge(&self, work: Work) {
        let instructions = work.instructions() * self.speed.ps_per_instruction;
        self.charge_ps(instructions + work.copied() * self.speed.copy_ps_per_byte);
    }

    /// Charge time that another layer computed, such as the time of the database engine.
    pub fn charge_ps(&self, ps: u64) {
        if self.free.get() {
            return;
        }
        // Fractions of a nanosecond are carried over, so that small pieces of work are not rounded
        // away.
        let before = self.busy_ps.get();
        let after = before + ps;
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

    /// The clock that charged work advances.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }
}
