//! The errors of runs on the real machine.

use std::fmt;
use std::path::PathBuf;

use flysch_lab::bench::RunError;

use crate::live::LiveError;

/// Why a run on this machine failed. It is printed as one line.
#[derive(Debug)]
pub enum KernelError {
    /// The flash cannot be traced.
    Live(LiveError),
    /// A new file system needs an MTD device, which it erases. The user named none.
    NoMtdNamed,
    /// The directory contains this file, which a run would overwrite.
    InTheWay(PathBuf),
    /// The scenario asks for something that is not possible here.
    Unfit(String),
    /// The kernel or a program reported an error.
    Refused {
        /// The step during which it failed.
        during: String,
        message: String,
    },
    /// The run of the scenario failed.
    Run(RunError),
}

impl KernelError {
    /// The error of a step, with its message.
    pub(super) fn at(during: impl Into<String>) -> impl FnOnce(&dyn fmt::Display) -> Self {
        let during = during.into();
        move |message| Self::Refused { during, message: message.to_string() }
    }
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live(error) => error.fmt(f),
            Self::NoMtdNamed => {
                f.write_str("a file system made anew erases an MTD: name it, such as --mtd mtd0")
            }
            Self::InTheWay(path) => {
                write!(f, "{}: exists, and a run would overwrite it", path.display())
            }
            Self::Unfit(what) => f.write_str(what),
            Self::Refused { during, message } => write!(f, "at {during}: {message}"),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for KernelError {}

impl From<LiveError> for KernelError {
    fn from(error: LiveError) -> Self {
        Self::Live(error)
    }
}

impl From<RunError> for KernelError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}
