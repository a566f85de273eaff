//! Run other programs and wait for their end.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::VmError;

/// The path of a program on the search path or in a folder for administration tools.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let for_administration =
        || which::which_in_global(program, Some("/usr/sbin:/sbin")).ok()?.next();
    which::which(program).ok().or_else(for_administration)
}

/// Run a program and return its output. If it fails, the error holds its last line.
pub(super) fn output(command: &mut Command) -> Result<String, VmError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |message: String| VmError::Failed { program: program.clone(), message };
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(failed(last.unwrap_or("it failed and said nothing").trim().to_owned()))
}
