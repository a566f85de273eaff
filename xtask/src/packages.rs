//! System packages some stages use when they are there: `mtd-utils` and a browser.
//!
//! 1. Nothing here fails a run: a package that cannot be had is named, with what goes without it.

use crate::shell;
use std::process::Command;

/// A package, the program that shows it is there, and what goes without it.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
    pub(crate) without: &'static str,
}

const PACKAGES: &[Package] = &[
    Package {
        name: "mtd-utils",
        program: "mkfs.jffs2",
        without: "tests against images of mkfs.jffs2 and mkfs.ubifs will be skipped",
    },
    Package {
        name: "qemu-system-x86",
        program: "qemu-system-x86_64",
        without: "the simulator will not be compared with the kernel in a virtual machine",
    },
    Package {
        name: "chromium",
        program: "chromium",
        without: "the smoke run will not open report.html in a browser",
    },
];

/// Installs what is absent of what the stages use, if this may be done here.
pub(crate) fn install() {
    let is_present = |package: &Package| shell::is_installed(package.program);
    if PACKAGES.iter().all(is_present) {
        println!("all present");
    } else {
        let absent = PACKAGES.iter().filter(|package| !is_present(package));
        provide(absent);
    }
}

/// Installs packages, if this may be done here, and tells of each whether it is there.
pub(crate) fn provide<'a>(absent: impl IntoIterator<Item = &'a Package>) {
    let obstacle = obstacle();
    if obstacle.is_none() {
        apt_get(&["update", "--quiet"]);
    }
    for package in absent {
        if obstacle.is_none() {
            apt_get(&["install", "--quiet", "--yes", "--no-install-recommends", package.name]);
        }
        if shell::is_installed(package.program) {
            println!("{}: installed", package.name);
        } else {
            let reason = obstacle.unwrap_or("apt-get could not install it");
            println!("{}: absent ({reason}); {}", package.name, package.without);
        }
    }
}

fn obstacle() -> Option<&'static str> {
    if !shell::is_installed("apt-get") {
        return Some("there is no apt-get here");
    }
    let user = shell::output(Command::new("id").arg("-u"));
    let is_root = user.is_ok_and(|id| id.trim() == "0");
    (!is_root).then_some("only root may install it")
}

fn apt_get(arguments: &[&str]) {
    let mut command = Command::new("apt-get");
    if let Err(failure) =
        shell::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    {
        println!("{failure}");
    }
}
