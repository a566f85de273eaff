//! Rule: names are words of the field, not names of doers or of collections of odds and ends.

use crate::Finding;
use crate::source::{Source, words};

const FUNCTION_PREFIXES: &[(&str, &str)] = &[
    ("get_", "name what it returns, or `find_`, `fetch_`"),
    ("do_", "name what it does"),
    ("handle_", "name what it does"),
    ("process_", "name what it does"),
];

/// The name that the standard library uses for the mutable variant of `get`.
const MUTABLE_TWIN: &str = "get_mut";

const DECLARING: &[&str] =
    &["const", "enum", "fn", "let", "mod", "mut", "static", "struct", "trait", "type"];

const TYPE_WORDS: &[&str] = &[
    "Base", "Common", "Context", "Handler", "Helper", "Helpers", "Impl", "Manager", "Util",
    "Utils", "Wrapper",
];

const MODULE_NAMES: &[&str] =
    &["base", "common", "context", "helper", "helpers", "misc", "util", "utils"];

/// Find banned names of functions, types and modules.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let code: Vec<&str> = words(&line.code).collect();
        for message in code.windows(2).filter_map(|pair| fault(pair[0], pair[1])) {
            findings.push(Finding::new(&source.path, index + 1, message));
        }
    }
    findings
}

/// What is wrong with declaring this name. Names that are only used may come from other crates.
fn fault(keyword: &str, name: &str) -> Option<String> {
    let instead = match keyword {
        _ if DECLARING.contains(&keyword) && is_versioned(name) => {
            Some("the older one goes, or the names say what differs")
        }
        "fn" if name == MUTABLE_TWIN => None,
        "fn" => FUNCTION_PREFIXES
            .iter()
            .find(|(prefix, _)| name.starts_with(prefix))
            .map(|(_, instead)| *instead),
        "struct" | "enum" | "trait" | "type" | "union" => camel_words(name)
            .iter()
            .any(|word| TYPE_WORDS.contains(&word.as_str()))
            .then_some("name the thing itself"),
        "mod" => MODULE_NAMES.contains(&name).then_some("one home per concept, under its name"),
        _ => None,
    };
    instead.map(|instead| format!("`{keyword} {name}` is banned: {instead}"))
}

fn is_versioned(word: &str) -> bool {
    word.rsplit_once("_v").is_some_and(|(_, version)| {
        !version.is_empty() && version.chars().all(|digit| digit.is_ascii_digit())
    })
}

fn camel_words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for letter in name.chars() {
        match found.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            Some(_) | None => found.push(letter.into()),
        }
    }
    found
}

#[test]
fn banned_names_are_found() {
    let check = |text: &str, lines: &[usize]| crate::check_file(check, "a.rs", text, lines);
    check("fn get_page() {}\npub(crate) const fn do_erase() {}\n", &[1, 2]);
    check("fn handle_read() {}\nfn process_page() {}\n", &[1, 2]);
    check("struct BlockManager;\npub enum ReadContext {}\ntrait BaseArea {}\n", &[1, 2, 3]);
    check("let page_v2 = mount_v3(page);\nfn mount_v3() {}\n", &[1, 2]);
    check("mod util;\nmod common {}\n", &[1, 2]);
    check("struct Database;\nfn domain() {}\nfn getter() {}\nfn find_page() {}\n", &[]);
    check("fn get_mut() {}\nfn get_mut_page() {}\n", &[2]);
    check("map.get_mut(1); // fn get_page\nlet is_v = ipv4_view;\n", &[]);
}
