//! The age of a device: which data it holds and how worn it is before a workload begins.
//!
//! The study of SQLite on JFFS2 and UBIFS left the initial state of the flash as future work. Here
//! a partition may be filled with files that the workload never touches, and with dead data
//! scattered among them, as after years of use. Its blocks may also have been erased before.

use std::fmt;

use flysch_chip::{Prng, Recorder};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Fd, Vfs};

use super::files::Files;

/// Bytes of each piece of a file that is written. It takes about half a dozen flash pages, so a
/// block holds many pieces.
const PIECE: u32 = 16 << 10;
const FILE: u32 = 1 << 20;
/// Time without requests after ageing, in which background work can finish, nanoseconds.
pub const REST_NS: u64 = 10_000_000_000;

/// How a device has aged before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Age {
    /// Percentage of the partition that live data of other files fills.
    pub fill_percent: u32,
    /// Percentage of the partition that was written and then overwritten. It is dead data, unless
    /// the stack has collected it since.
    pub invalid_percent: u32,
    /// Each block's erase count is drawn from 0 to this number, all equally likely.
    pub erase_spread: u32,
}

/// Why ageing a device failed, and how far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeError {
    /// It failed while live data was written.
    Fill {
        /// The error of the file system.
        why: FsError,
        /// Percentage of the partition that live data filled by then.
        percent: u64,
    },
    /// It failed while data was overwritten.
    Invalid {
        /// The error of the file system.
        why: FsError,
        /// Percentage of the partition that was overwritten by then.
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
    /// How often each of the first `blocks` blocks was erased. Empty for a new device.
    ///
    /// # Panics
    /// Never: the drawn counts are at most the spread, which has 32 bits.
    pub fn erase_counts(&self, blocks: u32, seed: u64) -> Vec<u32> {
        if self.erase_spread == 0 {
            return Vec::new();
        }
        let mut prng = Prng::new(seed ^ 0xA6E);
        let bound = u64::from(self.erase_spread) + 1;
        (0..blocks).map(|_| u32::try_from(prng.below(bound)).expect("32 bits")).collect()
    }

    /// Write the ageing data to the file system `linux`, whose partition has `capacity` bytes, and
    /// let it rest.
    ///
    /// # Errors
    /// Fails with the file system's error and the progress. If the data does not fit, the error is
    /// [`FsError::NoSpace`].
    pub fn apply(
        &self,
        linux: &mut Vfs,
        recorder: &Recorder,
        capacity: u64,
        seed: u64,
    ) -> Result<(), AgeError> {
        if !self.has_data() {
            return Ok(());
        }
        let _scope = recorder.scope("age");
        self.write(linux, capacity, seed)?;
        linux.sync().map_err(|why| self.at_end(why))?;
        linux.sleep(REST_NS);
        Ok(())
    }

    /// Whether there is data to write.
    pub const fn has_data(&self) -> bool {
        self.fill_percent > 0 || self.invalid_percent > 0
    }

    /// Write the ageing data to files, on a partition of `capacity` bytes.
    ///
    /// # Errors
    /// Fails as [`Self::apply`] does.
    pub fn write(&self, files: &mut dyn Files, capacity: u64, seed: u64) -> Result<(), AgeError> {
        let pieces = |percent: u32| capacity * u64::from(percent) / 100 / u64::from(PIECE);
        // There must be at least one piece to overwrite, even if no live data was asked for.
        let live = pieces(self.fill_percent).max(1);
        let mut writer = Writer { files, prng: Prng::new(seed ^ 0xA6ED), open: None };
        let percent = |pieces: u64| pieces * u64::from(PIECE) * 100 / capacity;
        for piece in 0..live {
            writer.write(piece).map_err(|why| AgeError::Fill { why, percent: percent(piece) })?;
        }
        for done in 0..pieces(self.invalid_percent) {
            let piece = writer.prng.below(live);
            writer.write(piece).map_err(|why| AgeError::Invalid { why, percent: percent(done) })?;
        }
        writer.close().map_err(|why| self.at_end(why))
    }

    /// The error of a failure after all live data was written.
    fn at_end(&self, why: FsError) -> AgeError {
        AgeError::Fill { why, percent: u64::from(self.fill_percent) }
    }
}

/// Writes pieces and makes each durable before the next. Otherwise the stack could gather them, and
/// they would not be scattered.
struct Writer<'a> {
    files: &'a mut dyn Files,
    prng: Prng,
    open: Option<(u64, Fd)>,
}

impl Writer<'_> {
    fn write(&mut self, piece: u64) -> Result<(), FsError> {
        let per_file = u64::from(FILE / PIECE);
        let fd = self.file(piece / per_file)?;
        let mut bytes = vec![0; PIECE as usize];
        self.prng.fill(&mut bytes);
        self.files.pass_drawing(PIECE.into());
        self.files.write(fd, piece % per_file * u64::from(PIECE), &bytes)?;
        self.files.fsync(fd)
    }

    fn file(&mut self, number: u64) -> Result<Fd, FsError> {
        match self.open {
            Some((open, fd)) if open == number => Ok(fd),
            _ => {
                self.close()?;
                let fd = self.files.open(&format!("aged.{number}"), true)?;
                self.open = Some((number, fd));
                Ok(fd)
            }
        }
    }

    fn close(&mut self) -> Result<(), FsError> {
        self.open.take().map_or(Ok(()), |(_, fd)| self.files.close(fd))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use flysch_linux::vfs::Advice;

    use super::*;

    /// Counts the bytes that are drawn and written.
    #[derive(Default)]
    struct Counted {
        drawn: Cell<u64>,
        written: u64,
    }

    impl Files for Counted {
        fn open(&mut self, _: &str, _: bool) -> Result<Fd, FsError> {
            Ok(Fd(0))
        }

        fn read(&mut self, _: Fd, _: u64, _: &mut [u8]) -> Result<usize, FsError> {
            Err(FsError::NoSpace)
        }

        fn write(&mut self, _: Fd, _: u64, bytes: &[u8]) -> Result<(), FsError> {
            self.written += bytes.len() as u64;
            assert_eq!(self.drawn.get(), self.written, "a piece is drawn before it is written");
            Ok(())
        }

        fn fsync(&mut self, _: Fd) -> Result<(), FsError> {
            Ok(())
        }

        fn advise(&mut self, _: Fd, _: Advice) -> Result<(), FsError> {
            Ok(())
        }

        fn unlink(&mut self, _: &str) -> Result<(), FsError> {
            Ok(())
        }

        fn close(&mut self, _: Fd) -> Result<(), FsError> {
            Ok(())
        }

        fn pass_drawing(&self, bytes: u64) {
            self.drawn.set(self.drawn.get() + bytes);
        }
    }

    #[test]
    fn the_time_to_draw_each_piece_passes() {
        let (mut files, age) = (Counted::default(), Age { fill_percent: 40, ..Age::default() });
        age.write(&mut files, 4 << 20, 1).expect("these files never fail");
        assert_eq!((files.drawn.get(), files.written), (1_671_168, 1_671_168));
    }
}
