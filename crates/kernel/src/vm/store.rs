//! The store: the files that guests consist of. They are fetched and built once.
//!
//! ```text
//! packages/   as fetched      vmlinuz   the kernel
//! root/       the guest's files: modules, busybox, mtd-utils, the libraries they need
//!             and, if asked for, a UBI that knows fastmaps
//! hwecc.ko    the helper module      version   of the kernel      accelerator   what works here
//! ```

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::VmError;
use super::guest::Accelerator;

/// The folder with what guests are made of.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in `folder`, or in the user's cache folder.
    pub fn at(folder: Option<PathBuf>) -> Self {
        let caches = || {
            let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
            env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)
        };
        let own = || caches().unwrap_or_else(env::temp_dir).join("flysch/vm");
        // Programs that build modules run in folders of their own.
        let folder = folder.unwrap_or_else(own);
        Self { folder: std::path::absolute(&folder).unwrap_or(folder) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file or folder in the store.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Version of the kernel in the store.
    ///
    /// # Errors
    /// Fails if the guest was never set up.
    pub fn version(&self) -> Result<String, VmError> {
        let text = fs::read_to_string(self.path("version"));
        text.map_err(|_| VmError::NotSetUp(self.folder.clone()))
    }

    /// What executes guests on this machine, as the set-up found out.
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
