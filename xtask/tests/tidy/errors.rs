//! Rules: errors carry addresses instead of text, and only one crate contains `unsafe`.

use crate::Finding;
use crate::source::{Source, item_end, line_index, words};

/// Crates whose errors carry addresses and no text.
const TEXT_FREE: &[&str] = &["crates/nand/", "crates/flysch/"];
/// The crate that may contain `unsafe`.
const UNSAFE_HOME: &str = "crates/sqlite/";

/// Find a `String` inside of a type named `…Error`, in the engine and the device contract.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    if !TEXT_FREE.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let code = source.code();
    let mut findings = Vec::new();
    for keyword in ["enum ", "struct "] {
        for (at, _) in code.match_indices(keyword) {
            let item = &code[at..item_end(&code, at)];
            let is_error = words(item).nth(1).is_some_and(|name| name.ends_with("Error"));
            if is_error && words(item).any(|word| word == "String") {
                let line = line_index(&code, at) + 1;
                let message = "text inside an error: carry the address, render in `Display`";
                findings.push(Finding::new(&source.path, line, message));
            }
        }
    }
    findings
}

/// Find `unsafe` in all other crates.
pub(crate) fn check_unsafe(source: &Source) -> Vec<Finding> {
    if source.path.starts_with(UNSAFE_HOME) {
        return Vec::new();
    }
    let lines = source.lines.iter().enumerate();
    lines
        .filter(|(_, line)| words(&line.code).any(|word| word == "unsafe"))
        .map(|(index, _)| {
            Finding::new(&source.path, index + 1, "`unsafe` lives in crates/sqlite only")
        })
        .collect()
}

#[test]
fn stringly_errors_are_found() {
    let text = "//! a\npub enum ReadError {\n    Corrupt { why: String },\n}\n\
                struct MountError(String);\nstruct Name(String);\n\
                enum EraseError {\n    Worn { field: &'static str },\n}\n";
    crate::check_file(check, "crates/flysch/src/error.rs", text, &[2, 5]);
    crate::check_file(check, "crates/lab/src/error.rs", text, &[]);
}

#[test]
fn unsafe_code_is_found() {
    let text = "#![forbid(unsafe_code)]\nlet a = unsafe { b() }; // unsafe\n";
    crate::check_file(check_unsafe, "crates/lab/src/lib.rs", text, &[2]);
    crate::check_file(check_unsafe, "crates/sqlite/src/ffi.rs", text, &[]);
}
