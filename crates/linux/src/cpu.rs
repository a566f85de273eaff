//! CPU time of the stack, charged to the virtual clock from counted work.
//!
//! Work is counted in units that the code below can count exactly (bytes, calls), weighted by
//! instructions; a platform gives the one figure that turns instructions into time.

use std::cell::Cell;
use std::rc::Rc;

use flysch_chip::Clock;

/// Something the kernel does, to be charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One system call: entry, exit, argument checks, file look-up.
    Syscall,
    /// One page-cache page looked up, locked and marked.
    PageLookup,
    /// One request handed to the MTD layer.
    MtdRequest,
    /// Bytes copied between user, cache and buffers.
    Copy(usize),
    /// Bytes run through CRC-32.
    Checksum(usize),
    /// Bytes offered to a compressor.
    Compress(Codec, usize),
    /// Bytes given back by a decompressor.
    Decompress(Codec, usize),
    /// One on-flash node or tag parsed, linked or walked.
    Node,
}

/// A compressor, by what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Deflate.
    Zlib,
    /// LZO1X-1.
    Lzo,
    /// JFFS2's rtime.
    Rtime,
}

impl Work {
    /// Instructions, in hundredths: orders of magnitude counted with an instruction profiler on
    /// the equivalent loops of this program, the same for every platform. They fix the ratios
    /// between kinds of work; a platform's one constant fixes their scale.
    const fn centi_instructions(self) -> u64 {
        match self {
            Self::Syscall => 80_000,
            Self::PageLookup => 60_000,
            Self::MtdRequest => 150_000,
            Self::Copy(bytes) => 50 * bytes as u64,
            Self::Checksum(bytes) => 400 * bytes as u64,
            Self::Compress(Codec::Zlib, bytes) => 7_000 * bytes as u64,
            Self::Compress(Codec::Lzo, bytes) => 1_200 * bytes as u64,
            Self::Compress(Codec::Rtime, bytes) => 1_000 * bytes as u64,
            Self::Decompress(Codec::Zlib, bytes) => 900 * bytes as u64,
            Self::Decompress(Codec::Lzo | Codec::Rtime, bytes) => 250 * bytes as u64,
            Self::Node => 40_000,
        }
    }
}

/// A handle on the CPU of one simulation; clones share it.
#[derive(Clone, Debug)]
pub struct Cpu {
    clock: Clock,
    ps_per_instruction: u64,
    busy_ps: Rc<Cell<u64>>,
    idle: Rc<Cell<bool>>,
}

impl Cpu {
    /// Make a CPU whose kernel code takes `ps_per_instruction` picoseconds per instruction.
    pub fn new(clock: Clock, ps_per_instruction: u64) -> Self {
        Self { clock, ps_per_instruction, busy_ps: Rc::default(), idle: Rc::default() }
    }

    /// Charge one piece of work.
    pub fn charge(&self, work: Work) {
        self.charge_ps(work.centi_instructions() * self.ps_per_instruction / 100);
    }

    /// Charge time worked out elsewhere, such as the database engine's.
    pub fn charge_ps(&self, ps: u64) {
        // Picoseconds are carried over, so that small pieces of work are not rounded away.
        let before = self.busy_ps.get();
        let after = before + ps;
        self.busy_ps.set(after);
        self.clock.advance(after / 1000 - before / 1000);
    }

    /// CPU time charged so far, nanoseconds.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ps.get() / 1000
    }

    /// Say whether the foreground sleeps, so that background tasks have the CPU to themselves.
    pub fn set_idle(&self, idle: bool) {
        self.idle.set(idle);
    }

    /// Whether the foreground sleeps.
    pub fn is_idle(&self) -> bool {
        self.idle.get()
    }

    /// The clock that work advances.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }
}
