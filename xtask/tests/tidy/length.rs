//! Rule: the length of files. Clippy checks the length of functions (`too_many_lines`).

use crate::Finding;
use crate::source::{Kind, Source};

const CODE_LINES_MAX: usize = 500;
const LINES_MAX: usize = 800;

/// A file may have 800 lines, and 500 lines of code, which are not blank, comments or test modules.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let line_count = source.lines.len();
    let in_module = |is_test: bool| is_test && !source.path.contains("/tests/");
    let is_code = |kind: Kind, is_test: bool| kind == Kind::Code && !in_module(is_test);
    let code_count = source.lines.iter().filter(|line| is_code(line.kind, line.is_test)).count();
    let mut findings = Vec::new();
    if line_count > LINES_MAX {
        let message = format!("{line_count} lines, at most {LINES_MAX}: split it by concept");
        findings.push(Finding::new(&source.path, LINES_MAX + 1, message));
    }
    if code_count > CODE_LINES_MAX {
        let message =
            format!("{code_count} lines of code, at most {CODE_LINES_MAX}: split it by concept");
        findings.push(Finding::new(&source.path, 1, message));
    }
    findings
}

#[test]
fn long_files_are_found() {
    let check = |path: &str, text: String, lines: &[usize]| {
        crate::check_file(check, path, &text, lines);
    };
    check("crates/a/src/a.rs", "a();\n".repeat(500), &[]);
    check("crates/a/src/a.rs", "a();\n".repeat(501), &[1]);
    check("crates/a/src/a.rs", "a();\n// b\n\n".repeat(250), &[]);
    check("crates/a/src/a.rs", "// b\n".repeat(801), &[801]);
    check("crates/a/src/a.rs", "a();\n".repeat(801), &[801, 1]);
    let tested = format!("{}#[cfg(test)]\nmod t {{\n{}}}\n", "a();\n".repeat(500), "b();\n");
    check("crates/a/src/a.rs", tested, &[]);
    check("crates/a/src/tests.rs", "a();\n".repeat(501), &[]);
    check("crates/a/tests/it/a.rs", "a();\n".repeat(501), &[1]);
}
