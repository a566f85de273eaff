//! What may go wrong inside, with the place; told to callers as `FsError` or `MountError`.

use super::options::MountError;
use crate::filesystem::{FsError, Ino};
use crate::ubi::UbiError;

/// Why something inside failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NoSpace,
    /// What must be at this place is not.
    Damaged {
        lnum: u32,
        offset: u32,
    },
    Io,
    PowerLost,
}

impl From<UbiError> for Fault {
    fn from(error: UbiError) -> Self {
        match error {
            UbiError::Io => Self::Io,
            UbiError::PowerLost => Self::PowerLost,
        }
    }
}

impl From<Fault> for FsError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NoSpace => Self::NoSpace,
            Fault::Damaged { .. } | Fault::Io => Self::Io,
            Fault::PowerLost => Self::PowerLost,
        }
    }
}

impl From<Fault> for MountError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NoSpace => Self::NoSpace,
            Fault::Damaged { lnum, offset } => Self::Damaged { lnum, offset },
            Fault::Io => Self::Io,
            Fault::PowerLost => Self::PowerLost,
        }
    }
}

impl Fault {
    /// The error of a call on `ino` at `offset` of the file.
    pub(super) fn in_file(self, ino: u32, offset: u64) -> FsError {
        match self {
            Self::Damaged { .. } => FsError::Damaged { ino: Ino(ino), offset },
            other => other.into(),
        }
    }
}
