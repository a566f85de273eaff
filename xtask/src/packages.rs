//! System packages that some stages use if they are installed, such as `mtd-utils`, QEMU, valgrind
//! and a browser.
//!
//! 1. Nothing here fails a run. If a package cannot be installed, this is reported with its
//!    consequence.

use crate::shell;
use std::process::Command;

/// A package, a program that it contains, and the consequence if it is missing.
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
        name: "valgrind",
        program: "valgrind",
        without: "instructions for each simulated operation will not be counted",
    },
    Package {
        name: "sqlite3",
        program: "sqlite3",
        without: "tests of `flysch run` with SQLite's own shell will be skipped",
    },
    Package {
        name: "python3",
        program: "/usr/bin/python3",
        without: "tests of `flysch run` with Python will be skipped",
    },
    Package {
        name: "python3-alembic",
        program: "/usr/lib/python3/dist-packages/alembic/__init__.py",
        without: "the test of `flysch run` with an application of SQLAlchemy will be skipped",
    },
    Package {
        name: "libsqlite3-dev",
        program: "/usr/include/sqlite3.h",
        without: "the test of `flysch run` with a program in C will be skipped",
    },
    Package {
        name: "php-cli",
        program: "php",
        without: "the test of `flysch run` with PHP will be skipped",
    },
    Package {
        name: "php-sqlite3",
        program: "/usr/share/doc/php-sqlite3/copyright",
        without: "the test of `flysch run` with PHP will be skipped",
    },
    Package {
        name: "libdbd-sqlite3-perl",
        program: "/usr/share/doc/libdbd-sqlite3-perl/copyright",
        without: "the test of `flysch run` with Perl will be skipped",
    },
    Package {
        name: "ruby-sqlite3",
        program: "/usr/share/doc/ruby-sqlite3/copyright",
        without: "the test of `flysch run` with Ruby will be skipped",
    },
    Package {
        name: "libsqlite3-tcl",
        program: "/usr/share/doc/libsqlite3-tcl/copyright",
        without: "the test of `flysch run` with Tcl will be skipped",
    },
    Package {
        name: "python3-django",
        program: "/usr/lib/python3/dist-packages/django/__init__.py",
        without: "the test of `flysch run` with Django will be skipped",
    },
    Package {
        name: "python3-pytest",
        program: "/usr/lib/python3/dist-packages/pytest/__init__.py",
        without: "the example of a budget with pytest will be skipped",
    },
    Package {
        name: "cmake",
        program: "ctest",
        without: "the example of a budget with CTest will be skipped",
    },
    Package {
        name: "strace",
        program: "strace",
        without: "the calls of programs on a simulated stack will not be compared with native ones",
    },
    Package {
        name: "chromium",
        program: "chromium",
        without: "the smoke run will not open report.html in a browser",
    },
];

/// Install the missing packages that stages use, if possible.
pub(crate) fn install() {
    let is_present = |package: &Package| shell::is_installed(package.program);
    if PACKAGES.iter().all(is_present) {
        println!("all present");
    } else {
        let absent = PACKAGES.iter().filter(|package| !is_present(package));
        provide(absent);
    }
}

/// Install packages, if possible, and report for each whether it is now installed.
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
