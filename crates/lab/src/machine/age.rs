//! The age of a device: what it holds, and how worn it is, before a workload begins.
//!
//! The study of SQLite on JFFS2 and UBIFS left the initial state of the flash as future work. Here a
//! partition may be filled with the data of files that the workload never touches, and with dead data
//! scattered among them, as years of use leave it; and its blocks may have been erased before.

use std::fmt;

use flysch_chip::{Prng, Recorder};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Fd, Vfs};

/// Bytes written at a time: half a dozen flash pages, so that a block holds many pieces.
const PIECE: u32 = 16 << 10;
/// Bytes of each file.
const FILE: u32 = 1 << 20;
/// Time that the device is left alone afterwards, nanoseconds: background work comes to its end.
const REST_NS: u64 = 10_000_000_000;

/// How a device has aged before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Age {
    /// Percent of the partition that live data of other files take.
    pub fill_percent: u32,
    /// Percent of the partition that were written over since: dead data, as far as the stack has
    /// not collected it.
    pub invalid_percent: u32,
    /// Erase counts are drawn from 0 to this for each block, all equally likely.
    pub erase_spread: u32,
}

/// How far a device could be aged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeError {
    /// While live data were written.
    Fill {
        /// What the file system says.
        why: FsError,
        /// Percent of the partition that it had taken by then.
        percent: u64,
    },
    /// While data were written over.
    Invalid {
        /// What the file system says.
        why: FsError,
        /// Percent of the partition that were written over by then.
        percent: u64,
    },
}

impl fmt::Display for AgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fill { why, percent } => {
                write!(f, "{why} once live data take {percent} % of the partition (--aged-fill)")
            }
            Self::Invalid { why, percent } => {
                write!(f, "{why} once {percent} % are written over (--aged-invalid)")
            }
        }
    }
}

impl std::error::Error for AgeError {}

impl Age {
    /// How often the first `blocks` blocks were erased; empty for a new device.
    ///
    /// # Panics
    /// Never: what is drawn is at most the spread.
    pub fn erase_counts(&self, blocks: u32, seed: u64) -> Vec<u32> {
        if self.erase_spread == 0 {
            return Vec::new();
        }
        let mut prng = Prng::new(seed ^ 0xA6E);
        let bound = u64::from(self.erase_spread) + 1;
        (0..blocks).map(|_| u32::try_from(prng.below(bound)).expect("32 bits")).collect()
    }

    /// Write what the file system `linux` is to hold, `capacity` bytes being its partition.
    ///
    /// # Errors
    /// The file system's, and how far it came: more than it holds is [`FsError::NoSpace`].
    pub fn apply(
        &self,
        linux: &mut Vfs,
        recorder: &Recorder,
        capacity: u64,
        seed: u64,
    ) -> Result<(), AgeError> {
        if (self.fill_percent, self.invalid_percent) == (0, 0) {
            return Ok(());
        }
        let _scope = recorder.scope("age");
        let pieces = |percent: u32| capacity * u64::from(percent) / 100 / u64::from(PIECE);
        // Without any live data there is one piece to write over.
        let live = pieces(self.fill_percent).max(1);
        let mut writer = Writer { linux: &mut *linux, prng: Prng::new(seed ^ 0xA6ED), open: None };
        let percent = |pieces: u64| pieces * u64::from(PIECE) * 100 / capacity;
        for piece in 0..live {
            writer.write(piece).map_err(|why| AgeError::Fill { why, percent: percent(piece) })?;
        }
        for done in 0..pieces(self.invalid_percent) {
            let piece = writer.prng.below(live);
            writer.write(piece).map_err(|why| AgeError::Invalid { why, percent: percent(done) })?;
        }
        let ended = writer.close().and_then(|()| linux.sync());
        ended.map_err(|why| AgeError::Fill { why, percent: u64::from(self.fill_percent) })?;
        linux.sleep(REST_NS);
        Ok(())
    }
}

/// Writes pieces, each durable before the next: what a stack gathers would not be scattered.
struct Writer<'a> {
    linux: &'a mut Vfs,
    prng: Prng,
    open: Option<(u64, Fd)>,
}

impl Writer<'_> {
    fn write(&mut self, piece: u64) -> Result<(), FsError> {
        let per_file = u64::from(FILE / PIECE);
        let fd = self.file(piece / per_file)?;
        let mut bytes = vec![0; PIECE as usize];
        self.prng.fill(&mut bytes);
        self.linux.write(fd, piece % per_file * u64::from(PIECE), &bytes)?;
        self.linux.fsync(fd)
    }

    fn file(&mut self, number: u64) -> Result<Fd, FsError> {
        match self.open {
            Some((open, fd)) if open == number => Ok(fd),
            _ => {
                self.close()?;
                let fd = self.linux.open(&format!("aged.{number}"), true)?;
                self.open = Some((number, fd));
                Ok(fd)
            }
        }
    }

    fn close(&mut self) -> Result<(), FsError> {
        self.open.take().map_or(Ok(()), |(_, fd)| self.linux.close(fd))
    }
}
