//! The private folder of a run: the shim, the socket, and the files that programs map.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::{Builder, TempDir};

use super::SHIM;

/// The preferred place for the mapped files: a file system in memory.
const MEMORY: &str = "/dev/shm";

/// The possible places for the folder, the best first: in memory, then among temporary files.
fn places() -> Vec<PathBuf> {
    let given = ["XDG_RUNTIME_DIR", "TMPDIR"].map(std::env::var_os).into_iter().flatten();
    let mut places = vec![PathBuf::from(MEMORY)];
    places.extend(given.map(PathBuf::from).chain([PathBuf::from("/tmp")]));
    places.dedup();
    places
}

/// A folder that nobody else may enter. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// Create the folder and write the shim into it.
    ///
    /// # Errors
    /// If no place can be used, the error says why for each.
    pub fn create() -> io::Result<Self> {
        let mut refused = Vec::new();
        for place in places() {
            match Self::within(&place) {
                Ok(folder) => return Ok(folder),
                Err(error) => refused.push(format!("{}: {error}", place.display())),
            }
        }
        let why = refused.join("; ");
        Err(io::Error::other(format!("there is no folder for its library ({why})")))
    }

    fn within(place: &Path) -> io::Result<Self> {
        // The shim is mapped as code, which the kernel refuses on such a mount.
        if statvfs(place)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
            return Err(io::Error::other("it is mounted noexec"));
        }
        let mut builder = Builder::new();
        builder.prefix("flysch-").permissions(Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(place)?;
        fs::write(folder.path().join("shim.so"), SHIM)?;
        Ok(Self(folder))
    }

    /// The path of the folder, which the shim finds in the variable `FLYSCH_RUN`.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The shared library for `LD_PRELOAD`.
    pub fn shim(&self) -> PathBuf {
        self.0.path().join("shim.so")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.0.path().join("socket")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
