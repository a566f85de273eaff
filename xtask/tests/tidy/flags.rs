//! Rule: a test or xtask uses every long flag of the command line.

use crate::Finding;
use crate::source::{Source, bracket_end, is_word_letter, line_index};
use crate::tree::Tree;

const COMMAND_LINE: &str = "crates/cli/src/";

/// Find flags that no test and no part of xtask uses. This test itself does not count.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let witnesses = witnesses(tree);
    let mut findings = Vec::new();
    for source in tree.sources.iter().filter(|source| source.path.starts_with(COMMAND_LINE)) {
        for (line, flag) in flags(source) {
            if !witnesses.iter().any(|text| spells(text, &flag)) {
                let message = format!("no test and no xtask uses `{flag}`");
                findings.push(Finding::new(&source.path, line, message));
            }
        }
    }
    findings
}

/// The text of everything that may use a flag: test files, test modules, xtask. Without comments.
fn witnesses(tree: &Tree) -> Vec<String> {
    let sources = tree.sources.iter().filter(|source| !source.path.starts_with("xtask/tests/"));
    let in_sources = sources.map(|source| {
        let counts = |is_test| is_test || source.path.starts_with("xtask/");
        let lines = source.lines.iter().filter(|line| counts(line.is_test));
        lines.map(|line| line.text.as_str()).collect::<Vec<&str>>().join("\n")
    });
    let in_data = tree.texts.iter().filter(|(path, _)| path.contains("/tests/"));
    in_sources.chain(in_data.map(|(_, text)| text.clone())).collect()
}

fn spells(text: &str, flag: &str) -> bool {
    text.match_indices(flag).any(|(at, _)| {
        let next = text[at + flag.len()..].chars().next();
        next.is_none_or(|letter| letter != '-' && !is_word_letter(letter))
    })
}

/// The long flags that a file declares, each with the line of its attribute.
fn flags(source: &Source) -> Vec<(usize, String)> {
    let code = source.code();
    let text = source.text();
    let is_aligned = code.chars().count() == text.chars().count();
    assert!(is_aligned, "{}: code and text have the same columns", source.path);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("#[arg(") {
        let open = at + "#[arg".len();
        let end = bracket_end(&code, open);
        let line = line_index(&code, at);
        let inside = same_place(&text, &code, open + 1, end - 1);
        let Some(name) = long_name(&inside, &code[end + 1..]) else { continue };
        found.push((line + 1, format!("--{name}")));
    }
    found
}

/// The part of `text` at the position of bytes `from..to` of `code`, counted in characters.
fn same_place(text: &str, code: &str, from: usize, to: usize) -> String {
    let (skipped, taken) = (code[..from].chars().count(), code[from..to].chars().count());
    text.chars().skip(skipped).take(taken).collect()
}

/// The long name of a flag, if it has one: the name in its attribute, of which `inside` is the
/// content, or that of the field in the code `after` it.
fn long_name(inside: &str, after: &str) -> Option<String> {
    inside.split(',').find_map(|part| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let name = || value.split('"').nth(1).map(str::to_owned);
        (key.trim() == "long")
            .then(|| name().unwrap_or_else(|| field_name(after).replace('_', "-")))
    })
}

/// The name of the field that follows an attribute. Other attributes are skipped.
fn field_name(code: &str) -> String {
    let rest = code.trim_start();
    if rest.starts_with("#[") {
        return field_name(&rest[bracket_end(rest, 1)..]);
    }
    if let Some(visible) = rest.strip_prefix("pub") {
        let scope = visible.trim_start();
        if scope.starts_with('(') {
            return field_name(&scope[bracket_end(scope, 0)..]);
        }
        if visible.starts_with(char::is_whitespace) {
            return field_name(visible);
        }
    }
    rest.chars().take_while(|letter| is_word_letter(*letter)).collect()
}

#[test]
fn flags_nobody_turns_are_found() {
    let arguments = "struct Bench {\n    /// Bytes per page (§ 3).\n    #[arg(long)]\n    page_size: u32,\n\
                     #[arg(short, long = \"on\", value_name = \"A, B\")]\npub(crate) stacks: Vec<u8>,\n\
                     #[arg(long_help = \"long\")]\nplain: u8,\n\
                     #[arg(\n    value_enum,\n    long,\n)]\n#[serde(skip)]\npub platform: u8,\n}\n";
    let check = |test: &str, places: &[&str]| {
        let files = [("crates/cli/src/bench.rs", arguments), ("crates/cli/tests/it/a.rs", test)];
        crate::check_tree(check, &Tree::of(&files), places);
    };
    let [page_size, on, platform] =
        ["crates/cli/src/bench.rs:3", "crates/cli/src/bench.rs:5", "crates/cli/src/bench.rs:9"];
    check("run(\"--page-size 4 --on=a --platform b\");\n", &[]);
    check("run(\"--on a\");\nrun(\"--page-size-max\");\n", &[page_size, platform]);
    check("run(\"--platform\"); // --page-size --on\n", &[page_size, on]);
}
