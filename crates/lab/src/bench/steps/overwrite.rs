//! The steps of the overwrite workload: one file is overwritten in full again and again. It shows
//! how well wear levelling works.

use flysch_chip::Prng;
use flysch_linux::vfs::Fd;

use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};

const FILE: &str = "file";
/// Size of the file in percent of the partition. All stacks have room for it and for the pieces
/// that are written before the old ones are freed.
const FILE_PERCENT: u64 = 50;
/// By how many bytes the content moves from one request to the next: a page of the page cache.
const MOVED: usize = 4096;
/// Bytes of one write call. A request ends with an fsync, so all its writes are then durable.
const WRITTEN_AT_ONCE: usize = 64 << 10;

/// The state of this workload during a run.
pub(super) struct OverwriteSteps {
    /// Random bytes, which no compressor can shrink. They are drawn once. Each request shifts them
    /// by a page, so that every page of the file is new, while compressors can reuse what they
    /// computed for its bytes.
    bytes: Vec<u8>,
}

impl OverwriteSteps {
    pub(super) fn new(session: &Session<'_>) -> Self {
        let size = session.scenario.build.partition_bytes() * FILE_PERCENT / 100;
        let size = usize::try_from(size).expect("a partition fits in memory");
        let mut bytes = vec![0; size];
        Prng::new(session.scenario.seed).fill(&mut bytes);
        Self { bytes }
    }

    /// Write the whole file with new content.
    fn write(&mut self, session: &Session<'_>, fd: Fd) -> Result<(), RunError> {
        let len = self.bytes.len();
        self.bytes.rotate_left(MOVED.min(len));
        let mut linux = session.linux();
        let parts = self.bytes.chunks(WRITTEN_AT_ONCE).zip((0..).step_by(WRITTEN_AT_ONCE));
        for (part, offset) in parts {
            linux.write(fd, offset, part)?;
        }
        Ok(linux.fsync(fd)?)
    }
}

impl Steps for OverwriteSteps {
    type Opened = Fd;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let fd = session.linux().open(FILE, true)?;
        self.write(session, fd)?;
        Ok(session.linux().close(fd)?)
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Fd, RunError> {
        Ok(session.linux().open(FILE, false)?)
    }

    fn measure(&mut self, session: &Session<'_>, &mut fd: &mut Fd) -> Result<Measured, RunError> {
        let requests = session.scenario.requests;
        let mut interval = Interval::begin(session);
        for _ in 0..requests {
            interval.request("request", || self.write(session, fd))?;
        }
        let bytes = u64::from(requests) * self.bytes.len() as u64;
        Ok(Measured::new(interval.end(), bytes))
    }
}
