//! Runs the command and checks its output.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The exit code and the output of a run that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Run `flysch` in `folder`. Blanks separate the arguments.
pub(crate) fn flysch(folder: &Path, arguments: &str) -> Finished {
    let output = command(folder, arguments).output().expect("the command starts");
    let Output { status, stdout, stderr } = output;
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Finished { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Run `flysch`, expect success and nothing on stderr, and return its output.
pub(crate) fn output_of(folder: &Path, arguments: &str) -> String {
    let finished = flysch(folder, arguments);
    assert_eq!(finished.code, Some(0), "{arguments}: {}", finished.stderr);
    assert_eq!(finished.stderr, "", "{arguments}");
    finished.stdout
}

/// Run `flysch`, expect exit code 2 with one line on stderr and nothing else, and return the line.
pub(crate) fn complaint_of(folder: &Path, arguments: &str) -> String {
    let finished = flysch(folder, arguments);
    assert_eq!(finished.code, Some(2), "{arguments}");
    assert_eq!(finished.stdout, "", "{arguments}");
    let line = finished.stderr.strip_suffix('\n').expect("a whole line");
    assert!(line.starts_with("flysch: ") && !line.contains('\n'), "{arguments}: {line}");
    line.to_owned()
}

/// Run `flysch` with a reader that closes the output at once. Returns the exit code and stderr.
pub(crate) fn abandoned(folder: &Path, arguments: &str) -> (Option<i32>, String) {
    let mut command = command(folder, arguments);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flysch"));
    command.current_dir(folder).args(arguments.split_whitespace());
    command
}
