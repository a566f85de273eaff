//! The tracer: records the flash operations of the running kernel and returns them as a trace.

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
use super::recording::Recording;
use super::tracefs::Tracefs;

pub use super::recording::Span;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// How the tracer records.
#[derive(Clone, Copy, Debug)]
pub struct TracerOptions {
    /// The level to record at. None: the level nearest to the array.
    pub level: Option<Level>,
    /// Size of each processor's buffer in KiB. Events that are not read in time are lost.
    pub buffer_kib: u32,
}

/// A recording that is under way. Dropping it ends it and leaves the kernel as it was before.
#[derive(Debug)]
pub struct LiveTracer {
    // Fields are dropped in order: the instance can only be removed after its pipe is closed.
    pipe: File,
    tracefs: Tracefs,
    level: Level,
    /// The bytes after the last complete line.
    rest: Vec<u8>,
    told_lost: u64,
    recording: Recording,
}

impl LiveTracer {
    /// Record the operations in `window` from now on.
    ///
    /// # Errors
    /// Fails if the kernel cannot be traced or refuses the probes.
    pub fn start(window: Window, options: TracerOptions) -> Result<Self, LiveError> {
        let machine = rustix::system::uname();
        let layout = Layout::of(&machine.machine().to_string_lossy())?;
        let tracefs = Tracefs::open(options.buffer_kib)?;
        let set = |probe: &Probe| tracefs.set(probe, &layout);
        let (level, probes) = choose(options.level, window.is_spi_nand, set, || tracefs.unset())?;
        let pipe = tracefs.pipe()?;
        tracefs.enable()?;
        let recording = Recording::new(window, probes);
        Ok(Self { tracefs, level, pipe, rest: Vec::new(), told_lost: 0, recording })
    }

    /// The level that it records at.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Set the spans of `task`, from which events that are read from now on get their causes.
    pub fn set_spans(&mut self, task: String, spans: Vec<Span>) {
        self.recording.own_task = task;
        self.recording.spans = spans;
    }

    /// Wait until the pipe has data, for at most `timeout_ms`. Returns whether it has. Reading
    /// takes CPU time, mostly for the symbol in each line, so the recorded program should not be
    /// slowed down by small reads.
    ///
    /// # Errors
    /// Fails if the operating system fails. A signal is not an error.
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

    /// Read the lines that were printed so far. Returns the number of recorded events.
    ///
    /// # Errors
    /// Fails if the kernel's pipe fails.
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
        Ok(self.recording.len())
    }

    /// Pause or continue the recording.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn switch(&self, on: bool) -> Result<(), LiveError> {
        self.tracefs.switch(on)
    }

    /// Discard what was recorded so far.
    ///
    /// # Errors
    /// Fails if the kernel's pipe fails.
    pub fn reset(&mut self) -> Result<(), LiveError> {
        self.drain()?;
        self.recording.clear();
        Ok(())
    }

    /// Number of events of one kind that were read so far.
    pub fn count(&self, kind: EventKind) -> u64 {
        self.recording.count(kind)
    }

    /// Number of events that were lost since the start.
    pub fn lost(&self) -> u64 {
        self.tracefs.lost(&self.recording.probes).max(self.told_lost)
    }

    /// Take the events that were read so far.
    pub fn take(&mut self) -> Trace {
        self.recording.take()
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { return };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        for text in String::from_utf8_lossy(&whole).lines() {
            match (Line::parse(text), line::lost(text)) {
                (Some(line), _) => self.recording.record(&line),
                (None, Some(count)) => self.told_lost += count,
                (None, None) => (),
            }
        }
    }
}
