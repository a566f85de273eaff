//! A temporary folder for the files of one stage.

use crate::Outcome;
use std::fs;
use std::path::PathBuf;

/// An empty folder that is removed when this is dropped.
pub(crate) struct Scratch {
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn open() -> Outcome<Self> {
        let path = std::env::temp_dir().join(format!("flysch-xtask-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.path) {
            println!("{} stays behind: {cause}", self.path.display());
        }
    }
}
