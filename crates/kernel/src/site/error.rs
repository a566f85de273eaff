//! Why the machine cannot be run on.

use std::fmt;
use std::path::PathBuf;

use flysch_lab::bench::RunError;

use crate::live::LiveError;

/// Why the machine cannot be run on. Renders as one line.
#[derive(Debug)]
pub enum KernelError {
    /// The flash cannot be traced.
    Live(LiveError),
    /// A file system to be made anew was not told on which MTD, which it would erase.
    NoMtdNamed,
    /// The directory holds a file that a run would overwrite.
    InTheWay(PathBuf),
    /// What the scenario asks for cannot be had here.
    Unfit(String),
    /// The kernel, or a program, refuses.
    Refused {
        /// What was under way.
        during: String,
        /// What was said.
        message: String,
    },
    /// The run itself failed.
    Run(RunError),
}

impl KernelError {
    /// What was said while `during` was under way.
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
