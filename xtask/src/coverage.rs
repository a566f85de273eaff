//! `cargo xtask coverage`: which lines the tests reach, by crate and module. For the Linux file
//! systems it also lists the lines that they do not reach.
//!
//! 1. The counts are those of `cargo llvm-cov`. Without it, the command says how to get it.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::{Outcome, shell};

/// Modules whose unreached lines are listed.
const LISTED: [&str; 5] = ["jffs2", "ubifs", "ubi", "yaffs2", "ftl"];
/// Packages that are measured by default: the storage stack with its own tests.
const PACKAGES: [&str; 2] = ["flysch-linux", "flysch-fuzz"];

/// Number of reached lines, and number of all lines.
type Share = (u64, u64);

/// Run the tests of `packages`, and print the coverage.
pub(crate) fn run(packages: &[String]) -> Outcome {
    if !shell::is_installed("cargo-llvm-cov") {
        return Err("cargo-llvm-cov is missing; get it with `rustup component add llvm-tools` \
                    and `cargo install cargo-llvm-cov --locked`"
            .into());
    }
    let usual = PACKAGES.map(str::to_owned);
    let packages = if packages.is_empty() { &usual } else { packages };
    let mut command = shell::cargo(&["llvm-cov", "test", "--no-fail-fast", "--json"]);
    for package in packages {
        command.args(["--package", package]);
    }
    let report: Value = serde_json::from_str(&measured(&mut command)?)?;
    let files = report["data"][0]["files"].as_array().ok_or("cargo llvm-cov gave no files")?;
    let mut modules: BTreeMap<String, Share> = BTreeMap::new();
    let mut missed: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for file in files {
        let Some(path) = source(file["filename"].as_str().unwrap_or_default()) else { continue };
        let lines = &file["summary"]["lines"];
        let share = modules.entry(module_of(path)).or_default();
        share.0 += lines["covered"].as_u64().unwrap_or(0);
        share.1 += lines["count"].as_u64().unwrap_or(0);
        if LISTED.iter().any(|name| path.starts_with(&format!("crates/linux/src/{name}/"))) {
            missed.insert(path.to_owned(), missed_lines(&file["segments"]));
        }
    }
    print(&modules, &missed);
    Ok(())
}

/// Run the command and return its report. The output of the tests goes to standard error.
fn measured(command: &mut Command) -> Outcome<String> {
    let target = std::env::current_exe()?;
    let target = target.ancestors().nth(2).ok_or("xtask runs outside a target folder")?;
    let report = target.join("coverage.json");
    command.arg("--output-path").arg(&report).env("CARGO_TARGET_DIR", target);
    shell::run(command)?;
    Ok(std::fs::read_to_string(report)?)
}

/// The path of a source file within the workspace. None for tests and for files elsewhere.
fn source(path: &str) -> Option<&str> {
    let path = path.strip_prefix(shell::root().to_str()?)?.trim_start_matches('/');
    (path.starts_with("crates/") && path.contains("/src/")).then_some(path)
}

/// The crate and the module of a source file, such as `linux/jffs2`.
fn module_of(path: &str) -> String {
    let inner = path.trim_start_matches("crates/");
    let Some((name, file)) = inner.split_once("/src/") else { return inner.to_owned() };
    let module = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    format!("{name}/{module}")
}

/// Where a count begins to apply to a file's text: it does until the next segment.
#[derive(Clone, Copy)]
struct Segment {
    line: u64,
    count: u64,
    has_count: bool,
    /// Whether a piece of code begins here, rather than that the one around it goes on.
    is_entry: bool,
}

impl Segment {
    /// The fields in the order of the report: line, column, count, whether it has one, whether a
    /// region begins, and whether that is a gap between two.
    fn of(fields: &Value) -> Self {
        let is = |at: usize| fields[at] == true;
        Self {
            line: fields[0].as_u64().unwrap_or(0),
            count: fields[2].as_u64().unwrap_or(0),
            has_count: is(3),
            is_entry: is(3) && is(4) && !is(5),
        }
    }
}

/// The lines of a file that were not reached, by the rule of `llvm-cov`: the greatest count among
/// the segment that reaches into the line and the code that begins on it is 0.
fn missed_lines(segments: &Value) -> Vec<u64> {
    let all = segments.as_array().map(Vec::as_slice).unwrap_or_default();
    let all: Vec<Segment> = all.iter().map(Segment::of).collect();
    let (mut lines, mut before) = (Vec::new(), None::<Segment>);
    for chunk in all.chunk_by(|a, b| a.line == b.line) {
        let from = before.map_or(chunk[0].line, |it| it.line + 1);
        let around = before.filter(|it| it.has_count);
        if around.is_some_and(|it| it.count == 0) {
            lines.extend(from..chunk[0].line);
        }
        let begun = chunk.iter().filter(|it| it.is_entry);
        let counts: Vec<u64> = around.iter().chain(begun).map(|it| it.count).collect();
        if counts.iter().max() == Some(&0) {
            lines.push(chunk[0].line);
        }
        before = chunk.last().copied();
    }
    lines
}

fn print(modules: &BTreeMap<String, Share>, missed: &BTreeMap<String, Vec<u64>>) {
    println!("{:<28} {:>7} {:>7} {:>7}", "module", "lines", "missed", "reached");
    for (name, (reached, count)) in modules {
        println!(
            "{name:<28} {count:>7} {:>7} {:>6} %",
            count - reached,
            reached * 100 / count.max(&1)
        );
    }
    for (path, lines) in missed.iter().filter(|(_, lines)| !lines.is_empty()) {
        println!("{path}: {}", ranges(lines));
    }
}

/// Consecutive numbers as ranges: `3-5, 9`.
fn ranges(lines: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &line in lines {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 >= line => *last = line.max(*last),
            _ => runs.push((line, line)),
        }
    }
    let text = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A branch that is not taken: of its two ends, the line that it begins on has code that was
    /// reached, and the line that it ends on has none.
    #[test]
    fn lines_without_a_count_are_listed_as_ranges() {
        let segments = serde_json::json!([
            [3, 1, 5, true, true, false],
            [4, 9, 0, true, true, false],
            [6, 2, 0, false, false, false],
            [9, 1, 0, true, true, false],
            [9, 8, 0, false, false, false],
            [12, 1, 0, true, true, true],
            [13, 1, 7, true, true, false]
        ]);
        assert_eq!(ranges(&missed_lines(&segments)), "5-6, 9");
        assert_eq!(module_of("crates/linux/src/jffs2/format/crc.rs"), "linux/jffs2");
        assert_eq!(module_of("crates/linux/src/memo.rs"), "linux/memo");
    }
}
