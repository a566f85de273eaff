//! The formats that a trace may be read from.

use std::fmt;

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// The project's own: module [`file`](mod@super::file).
    Binary,
    /// CSV with the columns of [`LogRow`](super::LogRow).
    Csv,
    /// `/proc/flashmon_log`.
    FlashmonLog,
    /// `/proc/flashmon`.
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
