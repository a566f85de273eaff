//! The private folder of a run: the shim, the socket, and the files that programs map.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use super::SHIM;

/// Memory is the place for files that are mapped. Where it is not mounted, the folder for temporary
/// files serves too.
const MEMORY: &str = "/dev/shm";

/// A folder that nobody else may enter. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// Make the folder and write the shim into it.
    ///
    /// # Errors
    /// Fails if there is no place for it.
    pub fn create() -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix("flysch-").permissions(Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(MEMORY).or_else(|_| builder.tempdir())?;
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
