//! Why a live trace cannot be had.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::level::Level;

/// Why a live trace cannot be had. Renders as one line.
#[derive(Debug)]
pub enum LiveError {
    /// Only root may set probes.
    NotRoot,
    /// No tracefs is mounted, and mounting it failed.
    NoTracefs,
    /// The kernel was built without kprobe events.
    NoKprobes,
    /// The machine has no MTD.
    NoMtd,
    /// The machine has no such MTD.
    UnknownMtd {
        /// The one asked for.
        asked: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// The MTD has no pages: it is no NAND.
    NoPages(String),
    /// The kernel has no function for this level, or for any.
    NoHook(Option<Level>),
    /// Where calls keep their arguments is not known for this machine.
    UnknownMachine(String),
    /// A file of the kernel refuses.
    Refused {
        /// The file.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
    /// The MTD's sizes make no chip that traces are made for.
    Shape(String),
}

impl LiveError {
    /// What the kernel says at `path`.
    pub(super) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Refused { path, error }
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRoot => f.write_str("live tracing sets kernel probes: only root may do that"),
            Self::NoTracefs => f.write_str(
                "no tracefs: the kernel has none, or it cannot be mounted at /sys/kernel/tracing",
            ),
            Self::NoKprobes => f.write_str("this kernel was built without kprobe events"),
            Self::NoMtd => f.write_str("this machine has no MTD: /sys/class/mtd is absent or empty"),
            Self::UnknownMtd { asked, known } => {
                write!(f, "no MTD named '{asked}' (there are: {})", known.join(", "))
            }
            Self::NoPages(name) => write!(f, "{name} has no pages: it is no NAND flash"),
            Self::NoHook(None) => f.write_str(
                "this kernel has no function that flash operations pass through; is the driver loaded?",
            ),
            Self::NoHook(Some(level)) => {
                write!(f, "this kernel has no function to hook at level '{}'", level.name())
            }
            Self::UnknownMachine(machine) => {
                write!(f, "where calls keep their arguments is not known for '{machine}'")
            }
            Self::Refused { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Shape(why) => write!(f, "not a chip to trace: {why}"),
        }
    }
}

impl std::error::Error for LiveError {}
