//! UBI with fastmaps. Debian's kernel has none, so UBI is built from the kernel's source package.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::error::VmError;
use super::module;
use super::process::output;
use super::store::Store;
use super::unpack::{package, take_out};

/// The source package for this series of kernels (140 MB).
pub(super) const SOURCE: &str = "linux-source-6.1";
/// Bytes that the package and the files extracted from it need.
pub(super) const NEEDED: u64 = 300 << 20;
/// Switches for make and for the compiler that enable fastmaps, which the configuration in the
/// headers does not.
const SWITCHES: [&str; 2] = ["CONFIG_MTD_UBI_FASTMAP=y", "KCFLAGS=-DCONFIG_MTD_UBI_FASTMAP=1"];

/// Build `ubi-fastmap.ko` against the unpacked headers and add it to the guest's files.
pub(super) fn build(store: &Store, version: &str) -> Result<(), VmError> {
    let packages = store.path("packages");
    let folder = packages.join("source");
    let archive = format!("*/{SOURCE}.tar.xz");
    take_out(&package(&packages, SOURCE)?, &folder, &[archive])?;
    let archive = folder.join(format!("usr/src/{SOURCE}.tar.xz"));
    let inside = format!("{SOURCE}/drivers/mtd/ubi");
    output(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&folder).arg(&inside))?;
    module::make(store, version, &folder.join(&inside), &SWITCHES)?;
    strip(&folder.join(&inside).join("ubi.ko"), &store.path("root/ubi-fastmap.ko"))
}

/// Remove the checksums of the module's symbols. They cover structures that differ from Debian's.
/// UBIFS stays Debian's, and the parts that it uses are the same.
fn strip(built: &Path, module: &Path) -> Result<(), VmError> {
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["--strip-debug", "--remove-section=__kcrctab_gpl"]);
    output(objcopy.arg("--remove-section=.rela__kcrctab_gpl").arg(built).arg(module))?;
    fs::remove_file(built).map_err(VmError::file(built))
}
