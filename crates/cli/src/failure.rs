//! Why a command ended early.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Whoever read the output has seen enough: no failure at all.
    ReaderGone,
    /// What to tell the user, in one line.
    Message(String),
    /// What was measured is beyond its bands: how far.
    Beyond(String),
}

impl Failure {
    /// Say what is wrong.
    pub(crate) fn of(error: &impl fmt::Display) -> Self {
        Self::Message(error.to_string())
    }

    /// Say what is wrong with a file.
    pub(crate) fn of_file(path: &Path, error: impl fmt::Display) -> Self {
        Self::Message(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReaderGone => f.write_str("the reader of the output is gone"),
            Self::Message(message) | Self::Beyond(message) => f.write_str(message),
        }
    }
}

impl From<io::Error> for Failure {
    /// For what is printed; errors of files are told by [`Failure::of_file`].
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Message(format!("cannot print: {error}")),
        }
    }
}
