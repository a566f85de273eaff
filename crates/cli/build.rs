//! Tells the program the commit of its sources.

use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]);
    println!("cargo:rustc-env=FLYSCH_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]);
    println!("cargo:rerun-if-changed={}", log.as_deref().unwrap_or("build.rs"));
}

/// What git answers. None if it fails, as in the sources of a package.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
