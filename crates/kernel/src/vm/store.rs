//! The store: what guests are made of, fetched and built once.
//!
//! ```text
//! packages/   as fetched      vmlinuz   the kernel
//! root/       the guest's files: modules, busybox, mtd-utils, the libraries they need
//!             and, where asked for, a UBI that knows fastmaps
//! hwecc.ko    the helper module      version   of the kernel      accelerator   what works here
//! ```

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::VmError;
use super::guest::Accelerator;

/// The folder of what guests are made of.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store at `folder`, or at the user's own place for caches.
    pub fn at(folder: Option<PathBuf>) -> Self {
        let caches = || {
            let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
            env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)
        };
        let own = || caches().unwrap_or_else(env::temp_dir).join("flysch/vm");
        Self { folder: folder.unwrap_or_else(own) }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file or folder of the store.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Version of the kernel in the store.
    ///
    /// # Errors
    /// It was never set up.
    pub fn version(&self) -> Result<String, VmError> {
        let text = fs::read_to_string(self.path("version"));
        text.map_err(|_| VmError::NotSetUp(self.folder.clone()))
    }

    /// What guests run on here, as setting up found out.
    pub(super) fn accelerator(&self) -> Accelerator {
        let text = fs::read_to_string(self.path("accelerator")).unwrap_or_default();
        text.parse().unwrap_or(Accelerator::Tcg)
    }

    /// Write a file of the store.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), VmError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(VmError::file(path))
    }
}
