//! `flysch run` with programs that nobody here wrote. A program that is not installed skips its
//! test, and the test says so. `cargo xtask ci` installs them.

mod alone;
mod blame;
mod calls;
mod extension;
mod failures;
mod fuse;
mod others;
pub(crate) mod programs;
mod python;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The exit code and the output of `flysch run`, and its figures.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    figures: Value,
}

/// Run a program on a machine. `options` are separated by blanks.
fn run(folder: &Path, options: &str, program: &[&str]) -> Ran {
    let out = folder.join("figures.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flysch"));
    command.current_dir(folder).arg("run").args(options.split_whitespace());
    command.arg("--out").arg(&out).args(["--force", "--format", "json", "--"]).args(program);
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    let figures = fs::read(&out).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let (stdout, stderr) = (text(stdout), text(stderr));
    Ran { code: status.code(), stdout, stderr, figures: figures.unwrap_or(Value::Null) }
}

/// Run a program on a machine, expect success, and return what it printed.
fn output_of(folder: &Path, options: &str, program: &[&str]) -> Ran {
    let ran = run(folder, options, program);
    assert_eq!(ran.code, Some(0), "{options} {program:?}: {}", ran.stderr);
    ran
}

/// Run a program natively and return what it printed.
pub(crate) fn native(folder: &Path, program: &[&str]) -> String {
    let mut command = Command::new(program[0]);
    let output = command.current_dir(folder).args(&program[1..]).output().expect("it starts");
    assert!(output.status.success(), "{program:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The path of a program, if it is installed.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
pub(crate) fn installed(program: &str) -> Option<String> {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"].map(Path::new);
    let found = folders.map(|folder| folder.join(program)).into_iter().find(|it| it.is_file());
    if found.is_none() {
        eprintln!("skipped: {program} is not installed (apt-get install {program})");
    }
    found.map(|path: PathBuf| path.display().to_string())
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A folder for a native run, in memory where the host has such a place: SQLite waits for the
/// host's disk at each sync, and what it prints does not depend on the disk.
fn quick_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| folder())
}

/// Names of the files in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: Result<fs::DirEntry, _>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "figures.json");
    names.sort();
    names
}
