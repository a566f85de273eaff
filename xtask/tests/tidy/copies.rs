//! Rule: no two files contain the same function body.

use crate::Finding;
use crate::source::{Source, bracket_end, line_index};
use crate::tree::Tree;
use std::collections::BTreeMap;

const BODY_LINES_MIN: usize = 7;

/// Find function bodies of seven or more lines that are equal except for white space and comments.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut homes: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    let mut findings = Vec::new();
    for source in &tree.sources {
        for (line, body) in bodies(source) {
            let (path, first) = *homes.entry(body).or_insert((&source.path, line));
            if path != source.path {
                let message = format!("the body of this function is that of {path}:{first}");
                findings.push(Finding::new(&source.path, line, message));
            }
        }
    }
    findings
}

/// The long function bodies of a file, each with the line it starts on.
fn bodies(source: &Source) -> Vec<(usize, String)> {
    let (code, text) = (source.code(), source.text());
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let Some((open, close)) = body(&code, at) else { continue };
        let line_count = line_index(&code, close) - line_index(&code, open);
        let lines = text.lines().skip(line_index(&code, open) + 1).take(line_count);
        let lines: Vec<String> = lines
            .map(|line| line.split_whitespace().collect::<Vec<&str>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect();
        if lines.len() > BODY_LINES_MIN {
            found.push((line_index(&code, at) + 1, lines.join("\n")));
        }
    }
    found
}

/// The braces of the function whose `fn` is at byte `start`, if it has a body.
fn body(code: &str, start: usize) -> Option<(usize, usize)> {
    let mut at = start;
    loop {
        let found = at + code[at..].find(['(', '[', '{', ';'])?;
        match code.as_bytes()[found] {
            b';' => return None,
            b'{' => return Some((found, bracket_end(code, found))),
            _ => at = bracket_end(code, found),
        }
    }
}

#[test]
fn a_copied_body_is_found() {
    let body = |count: usize| format!("{{\n{}}}\n", "    a(\"b\");\n".repeat(count));
    let spaced = body(7).replace("a(\"b\")", "  a(\"b\")").replace(";\n", ";\n\n    // why\n");
    let check = |other: String, places: &[&str]| {
        let first = format!("//! a\nfn a(b: [u8; 3]) {}", body(7));
        let second = format!("//! b\n\nfn c() {other}");
        let tree = Tree::of(&[("crates/a/src/a.rs", &first), ("crates/b/src/b.rs", &second)]);
        crate::check_tree(check, &tree, places);
    };
    check(body(7), &["crates/b/src/b.rs:3"]);
    check(spaced, &["crates/b/src/b.rs:3"]);
    check(body(8), &[]);
    check(body(7).replace("\"b\"", "\"c\""), &[]);
    let short = format!("fn a() {}", body(6));
    let tree = Tree::of(&[("a.rs", &short), ("b.rs", &short)]);
    crate::check_tree(self::check, &tree, &[]);
}
