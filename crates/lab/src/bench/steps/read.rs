//! The steps of reads of one file: write it, open it, and read it in the requested order.

use flysch_chip::Prng;
use flysch_linux::vfs::Fd;

use crate::bench::RunError;
use crate::bench::measure::Measured;
use crate::bench::session::{Interval, Session, Steps};
use crate::workload::{Places, Read};

const FILE: &str = "file";
/// Bytes of the file that are written between two fsyncs. In the reference run, JFFS2's collector
/// moved the first three pages of the file while its 5 MiB were written: the run reads three pages
/// more. The collector moves one page each time data is made durable, by a call or by a timer,
/// which is why the file is written in three parts.
const WRITTEN_AT_ONCE: usize = 2 << 20;

/// The state of this workload during a run.
pub(super) struct ReadSteps {
    read: Read,
    seed: u64,
}

impl ReadSteps {
    pub(super) fn new(read: Read, session: &Session<'_>) -> Self {
        Self { read, seed: session.scenario.seed }
    }
}

/// End the interval in which `done` bytes were read.
fn ended(interval: Interval<'_>, done: u64) -> Measured {
    let mean = interval.mean_request_us();
    let mut measured = Measured::new(interval.end(), done);
    measured.figures = Read::FIGURES.into_iter().zip([mean]).collect();
    measured
}

impl Steps for ReadSteps {
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
            interval.end_parts(|_, interval| Ok(ended(interval, done)))?;
        }
        Ok(ended(interval, done))
    }

    fn check(&mut self, session: &Session<'_>, &mut fd: &mut Fd) -> Result<(), RunError> {
        Ok(session.linux().close(fd)?)
    }
}
