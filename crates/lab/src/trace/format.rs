//! The file formats that a trace can be read from.

use std::fmt;

/// A file format that a trace can be read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// The project's own format, described in [`file`](mod@super::file).
    Binary,
    /// CSV with the columns of [`LogRow`](super::LogRow).
    Csv,
    /// The text of `/proc/flashmon_log`.
    FlashmonLog,
    /// The text of `/proc/flashmon`.
    FlashmonCounters,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Binary => "flysch trace",
            Self::Csv => "CSV trace",
            Self::FlashmonLog => "Flashmon log",
            Self::FlashmonCounters => "Flashmon counter file",
        })
    }
}
