//! Finds and runs other programs.
//!
//! 1. No program that is started here reads the standard input.
//! 2. The error of a program that cannot be started differs from that of one that failed.

use crate::Outcome;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies inside the workspace")
}

/// A command that runs this cargo in the root of the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Run `command` with its output on the terminal. Any status but success is an error.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = text(command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|cause| format!("cannot start `{line}`: {cause}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed: {status}").into()) }
}

/// Run `command` and return its standard output. Any status but success is an error.
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

/// Whether a program is on the search path or in a folder for administration tools.
pub(crate) fn is_installed(program: &str) -> bool {
    let for_administration = || which::which_in_global(program, Some("/usr/sbin:/sbin"));
    which::which(program).is_ok()
        || for_administration().is_ok_and(|mut found| found.next().is_some())
}

/// Build `flysch` with the release profile and return the path of the binary. It lies in the folder
/// `release`, next to the folder of this program.
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

/// The command line of `command`, as a person would type it.
fn text(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}
