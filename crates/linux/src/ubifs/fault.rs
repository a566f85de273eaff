//! The errors inside UBIFS, with the place on flash. Callers get them as `FsError` or `MountError`.

use super::options::MountError;
use crate::filesystem::{FsError, Ino};
use crate::ubi::UbiError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NoSpace,
    /// The node or header that should be at this place is missing or damaged.
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
    /// The error for a call that touched byte `offset` of file `ino`.
    pub(super) fn in_file(self, ino: u32, offset: u64) -> FsError {
        match self {
            Self::Damaged { .. } => FsError::Damaged { ino: Ino(ino), offset },
            other => other.into(),
        }
    }
}
