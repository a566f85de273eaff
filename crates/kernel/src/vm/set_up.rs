//! Setting up: the store of what guests are made of is fetched, unpacked, built and tried.

use std::env;
use std::fs;
use std::path::Path;

use super::error::VmError;
use super::guest::Accelerator;
use super::store::Store;
use super::{module, packages, process, qemu, ubi, unpack};

/// Room that fetching, unpacking and building take at most, bytes: 85 MB of packages, 85 MB of
/// headers, 20 MB of what is kept.
const NEEDED: u64 = 260 << 20;

/// What setting up did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// Version of the kernel.
    pub version: String,
    /// Bytes of the packages fetched.
    pub fetched: u64,
    /// Bytes the store takes.
    pub kept: u64,
    /// What guests run on here.
    pub accelerator: Accelerator,
}

impl Store {
    /// Fetch and build everything, `tell`ing of each step, and `with_fastmap` a UBI with fastmaps, too
    /// (140 MB more to fetch). What is there already is made anew.
    ///
    /// # Errors
    /// A program or a package is absent, the disk is full, a step failed: nothing half-made is left.
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

    /// Remove what a store holds, and its folder if that leaves nothing: it is the user's, and may
    /// hold more.
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

/// The guest has the processor of the machine: packages and this program are for it.
fn check_architecture(name: &'static str) -> Result<(), VmError> {
    match name {
        "x86_64" => Ok(()),
        other => Err(VmError::Architecture(other)),
    }
}

/// Bytes of all files below a folder.
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
