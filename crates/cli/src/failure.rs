//! The reasons for which a command ends early.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The reason for which a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has closed it, as `head` does. This is not a failure.
    ReaderGone,
    /// An error message of one line.
    Message(String),
    /// The user's program failed with this exit code and reported the reason itself.
    Program(u8),
    /// Measured costs exceed their limits. The text says which, and by how much.
    Beyond(String),
}

impl Failure {
    /// Turn any error into a message.
    pub(crate) fn of(error: &impl fmt::Display) -> Self {
        Self::Message(error.to_string())
    }

    /// Turn an error about a file into a message that begins with the file's path.
    pub(crate) fn of_file(path: &Path, error: impl fmt::Display) -> Self {
        Self::Message(format!("{}: {error}", path.display()))
    }

    /// The message for a file that could not be written. With `force`, an existing file is
    /// replaced.
    pub(crate) fn of_writing(path: &Path, error: &io::Error, force: bool) -> Self {
        match error.kind() {
            ErrorKind::AlreadyExists if force => Self::of_file(path, "is not a regular file"),
            ErrorKind::AlreadyExists => Self::of_file(path, "exists; --force replaces it"),
            _ => Self::of_file(path, format_args!("cannot be written: {}", cause(error))),
        }
    }
}

/// Why a file cannot be made in its folder, without the name of a temporary file.
pub(crate) fn cause(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        kind => kind.to_string(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReaderGone => f.write_str("the reader of the output is gone"),
            Self::Program(code) => write!(f, "the program ended with {code}"),
            Self::Message(message) | Self::Beyond(message) => f.write_str(message),
        }
    }
}

impl From<io::Error> for Failure {
    /// For errors of printing. [`Failure::of_file`] is for errors of files.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Message(format!("cannot print: {error}")),
        }
    }
}
