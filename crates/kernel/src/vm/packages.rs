//! Debian packages: found, fetched, counted. The system's own package manager does all of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::error::VmError;
use super::process::{find, output};

/// Programs of this machine that guests need, and the packages that have them.
const PROGRAMS: [(&str, &str); 5] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("make", "make"),
    ("gcc", "gcc"),
];

/// Packages whose files go into the guest, beside the kernel's.
const TOOLS: [&str; 2] = ["busybox-static", "mtd-utils"];

/// Check that the programs are there. Root gets the missing ones installed.
pub(super) fn check_programs(tell: &mut dyn FnMut(&str)) -> Result<(), VmError> {
    for (program, package) in PROGRAMS {
        if find(program).is_some() {
            continue;
        }
        if rustix::process::geteuid().is_root() && find("apt-get").is_some() {
            tell(&format!("installing {package}"));
            let install = ["install", "--quiet", "--yes", "--no-install-recommends", package];
            let mut command = Command::new("apt-get");
            output(command.args(install).env("DEBIAN_FRONTEND", "noninteractive"))?;
        }
        if find(program).is_none() {
            return Err(VmError::NoProgram { program, package });
        }
    }
    Ok(())
}

/// The newest kernel of the platform's series in the package lists, such as `6.1.0-56`, or the one
/// asked for.
pub(super) fn kernel_version(asked: Option<&str>) -> Result<String, VmError> {
    let pattern = r"^linux-image-6\.1\.[0-9]+-[0-9]+-amd64$";
    let listed = output(Command::new("apt-cache").args(["search", "--names-only", pattern]))?;
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let versions = names.filter_map(|name| {
        name.strip_prefix("linux-image-")?.strip_suffix("-amd64").map(str::to_owned)
    });
    let found = match asked {
        Some(asked) => versions.into_iter().find(|version| version == asked),
        None => versions.max_by_key(|version| number(version)),
    };
    found.ok_or(VmError::NoKernelPackage)
}

/// Build number of a version, behind its dash.
fn number(version: &str) -> u32 {
    version.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Fetch the packages into `folder`, with those of `more`, and tell their size in bytes.
pub(super) fn fetch(
    folder: &Path,
    version: &str,
    more: &[&str],
    tell: &mut dyn FnMut(&str),
) -> Result<u64, VmError> {
    fs::create_dir_all(folder).map_err(VmError::file(folder))?;
    let of_kernel = [
        format!("linux-image-{version}-amd64"),
        format!("linux-headers-{version}-amd64"),
        format!("linux-headers-{version}-common"),
        "linux-kbuild-6.1".to_owned(),
    ];
    let names = [&TOOLS[..], more].concat();
    tell(&format!("fetching Linux {version}, its headers, {}", names.join(", ")));
    let mut command = Command::new("apt-get");
    // The folder may be closed to the user that apt drops its rights to.
    command.args(["-o", "APT::Sandbox::User=", "download"]);
    output(command.args(of_kernel).args(names).current_dir(folder))?;
    let entries = fs::read_dir(folder).map_err(VmError::file(folder))?;
    let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    Ok(sizes.sum())
}
