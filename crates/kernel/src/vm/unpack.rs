//! Extract the guest's files from the packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::VmError;
use super::process::output;
use super::store::Store;

/// Folders of kernel modules that a guest may need. Single modules are not listed, because kernels
/// move them.
const MODULES: [&str; 9] = [
    "crypto",
    "drivers/mtd/mtd",
    "drivers/mtd/nand",
    "drivers/mtd/ubi",
    "drivers/nvdimm",
    "fs/ext4",
    "fs/jbd2",
    "fs/jffs2",
    "fs/ubifs",
];
/// Programs of mtd-utils that runs on the machine call.
const MTD_UTILS: [&str; 7] =
    ["flash_erase", "nanddump", "nandwrite", "ubiattach", "ubidetach", "ubiformat", "ubimkvol"];

/// Extract what guests need from the fetched packages.
pub(super) fn unpack(store: &Store, version: &str) -> Result<(), VmError> {
    let (packages, root) = (store.path("packages"), store.path("root"));
    fs::remove_dir_all(&root).ok();
    let modules = format!("lib/modules/{version}-amd64");
    for folder in ["bin", "usr/sbin", &modules] {
        fs::create_dir_all(root.join(folder)).map_err(VmError::file(&root))?;
    }
    take_out(&package(&packages, "linux-image-")?, &packages.join("image"), &patterns(&modules))?;
    let image = packages.join("image");
    let from = image.join(&modules);
    let from = if from.exists() { from } else { image.join("usr").join(&modules) };
    move_to(&from, &root.join(&modules))?;
    move_to(&image.join(format!("boot/vmlinuz-{version}-amd64")), &store.path("vmlinuz"))?;
    take_out(&package(&packages, "busybox-static")?, &packages.join("busybox"), &[])?;
    let busybox = root.join("bin/busybox");
    move_to(&one_of(&packages.join("busybox"), &["bin/busybox", "usr/bin/busybox"]), &busybox)?;
    take_out(&package(&packages, "mtd-utils")?, &packages.join("mtd"), &[])?;
    for program in MTD_UTILS {
        let from = packages.join("mtd/usr/sbin").join(program);
        move_to(&from, &root.join("usr/sbin").join(program))?;
    }
    // modprobe reads the lists that depmod writes.
    let mut depmod = Command::new(&busybox);
    output(depmod.args(["depmod", "-b"]).arg(&root).arg(format!("{version}-amd64"))).map(drop)
}

/// Patterns of the files that are extracted from a kernel's package.
fn patterns(modules: &str) -> Vec<String> {
    let boot = "./boot/vmlinuz-*".to_owned();
    let lists = ["modules.order", "modules.builtin", "modules.builtin.modinfo"];
    let lists = lists.map(|name| format!("*{modules}/{name}"));
    let folders = MODULES.into_iter().chain(["lib", "drivers/mtd/mtd*.ko*", "fs/mbcache.ko*"]);
    let folders = folders.map(|folder| format!("*{modules}/kernel/{folder}*"));
    folders.chain(lists).chain([boot]).collect()
}

/// Unpack a package: all of it, or the files that match. A pattern without matches is not an error.
pub(super) fn take_out(package: &Path, folder: &Path, patterns: &[String]) -> Result<(), VmError> {
    fs::create_dir_all(folder).map_err(VmError::file(folder))?;
    let failed = |error: std::io::Error| VmError::file(package)(error);
    let mut archive = Command::new("dpkg-deb");
    let archive = archive.arg("--fsys-tarfile").arg(package).stdout(Stdio::piped());
    let mut archive = archive.spawn().map_err(failed)?;
    let mut tar = Command::new("tar");
    tar.args(["-x", "-C"]).arg(folder);
    if !patterns.is_empty() {
        tar.arg("--wildcards").args(patterns).stderr(Stdio::null());
    }
    if let Some(stream) = archive.stdout.take() {
        tar.stdin(stream);
    }
    tar.status().map_err(VmError::file("tar"))?;
    let status = archive.wait().map_err(VmError::file(package))?;
    if status.success() {
        return Ok(());
    }
    let message = format!("{} cannot be unpacked", package.display());
    Err(VmError::Failed { program: "dpkg-deb".to_owned(), message })
}

/// The fetched package whose name begins with `prefix`.
pub(super) fn package(folder: &Path, prefix: &str) -> Result<PathBuf, VmError> {
    let entries = fs::read_dir(folder).map_err(VmError::file(folder))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_wanted = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
            && path.extension().is_some_and(|extension| extension == "deb")
    };
    let message = format!("no package {prefix}*.deb was fetched");
    let absent = || VmError::Failed { program: "apt-get download".to_owned(), message };
    paths.find(is_wanted).ok_or_else(absent)
}

fn one_of(folder: &Path, names: &[&str]) -> PathBuf {
    let there = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    there.unwrap_or_else(|| folder.join(names[0]))
}

fn move_to(from: &Path, to: &Path) -> Result<(), VmError> {
    if to.is_dir() {
        fs::remove_dir_all(to).map_err(VmError::file(to))?;
    }
    fs::rename(from, to).map_err(VmError::file(from))
}
