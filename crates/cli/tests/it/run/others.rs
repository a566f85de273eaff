//! Many programs and languages: each prints on a machine what it prints natively.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{folder, installed, names, native, output_of, quick_folder};

/// A script, its name, the program that runs it, and how to see whether that has a binding.
struct Script {
    program: &'static str,
    name: &'static str,
    text: &'static str,
    proof: &'static [&'static str],
    package: &'static str,
}

const SCRIPTS: [Script; 6] = [
    Script {
        program: "perl",
        name: "dbi.pl",
        text: include_str!("scripts/dbi.pl"),
        proof: &["-MDBD::SQLite", "-e", "1"],
        package: "libdbd-sqlite3-perl",
    },
    Script {
        program: "php",
        name: "both.php",
        text: include_str!("scripts/both.php"),
        proof: &["-r", "new SQLite3(':memory:'); new PDO('sqlite::memory:');"],
        package: "php-sqlite3",
    },
    Script {
        program: "ruby",
        name: "gem.rb",
        text: include_str!("scripts/gem.rb"),
        proof: &["-rsqlite3", "-e", "1"],
        package: "ruby-sqlite3",
    },
    Script {
        program: "tclsh",
        name: "binding.tcl",
        text: include_str!("scripts/binding.tcl"),
        proof: &["proof.tcl"],
        package: "libsqlite3-tcl",
    },
    Script {
        program: "python3",
        name: "threads.py",
        text: include_str!("scripts/threads.py"),
        proof: &["-c", "import sqlite3"],
        package: "python3",
    },
    Script {
        program: "python3",
        name: "django_app.py",
        text: include_str!("scripts/django_app.py"),
        proof: &["-c", "import django"],
        package: "python3-django",
    },
];

/// Whether the program is installed with its binding.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn has_binding(script: &Script) -> bool {
    let folder = folder();
    fs::write(folder.path().join("proof.tcl"), "package require sqlite3").expect("a script");
    let mut proof = Command::new(format!("/usr/bin/{}", script.program));
    proof.args(script.proof).current_dir(folder.path());
    let status = proof.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has = status.is_ok_and(|status| status.success());
    if !has {
        eprintln!("skipped: {} is not installed (apt-get install {0})", script.package);
    }
    has
}

/// Run a program on a machine and natively, with the same files, and compare what they print.
fn compare(stack: &str, files: &[(&str, &str)], program: &[&str]) {
    let folders = [folder(), quick_folder()];
    for (name, text) in files {
        for folder in &folders {
            fs::write(folder.path().join(name), text).expect("a file");
        }
    }
    let before = names(folders[0].path());
    let ran = output_of(folders[0].path(), &format!("--on {stack}"), program);
    assert_eq!(ran.stdout, native(folders[1].path(), program), "{stack} {program:?}");
    assert_eq!(names(folders[0].path()), before, "{stack} {program:?}: the host keeps nothing");
}

#[test]
fn languages_print_what_they_print_natively() {
    for script in SCRIPTS.iter().filter(|script| has_binding(script)) {
        let program = format!("/usr/bin/{}", script.program);
        let files = [(script.name, script.text)];
        for (stack, mode) in [
            ("sqlite/jffs2", "delete"),
            ("sqlite/yaffs2", "truncate"),
            ("sqlite/ftl", "persist"),
            ("sqlite/ubifs", "wal"),
            ("sqlite/tmpfs", "memory"),
        ] {
            compare(stack, &files, &[&program, script.name, mode]);
        }
    }
}

#[test]
fn the_shell_does_all_that_it_can() {
    let Some(shell) = installed("sqlite3") else { return };
    let rows: Vec<String> = (0..500).map(|n| format!("{n},value {}", n * n)).collect();
    let rows = rows.join("\n");
    let files = [("rows.csv", rows.as_str()), ("all.sql", include_str!("scripts/shell.sql"))];
    for stack in ["sqlite/jffs2", "sqlite/yaffs2", "sqlite/ubifs+pramfs", "sqlite/ftl"] {
        compare(stack, &files, &["sh", "-c", &format!("{shell} main.db < all.sql")]);
    }
    let files = [("log.sql", include_str!("scripts/log.sql"))];
    for stack in ["sqlite/yaffs2", "sqlite/ubifs", "sqlite/ftl", "sqlite/tmpfs"] {
        compare(stack, &files, &["sh", "-c", &format!("{shell} main.db < log.sql")]);
    }
}

#[test]
fn names_with_options_and_a_file_system_of_the_program() {
    if !Path::new("/usr/include/sqlite3.h").is_file() {
        eprintln!("skipped: libsqlite3-dev is not installed");
        return;
    }
    let built = folder();
    fs::write(built.path().join("uri.c"), include_str!("scripts/uri.c")).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.current_dir(built.path()).args(["uri.c", "-o", "uri", "-lsqlite3"]);
    assert!(compiler.status().expect("a C compiler").success());
    let program = built.path().join("uri").display().to_string();
    for stack in ["sqlite/jffs2", "sqlite/ubifs"] {
        compare(stack, &[], &[&program]);
    }
}
