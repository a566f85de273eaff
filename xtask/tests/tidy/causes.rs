//! Rule: `docs/causes.md` says what each label of a scope and each task means.

use std::collections::BTreeSet;

use crate::Finding;
use crate::source::Source;
use crate::tree::Tree;

const DOCUMENT: &str = "docs/causes.md";
/// How scopes and tasks are opened with a label that stands in the source.
const OPENINGS: [&str; 3] = [".scope(\"", ".enter(\"", ".task(\""];
/// Where scopes are opened that no trace of a stack shows: on the bare chip of index benchmarks.
const BARE: &str = "crates/lab/src/index/";

/// Find labels that the document does not explain.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let document = tree.texts.get(DOCUMENT).map_or("", String::as_str);
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `"));
    let explained: BTreeSet<&str> =
        rows.filter_map(|row| row.split_once('`').map(|(label, _)| label)).collect();
    let sources = tree.sources.iter().filter(|source| {
        let is_of_crate = source.path.starts_with("crates/") && source.path.contains("/src/");
        is_of_crate && !source.path.starts_with(BARE)
    });
    let unknown = sources.flat_map(labels).filter(|(_, _, label)| !explained.contains(&**label));
    unknown
        .map(|(path, line, label)| {
            Finding::new(&path, line, format!("{DOCUMENT} does not explain `{label}`"))
        })
        .collect()
}

/// The labels of the scopes that a source opens outside of tests, each with its place.
fn labels(source: &Source) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.lines.iter().enumerate().filter(|(_, line)| !line.is_test) {
        for opening in OPENINGS {
            let after = line.whole.split(opening).skip(1);
            let labels = after.filter_map(|rest| rest.split_once('"').map(|(label, _)| label));
            found.extend(labels.map(|label| (source.path.clone(), index + 1, label.to_owned())));
        }
    }
    found
}

#[test]
fn labels_without_a_meaning_are_found() {
    let source = "fn a() {\n    let _s = r.scope(\"known\");\n    r.scope(\"new\");\n}\n";
    let document = "| `known` | what it means |\n";
    let tree = Tree::of(&[("crates/linux/src/a.rs", source), (DOCUMENT, document)]);
    crate::check_tree(check, &tree, &["crates/linux/src/a.rs:3"]);
}
