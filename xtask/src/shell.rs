//! Other programs: where they are, and how to run them.
//!
//! 1. No program started here reads the standard input.
//! 2. A program that cannot be started is told apart from one that failed.

use crate::Outcome;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies inside the workspace")
}

/// The cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs `command` with its output on the terminal; a status other than success is an error.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = text(command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|cause| format!("cannot start `{line}`: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed: {status}").into()) }
}

/// Runs `command` and returns what it printed on the standard output; a status other than
/// success is an error.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let line = text(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|cause| format!("cannot start `{line}`: {cause}"))?;
    if !output.status.success() {
        return Err(format!("`{line}` failed: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a program of this name is on the search path, or in a directory for administration.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .any(|directory| directory.join(program).is_file())
}

/// Builds `flysch` with the release profile and returns where the binary lies: the release
/// folder beside the one this program was built into.
pub(crate) fn release_binary() -> Outcome<PathBuf> {
    run(&mut cargo(&["build", "--release", "--bin", "flysch"]))?;
    let this = env::current_exe()?;
    let target =
        this.parent().and_then(Path::parent).ok_or("xtask runs outside a target folder")?;
    let binary = target.join("release").join(format!("flysch{}", env::consts::EXE_SUFFIX));
    if binary.is_file() {
        Ok(binary)
    } else {
        Err(format!("the release build left no {}", binary.display()).into())
    }
}

/// The command line of `command`, as one would type it.
fn text(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}
