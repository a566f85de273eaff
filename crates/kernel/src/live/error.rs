//! The errors of live tracing.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::level::Level;

/// Why a live trace is not possible. It is printed as one line.
#[derive(Debug)]
pub enum LiveError {
    /// Only root may set kernel probes.
    NotRoot,
    /// No tracefs is mounted, and mounting it failed.
    NoTracefs,
    /// The kernel was built without kprobe events.
    NoKprobes,
    /// The machine has no MTD device.
    NoMtd,
    /// The machine has no MTD device of this name.
    UnknownMtd {
        /// The name that the user gave.
        asked: String,
        /// The names of the devices that exist.
        known: Vec<String>,
    },
    /// The MTD device has no pages, so it is not NAND.
    NoPages(String),
    /// The kernel lacks the functions of this level. None: of every level.
    NoHook(Option<Level>),
    /// The calling convention of this kind of machine is not known.
    UnknownMachine(String),
    /// A file of the kernel cannot be read or written.
    Refused { path: PathBuf, error: io::Error },
    /// The sizes of the MTD device are not those of a chip that can be traced.
    Shape(String),
}

impl LiveError {
    /// An error of the kernel at `path`.
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
