//! The house rules, as a test of the source tree. Each rule is a module that returns findings with
//! path and line. Each has a test of its own, with a fault that it must find.
//!
//! There is no list of exceptions. If a rule is wrong, change it here.

mod assertions;
mod causes;
mod circles;
mod columns;
mod comments;
mod copies;
mod dependencies;
mod errors;
mod flags;
mod layers;
mod length;
mod markdown;
mod modules;
mod names;
mod source;
mod text;
mod tree;
mod workspace;

use source::Source;
use tree::Tree;

/// A place that breaks a house rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

/// Rules that examine one source file at a time.
const FILE_RULES: &[fn(&Source) -> Vec<Finding>] = &[
    length::check,
    columns::check,
    comments::check_opening,
    comments::check_share,
    comments::check_echo,
    comments::check_leftovers,
    text::check_code,
    text::check_prose,
    text::check_characters,
    names::check,
    errors::check,
    errors::check_unsafe,
];

/// Rules that examine the whole tree.
const TREE_RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    assertions::check,
    circles::check,
    causes::check,
    columns::check_documents,
    copies::check,
    dependencies::check,
    flags::check,
    layers::check,
    markdown::check,
    modules::check,
];

#[test]
fn the_tree_is_tidy() {
    let tree = Tree::read();
    let of_files =
        tree.sources.iter().flat_map(|source| FILE_RULES.iter().flat_map(move |rule| rule(source)));
    let of_tree = TREE_RULES.iter().flat_map(|rule| rule(&tree));
    let mut findings: Vec<Finding> = of_files.chain(of_tree).collect();
    findings.sort();
    for finding in &findings {
        println!("{}:{}: {}", finding.path, finding.line, finding.message);
    }
    assert!(findings.is_empty(), "{} findings, listed above", findings.len());
}

/// Assert in which lines of `text` a rule finds faults. `path` is used as the path of the file.
fn check_file(rule: fn(&Source) -> Vec<Finding>, path: &str, text: &str, lines: &[usize]) {
    let findings = rule(&Source::new(path, text));
    let found: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    assert_eq!(found, lines, "{path}: {findings:?}\n{text}");
}

/// Assert where a rule finds faults in a tree, as `path:line`.
fn check_tree(rule: fn(&Tree) -> Vec<Finding>, tree: &Tree, places: &[&str]) {
    let findings = rule(tree);
    let found: Vec<String> =
        findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect();
    assert_eq!(found, places, "{findings:?}");
}
