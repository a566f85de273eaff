//! Why there is no guest, or no answer from it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no guest, or no answer from it. Renders as one line, the console apart.
#[derive(Debug)]
pub enum VmError {
    /// The guest runs this program, which is built for another machine.
    Architecture(&'static str),
    /// A program is absent that cannot be installed from here.
    NoProgram {
        /// The program.
        program: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// The package lists have no kernel of the platform's series.
    NoKernelPackage,
    /// There is not enough room for what would be fetched.
    Disk {
        /// Where.
        folder: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The machine was never set up.
    NotSetUp(PathBuf),
    /// The chip cannot be simulated by nandsim.
    Chip(String),
    /// A program failed.
    Failed {
        /// Which.
        program: String,
        /// Its last word.
        message: String,
    },
    /// A file refuses.
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A signal ended the wait.
    Interrupted,
    /// The guest's kernel panicked.
    Panic(String),
    /// The guest did not end in time.
    Hung {
        /// The limit, seconds.
        seconds: u32,
        /// Its last words.
        console: String,
    },
    /// The guest ended without an answer.
    Silent(String),
    /// What the guest was to do failed there.
    Guest(String),
}

impl VmError {
    /// What the system says of `path`.
    pub(super) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |error| Self::File { path, error }
    }

    /// What the guest said last, where that helps.
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
            Self::Chip(why) => write!(f, "nandsim cannot be this chip: {why}"),
            Self::Failed { program, message } => write!(f, "{program}: {message}"),
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Interrupted => f.write_str("interrupted; the guest was ended"),
            Self::Panic(line) => write!(f, "the guest's kernel panicked: {line}"),
            Self::Hung { seconds, .. } => {
                write!(f, "the guest did not end within {seconds} s and was ended")
            }
            Self::Silent(_) => f.write_str("the guest ended without an answer"),
            Self::Guest(message) => write!(f, "in the guest: {message}"),
        }
    }
}

impl std::error::Error for VmError {}
