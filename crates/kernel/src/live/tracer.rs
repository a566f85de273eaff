//! The tracer: a recording of the running kernel, from its start to the trace it leaves.

use std::fs::File;
use std::io::{ErrorKind, Read};

use flysch_chip::{EventKind, Trace};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::device::Window;
use super::error::LiveError;
use super::hook::{Probe, choose};
use super::layout::Layout;
use super::level::Level;
use super::line::{self, Line};
use super::tape::Tape;
use super::tracefs::Tracefs;

pub use super::tape::Span;

/// Bytes to read at once.
const CHUNK: usize = 1 << 16;

/// What to record.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Where to hook; the nearest to the array if not said.
    pub level: Option<Level>,
    /// Buffer of each processor, KiB: what is not read in time is lost.
    pub buffer_kib: u32,
}

/// A recording under way. Dropping it ends it and leaves the kernel as it was.
#[derive(Debug)]
pub struct LiveTracer {
    // The instance can be removed only once its pipe is closed: fields are dropped in order.
    pipe: File,
    tracefs: Tracefs,
    level: Level,
    /// The bytes after the last whole line.
    rest: Vec<u8>,
    told_lost: u64,
    tape: Tape,
}

impl LiveTracer {
    /// Record what happens in `window` from now on.
    ///
    /// # Errors
    /// The kernel offers no way, or refuses.
    pub fn start(window: Window, choice: Choice) -> Result<Self, LiveError> {
        let machine = rustix::system::uname();
        let layout = Layout::of(&machine.machine().to_string_lossy())?;
        let tracefs = Tracefs::open(choice.buffer_kib)?;
        let set = |probe: &Probe| tracefs.set(probe, &layout);
        let (level, probes) = choose(choice.level, window.is_spi_nand, set, || tracefs.unset())?;
        let pipe = tracefs.pipe()?;
        tracefs.enable()?;
        let tape = Tape::new(window, probes);
        Ok(Self { tracefs, level, pipe, rest: Vec::new(), told_lost: 0, tape })
    }

    /// Where it hooks.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Tell what `task` is about from when on, for events read from now on.
    pub fn set_spans(&mut self, task: String, spans: Vec<Span>) {
        self.tape.own_task = task;
        self.tape.spans = spans;
    }

    /// Wait until there is enough to be read at once, at most so long; whether there is. Reading
    /// takes the CPU, the symbols of each line most of it: what is recorded should not wait for it.
    ///
    /// # Errors
    /// The operating system's; a signal is none.
    pub fn wait(&self, timeout_ms: u32) -> Result<bool, LiveError> {
        let timeout = Timespec {
            tv_sec: i64::from(timeout_ms / 1000),
            tv_nsec: i64::from(timeout_ms % 1000) * 1_000_000,
        };
        let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(LiveError::at("trace_pipe")(error.into())),
        }
    }

    /// Read what was printed so far, and tell how many events the recording has.
    ///
    /// # Errors
    /// The kernel's.
    pub fn drain(&mut self) -> Result<usize, LiveError> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.pipe.read(&mut chunk) {
                Ok(0) => break,
                Ok(size) => self.take_in(&chunk[..size]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(LiveError::at("trace_pipe")(error)),
            }
        }
        Ok(self.tape.len())
    }

    /// Record nothing, or go on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn switch(&self, on: bool) -> Result<(), LiveError> {
        self.tracefs.switch(on)
    }

    /// Forget what was recorded so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn reset(&mut self) -> Result<(), LiveError> {
        self.drain()?;
        self.tape.clear();
        Ok(())
    }

    /// Events read so far of one kind.
    pub fn count(&self, kind: EventKind) -> u64 {
        self.tape.count(kind)
    }

    /// Events lost since the start.
    pub fn lost(&self) -> u64 {
        self.tracefs.lost(&self.tape.probes).max(self.told_lost)
    }

    /// The events read so far.
    pub fn take(&mut self) -> Trace {
        self.tape.take()
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { return };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        for text in String::from_utf8_lossy(&whole).lines() {
            match (Line::parse(text), line::lost(text)) {
                (Some(line), _) => self.tape.record(&line),
                (None, Some(count)) => self.told_lost += count,
                (None, None) => (),
            }
        }
    }
}
