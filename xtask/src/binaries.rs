//! Builds test binaries once, so that they can be run many times.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::{Outcome, shell};

/// Build the tests that `arguments` select, in the workspace at `tree`, and return the paths of
/// their binaries. Dependencies are not fetched or built again.
pub(crate) fn of_tests(tree: &Path, arguments: &[&str]) -> Outcome<Vec<PathBuf>> {
    let this = std::env::current_exe()?;
    let target =
        this.parent().and_then(Path::parent).ok_or("xtask runs outside a target folder")?;
    let mut command = shell::cargo(&["test", "--no-run", "--message-format", "json"]);
    command.args(arguments).current_dir(tree).env("CARGO_TARGET_DIR", target);
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut binaries = Vec::new();
    for message in messages {
        let errors = message["message"]["rendered"].as_str();
        if let Some(error) = errors.filter(|_| message["message"]["level"] == "error") {
            eprintln!("{error}");
        }
        let is_test = message["profile"]["test"] == true;
        if let Some(binary) = message["executable"].as_str().filter(|_| is_test) {
            binaries.push(PathBuf::from(binary));
        }
    }
    if output.status.success() {
        Ok(binaries)
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("the tests in {} do not build:\n{errors}", tree.display()).into())
    }
}
