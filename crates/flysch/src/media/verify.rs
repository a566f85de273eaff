//! Reading back what was programmed, for drivers that do not tell when a program failed.

use flysch_nand::{Nand, PageAddr, ReadError};

use super::{CELL_SIZE, Cause, Media, MediaError};

/// Which pages are read back after they were programmed. A page that reads differently counts as
/// one whose program failed: its block is marked bad, and the page is programmed elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// None: the chip itself tells when a program failed.
    #[default]
    Never,
    /// Pages of the log and of roots, on which all else depends. Cost: a read for each 512 bytes of
    /// them.
    Commits,
    /// All pages. Cost: a read for each 512 bytes that are programmed.
    All,
}

impl Verify {
    /// Whether a page is read back that was programmed for this cause.
    pub(super) const fn reads_back(self, cause: Cause) -> bool {
        match self {
            Self::Never => false,
            Self::Commits => matches!(cause, Cause::Log | Cause::Root),
            Self::All => true,
        }
    }
}

impl<N: Nand> Media<'_, N> {
    /// Read a page back cell by cell. Its frame has to stay intact, as it is needed where the page
    /// is wrong.
    #[inline(never)]
    pub(super) fn check_program(&mut self, addr: PageAddr, frame: &[u8]) -> Result<(), MediaError> {
        let mut cell = [0; CELL_SIZE];
        for (number, wanted) in (0..).zip(frame.chunks_exact(CELL_SIZE)) {
            self.counts.reads += 1;
            match self.nand.read(addr, number * CELL_SIZE as u32, &mut cell) {
                Err(ReadError::PowerLost) => return Err(MediaError::PowerLost),
                Ok(_) if cell == *wanted => {}
                Ok(_) | Err(ReadError::Uncorrectable(_)) => {
                    self.counts.misprogrammed += 1;
                    return Err(MediaError::ProgramFailed(addr));
                }
            }
        }
        Ok(())
    }
}
