//! The helper module. It is built against the fetched kernel headers, like a user's own module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::VmError;
use super::process::output;
use super::store::Store;
use super::unpack::package;

const SOURCE: &str = include_str!("hwecc.c");
const MAKEFILE: &str = "obj-m := hwecc.o\n";

/// Build `hwecc.ko` for the kernel of the store.
pub(super) fn build(store: &Store, version: &str) -> Result<(), VmError> {
    let folder = store.path("packages/hwecc");
    fs::create_dir_all(&folder).map_err(VmError::file(&folder))?;
    write(&folder.join("hwecc.c"), SOURCE)?;
    write(&folder.join("Makefile"), MAKEFILE)?;
    unpack_headers(store, version)?;
    make(store, version, &folder, &[])?;
    let built = folder.join("hwecc.ko");
    fs::rename(&built, store.path("hwecc.ko")).map_err(VmError::file(built))
}

/// Build the modules in `folder` against the unpacked headers.
pub(super) fn make(
    store: &Store,
    version: &str,
    folder: &Path,
    switches: &[&str],
) -> Result<(), VmError> {
    let mut make = Command::new("make");
    make.arg("-C").arg(tree(store, version)).arg(format!("M={}", folder.display()));
    output(make.args(["CC=gcc", "modules"]).args(switches)).map(drop)
}

fn tree(store: &Store, version: &str) -> PathBuf {
    store.path("packages/headers").join(format!("usr/src/linux-headers-{version}-amd64"))
}

fn unpack_headers(store: &Store, version: &str) -> Result<(), VmError> {
    let packages = store.path("packages");
    let headers = packages.join("headers");
    let names = [
        format!("linux-headers-{version}-amd64"),
        format!("linux-headers-{version}-common"),
        "linux-kbuild-".to_owned(),
    ];
    for name in names {
        output(Command::new("dpkg-deb").arg("-x").arg(package(&packages, &name)?).arg(&headers))?;
    }
    redirect(&tree(store, version).join("Makefile"), &headers)
}

/// Change the headers' makefile, which contains the path at which they would be installed.
fn redirect(makefile: &Path, headers: &Path) -> Result<(), VmError> {
    let text = fs::read_to_string(makefile).map_err(VmError::file(makefile))?;
    let there = format!("include {}/usr/src/", headers.display());
    write(makefile, &text.replace("include /usr/src/", &there))
}

fn write(path: &Path, text: &str) -> Result<(), VmError> {
    fs::write(path, text).map_err(VmError::file(path))
}
