//! Set-up: fetches, unpacks, builds and tries what guests consist of.

use std::env;
use std::fs;
use std::path::Path;

use super::error::VmError;
use super::guest::Accelerator;
use super::store::Store;
use super::{module, packages, process, qemu, ubi, unpack};

/// The most disk space that fetching, unpacking and building take, bytes: 85 MB of packages, 85 MB
/// of headers, and 20 MB that are kept.
const NEEDED: u64 = 260 << 20;

/// What the set-up did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// Version of the kernel.
    pub version: String,
    /// Size of the fetched packages in bytes.
    pub fetched: u64,
    /// Size of the store in bytes.
    pub kept: u64,
    /// What executes guests on this machine.
    pub accelerator: Accelerator,
}

impl Store {
    /// Fetch and build everything. With `with_fastmap`, this includes a UBI with fastmaps, which
    /// takes 140 MB more to fetch. `tell` is called at each step. An existing store is replaced.
    ///
    /// # Errors
    /// Fails if a program or package is missing, the disk is full or a step fails. Nothing
    /// incomplete is left.
    pub fn set_up(
        &self,
        kernel: Option<&str>,
        with_fastmap: bool,
        mut tell: impl FnMut(&str),
    ) -> Result<SetUp, VmError> {
        check_architecture(env::consts::ARCH)?;
        packages::check_programs(&mut tell)?;
        fs::create_dir_all(self.folder()).map_err(VmError::file(self.folder()))?;
        let needed = NEEDED + if with_fastmap { ubi::NEEDED } else { 0 };
        let build = |()| self.build(kernel, with_fastmap, &mut tell);
        let outcome = self.check_room(needed).and_then(build);
        if outcome.is_err() {
            self.clear();
        }
        outcome
    }

    /// Remove the files of the store. Its folder is removed only if it is then empty, because it
    /// belongs to the user and may contain other files.
    fn clear(&self) {
        for folder in ["packages", "root"] {
            fs::remove_dir_all(self.path(folder)).ok();
        }
        for file in ["vmlinuz", "hwecc.ko", "version", "accelerator"] {
            fs::remove_file(self.path(file)).ok();
        }
        fs::remove_dir(self.folder()).ok();
    }

    fn build(
        &self,
        kernel: Option<&str>,
        with_fastmap: bool,
        tell: &mut dyn FnMut(&str),
    ) -> Result<SetUp, VmError> {
        let more: &[&str] = if with_fastmap { &[ubi::SOURCE] } else { &[] };
        let version = packages::kernel_version(kernel)?;
        let fetched = packages::fetch(&self.path("packages"), &version, more, tell)?;
        tell("unpacking");
        unpack::unpack(self, &version)?;
        tell("building the helper module");
        module::build(self, &version)?;
        if with_fastmap {
            tell("building UBI with fastmaps");
            ubi::build(self, &version)?;
        }
        fs::remove_dir_all(self.path("packages")).map_err(VmError::file(self.path("packages")))?;
        self.write("version", &version)?;
        let accelerator = qemu::probe(self, tell)?;
        self.write("accelerator", accelerator.name())?;
        Ok(SetUp { version, fetched, kept: size_of(self.folder()), accelerator })
    }

    fn check_room(&self, needed: u64) -> Result<(), VmError> {
        let room = rustix::fs::statvfs(self.folder());
        let room = room.map_err(|error| VmError::file(self.folder())(error.into()))?;
        let free = room.f_bavail * room.f_frsize;
        if free < needed {
            return Err(VmError::Disk { folder: self.folder().to_owned(), needed, free });
        }
        Ok(())
    }
}

/// Check that this machine is one that guests can run on: packages and this program are for x86-64.
fn check_architecture(name: &'static str) -> Result<(), VmError> {
    match name {
        "x86_64" => Ok(()),
        other => Err(VmError::Architecture(other)),
    }
}

/// Size of all files below a folder in bytes.
fn size_of(folder: &Path) -> u64 {
    let text = process::output(std::process::Command::new("du").arg("-sb").arg(folder));
    let text = text.unwrap_or_default();
    text.split_whitespace().next().and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_processor_is_refused_in_a_line() {
        check_architecture("x86_64").expect("guests are of this processor");
        let line = check_architecture("aarch64").expect_err("there is no such guest").to_string();
        assert!(line.contains("aarch64") && !line.contains('\n'), "{line}");
    }
}
