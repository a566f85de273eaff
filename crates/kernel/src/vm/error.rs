//! The errors of virtual machines.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::answer::Answer;

/// Why a guest cannot be made or gave no answer. It is printed as one line, without the console.
#[derive(Debug)]
pub enum VmError {
    /// The guest must run this program, but the program is built for another kind of machine.
    Architecture(&'static str),
    /// A program is missing and cannot be installed automatically.
    NoProgram {
        /// Name of the missing program.
        program: &'static str,
        /// Name of the package that contains it.
        package: &'static str,
    },
    /// The package lists contain no kernel of the platform's series.
    NoKernelPackage,
    /// There is not enough disk space for what would be fetched.
    Disk {
        /// The folder that lacks space.
        folder: PathBuf,
        /// Number of bytes that are needed.
        needed: u64,
        /// Number of bytes that are free.
        free: u64,
    },
    /// The guest was never set up in this folder.
    NotSetUp(PathBuf),
    /// nandsim cannot simulate the chip.
    Chip {
        /// Name of the part.
        name: String,
        why: String,
    },
    /// A file is too large for the guest's memory disk.
    TooLarge,
    /// A program that was started failed.
    Failed {
        /// Name of the program.
        program: String,
        /// The last line of its error output.
        message: String,
    },
    /// A file cannot be read or written.
    File { path: PathBuf, error: io::Error },
    /// A signal ended the wait for the guest.
    Interrupted,
    /// The guest's kernel panicked with this message.
    Panic(String),
    /// The guest did not end in time.
    Hung {
        /// The time limit in seconds.
        seconds: u32,
        /// The last lines of the guest's console.
        console: String,
    },
    /// The guest ended without an answer. It holds the last lines of its console.
    Silent(String),
    /// The command failed in the guest.
    Guest {
        /// The last line that it printed.
        message: String,
        /// Its output, and the files that it wrote before it failed.
        kept: Box<Answer>,
    },
}

impl VmError {
    /// An error of the system at `path`.
    pub(super) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |error| Self::File { path, error }
    }

    /// The last lines of the guest's console, for errors where they help. None for others.
    pub fn console(&self) -> Option<&str> {
        match self {
            Self::Hung { console, .. } | Self::Silent(console) => Some(console),
            _ => None,
        }
    }
}

impl fmt::Display for VmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MIB: u64 = 1 << 20;
        match self {
            Self::Architecture(ours) => {
                write!(f, "the guest is an x86-64 machine and runs this program, built for {ours}")
            }
            Self::NoProgram { program, package } => {
                write!(f, "no {program}: install it, such as with `apt-get install {package}`")
            }
            Self::NoKernelPackage => f.write_str(
                "no package linux-image-6.1.*-amd64 in the package lists: `apt-get update`, or --kernel",
            ),
            Self::Disk { folder, needed, free } => write!(
                f,
                "{}: {} MiB are needed and {} MiB are free",
                folder.display(),
                needed / MIB,
                free / MIB
            ),
            Self::NotSetUp(folder) => {
                write!(f, "{}: no guest here yet: `flysch vm setup` makes it", folder.display())
            }
            Self::Chip { name, why } => write!(f, "nandsim cannot be the part {name}: {why}"),
            Self::TooLarge => f.write_str("a file of 4 GiB or more does not fit into the guest"),
            Self::Failed { program, message } => write!(f, "{program}: {message}"),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Interrupted => f.write_str("interrupted; the guest was ended"),
            Self::Panic(line) => write!(f, "the guest's kernel panicked: {line}"),
            Self::Hung { seconds, .. } => {
                write!(f, "the guest did not end within {seconds} s and was ended")
            }
            Self::Silent(_) => f.write_str("the guest ended without an answer"),
            Self::Guest { message, .. } => write!(f, "in the guest: {message}"),
        }
    }
}

impl std::error::Error for VmError {}
