//! Debian packages: find them, fetch them and measure their size. The system's package manager does
//! the work.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::error::VmError;
use super::process::{find, output};

/// Programs that this machine needs to run guests, and the packages that contain them.
const PROGRAMS: [(&str, &str); 5] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("make", "make"),
    ("gcc", "gcc"),
];

/// Let apt wait this many seconds for another apt to release its lock: a new machine updates
/// itself.
const WAITS: &str = "-oDPkg::Lock::Timeout=600";

/// Packages whose files go into the guest, in addition to the kernel.
const TOOLS: [&str; 2] = ["busybox-static", "mtd-utils"];

/// Check that the programs exist. If this process is root, missing ones are installed.
pub(super) fn check_programs(tell: &mut dyn FnMut(&str)) -> Result<(), VmError> {
    for (program, package) in PROGRAMS {
        if find(program).is_some() {
            continue;
        }
        if rustix::process::geteuid().is_root() && find("apt-get").is_some() {
            tell(&format!("installing {package}"));
            let install =
                [WAITS, "install", "--quiet", "--yes", "--no-install-recommends", package];
            let mut command = Command::new("apt-get");
            output(command.args(install).env("DEBIAN_FRONTEND", "noninteractive"))?;
        }
        if find(program).is_none() {
            return Err(VmError::NoProgram { program, package });
        }
    }
    Ok(())
}

/// The requested kernel version, or the newest one of the platform's series in the package lists,
/// such as `6.1.0-56`.
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

/// The build number of a version, which follows its dash.
fn number(version: &str) -> u32 {
    version.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Fetch the packages and those in `more` into `folder`. Returns their size in bytes.
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
    // By default, apt fetches as another user, who may have no access to the folder.
    command.args(["-o", "APT::Sandbox::User=", "download"]);
    output(command.args(of_kernel).args(names).current_dir(folder))?;
    let entries = fs::read_dir(folder).map_err(VmError::file(folder))?;
    let sizes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    Ok(sizes.sum())
}
