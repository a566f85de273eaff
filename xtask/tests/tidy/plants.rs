//! Rule: each planted fault replaces code that stands in its file once, and both are whole.

use serde_json::Value;

use crate::Finding;
use crate::source::Source;
use crate::tree::Tree;

const FAULTS: &str = "xtask/plants.json";
const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
/// How no expression begins.
const OPERATORS: [&str; 8] = ["|| ", "&& ", "== ", "!= ", "< ", "> ", "+ ", "."];

/// Find faults that cannot be planted. `cargo xtask plant` would find one in ten of them.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.texts.get(FAULTS) else { return Vec::new() };
    let Ok(Value::Array(faults)) = serde_json::from_str(text) else {
        return vec![Finding::new(FAULTS, 1, "is no list of faults")];
    };
    let told = faults.iter().filter_map(|fault| {
        let name = fault["name"].as_str().unwrap_or_default();
        let line = text.lines().position(|line| line.contains(&format!("\"{name}\"")));
        let problem = problem_of(tree, fault)?;
        Some(Finding::new(FAULTS, line.map_or(1, |at| at + 1), format!("`{name}` {problem}")))
    });
    told.collect()
}

/// Why a fault cannot be planted. None if it can.
fn problem_of(tree: &Tree, fault: &Value) -> Option<&'static str> {
    let part = |name: &str| fault[name].as_str();
    let (Some(file), Some(old), Some(new)) = (part("file"), part("old"), part("new")) else {
        return Some("lacks `file`, `old` or `new`");
    };
    let Some(source) = tree.sources.iter().find(|source| source.path == file) else {
        return Some("names no source");
    };
    let within = part("within").unwrap_or(old);
    if count(&whole(source), within) != 1 || count(within, old) != 1 {
        return Some("replaces code that does not stand in its file once");
    }
    if OPERATORS.iter().any(|operator| old.starts_with(operator)) {
        return Some("replaces half an expression");
    }
    [old, new].iter().any(|code| !is_balanced(code)).then_some("has brackets without their others")
}

fn whole(source: &Source) -> String {
    source.lines.iter().map(|line| line.whole.clone() + "\n").collect()
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

fn is_balanced(code: &str) -> bool {
    BRACKETS.iter().all(|(open, close)| code.matches(*open).count() == code.matches(*close).count())
}

#[test]
fn faults_that_cannot_be_planted_are_found() {
    let source = "fn a() {\n    f(g(1)) + g(2)\n}\n";
    let fault = |old: &str, within: &str, new: &str| {
        let within = if within.is_empty() { old } else { within };
        format!(
            "{{\n\"name\": \"{old} {new}\",\n\"file\": \"crates/nand/src/a.rs\",\n\
             \"old\": \"{old}\",\n\"within\": \"{within}\",\n\"new\": \"{new}\"\n}}"
        )
    };
    let faults = [
        fault("f(g(1))", "", "2"),
        fault("g(1)) + g(2)", "", "3"),
        fault("g(3)", "", "4"),
        fault("g(", "", "f("),
        fault("g(2)", "+ g(2)", "(5"),
        fault("+ g(2)", "", "- g(2)"),
    ];
    let list = format!("[\n{}\n]\n", faults.join(",\n"));
    let tree = Tree::of(&[("crates/nand/src/a.rs", source), (FAULTS, &list)]);
    let places = [10, 17, 24, 31, 38].map(|line| format!("{FAULTS}:{line}"));
    crate::check_tree(check, &tree, &places.each_ref().map(String::as_str));
}
