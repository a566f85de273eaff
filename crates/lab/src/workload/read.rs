//! Reads of one file, as Olivier et al. (`EWiLi` 2014) do them to see what read-ahead costs.

use std::collections::BTreeMap;

use flysch_chip::Prng;
use flysch_linux::vfs::Fd;

use super::pattern::{Pattern, Places};
use super::{Measured, Steps};
use crate::bench::scenario::RunError;
use crate::bench::session::{Interval, Session};

/// Name of the file.
const FILE: &str = "file";
/// Bytes of the file that are written before they are made durable. The reference's file was seen
/// to have had its first three pages moved by JFFS2's collector when the 5 MiB were written (it
/// reads so many pages more): one for each time something was made durable, by a call or a timer.
const WRITTEN_AT_ONCE: usize = 2 << 20;

/// Reads of a file of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Their order.
    pub pattern: Pattern,
    /// Bytes of each; it begins at a multiple of this.
    pub request_size: u32,
    /// Bytes of the file.
    pub file_size: u32,
    /// Time from the end of a request to the next, microseconds.
    pub inter_arrival_us: u32,
}

impl Read {
    /// The paper's: a file of 5 MiB, read by pages of the cache, one request after the other.
    pub const DEFAULT: Self = Self {
        pattern: Pattern::Sequential,
        request_size: 4096,
        file_size: 5 << 20,
        inter_arrival_us: 0,
    };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("pattern", self.pattern.name().to_owned()),
            ("request-size", self.request_size.to_string()),
            ("file-size", self.file_size.to_string()),
            ("inter-arrival", self.inter_arrival_us.to_string()),
        ])
    }
}

/// A run under way.
pub(super) struct Run {
    read: Read,
    seed: u64,
}

impl Run {
    pub(super) fn new(read: Read, session: &Session<'_>) -> Self {
        Self { read, seed: session.scenario.seed }
    }
}

impl Steps for Run {
    type Opened = Fd;

    fn prepare(&mut self, session: &Session<'_>) -> Result<(), RunError> {
        let mut linux = session.linux();
        let fd = linux.open(FILE, true)?;
        let mut bytes = vec![0; self.read.file_size as usize];
        Prng::new(self.seed).fill(&mut bytes);
        let parts = bytes.chunks(WRITTEN_AT_ONCE).zip((0..).step_by(WRITTEN_AT_ONCE));
        for (part, offset) in parts {
            linux.write(fd, offset, part)?;
            linux.fsync(fd)?;
        }
        Ok(linux.close(fd)?)
    }

    fn open(&mut self, session: &Session<'_>) -> Result<Fd, RunError> {
        Ok(session.linux().open(FILE, false)?)
    }

    fn measure(&mut self, session: &Session<'_>, &mut fd: &mut Fd) -> Result<Measured, RunError> {
        let Read { pattern, request_size, file_size, inter_arrival_us } = self.read;
        let place_count = u64::from(file_size / request_size);
        let places = Places::new(pattern, place_count, self.seed ^ 0x5EED);
        let mut bytes = vec![0; request_size as usize];
        let mut done = 0;
        let mut interval = Interval::begin(session);
        for place in places.take(session.scenario.requests as usize) {
            if done > 0 {
                interval.pause(u64::from(inter_arrival_us) * 1000);
            }
            let offset = place * u64::from(request_size);
            let read = interval
                .request("request", || Ok(session.linux().read(fd, offset, &mut bytes)?))?;
            done += read as u64;
        }
        let mean = interval.mean_request_us();
        let mut measured = Measured::new(interval.end(), done);
        measured.figures.insert("mean_request_us", mean);
        Ok(measured)
    }

    fn check(&mut self, session: &Session<'_>, &mut fd: &mut Fd) -> Result<(), RunError> {
        Ok(session.linux().close(fd)?)
    }
}
