//! CPU time of the stack, charged to the virtual clock from counted work.
//!
//! Work is counted in units that the stack can count exactly (bytes, calls), weighted by
//! instructions; a platform's speed turns these into time.

use std::cell::Cell;
use std::rc::Rc;

use flysch_chip::Clock;

/// Something that the kernel does, to be charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One system call: entry, exit, argument checks, file look-up.
    Syscall,
    /// One page-cache page looked up, locked and marked.
    PageLookup,
    /// One request handed to the MTD layer.
    MtdRequest,
    /// One request handed to the block layer and an MMC host, and its interrupt.
    BlockRequest,
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
    /// Zstandard, level 3.
    Zstd,
}

/// What a platform's CPU takes. The default takes no time at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Time of an instruction of the kernel, picoseconds.
    pub ps_per_instruction: u64,
    /// Time of copying a byte, picoseconds: memory decides it more than instructions do.
    pub copy_ps_per_byte: u64,
}

impl Work {
    /// Instructions. They fix the ratios between kinds of work on every platform; the platform's
    /// speed fixes their scale. Orders of magnitude of the kernel's loops: the checksum is the
    /// table-driven CRC-32 at a byte a step; deflate is what the VM of the reference needs to try
    /// and fail on 4 KiB of random data (21 ms at 31 million instructions a second), LZO what it
    /// needs where it gains. A block request is what Caulfield et al. (Moneta, MICRO 2010) count for
    /// issuing and completing 4 KiB through Linux's block layer; from memory.
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

/// A handle on the CPU of one simulation; clones share it.
#[derive(Clone, Debug)]
pub struct Cpu {
    clock: Clock,
    speed: Speed,
    busy_ps: Rc<Cell<u64>>,
    idle: Rc<Cell<bool>>,
    free: Rc<Cell<bool>>,
}

impl Cpu {
    /// Make a CPU of this speed.
    pub fn new(clock: Clock, speed: Speed) -> Self {
        Self { clock, speed, busy_ps: Rc::default(), idle: Rc::default(), free: Rc::default() }
    }

    /// Charge one piece of work.
    pub fn charge(&self, work: Work) {
        let instructions = work.instructions() * self.speed.ps_per_instruction;
        self.charge_ps(instructions + work.copied() * self.speed.copy_ps_per_byte);
    }

    /// Charge time worked out elsewhere, such as the database engine's.
    pub fn charge_ps(&self, ps: u64) {
        if self.free.get() {
            return;
        }
        // Picoseconds are carried over, so that small pieces of work are not rounded away.
        let before = self.busy_ps.get();
        let after = before + ps;
        self.busy_ps.set(after);
        self.clock.advance(after / 1000 - before / 1000);
    }

    /// Let the nanosecond that was begun go by, so that what is measured next begins with a whole
    /// one, whatever was before it.
    pub fn end_nanosecond(&self) {
        self.charge_ps(self.busy_ps.get().next_multiple_of(1000) - self.busy_ps.get());
    }

    /// CPU time charged so far, nanoseconds.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ps.get() / 1000
    }

    /// Say whether work costs no time: while a run makes what it then measures.
    pub fn set_free(&self, free: bool) {
        self.free.set(free);
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
