//! Rule: every `.rs` file is compiled, because some chain of `mod` leads to it from a target.

use crate::Finding;
use crate::source::{Source, line_index, words};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Find files that no target reaches.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sources: BTreeMap<&str, &Source> =
        tree.sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let roots: Vec<&String> = tree.packages.iter().flat_map(|package| &package.roots).collect();
    let mut open: Vec<String> = roots.iter().map(|root| (*root).clone()).collect();
    while let Some(path) = open.pop() {
        let Some(source) = sources.get(path.as_str()) else { continue };
        if reached.insert(path.clone()) {
            open.extend(children(source, roots.contains(&&path)));
        }
    }
    let orphans = tree.sources.iter().filter(|source| !reached.contains(&source.path));
    orphans
        .map(|source| Finding::new(&source.path, 1, "no `mod` leads here: declare or delete it"))
        .collect()
}

/// Possible paths of the modules that `source` declares and of the files that it includes.
fn children(source: &Source, is_root: bool) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let base = if is_root || file == "mod.rs" {
        folder.to_owned()
    } else {
        source.path.trim_end_matches(".rs").to_owned()
    };
    let code = source.code();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("mod ") {
        let declaration = code[at..].split([';', '{']).next().unwrap_or_default();
        let is_inline = code[at + declaration.len()..].starts_with('{');
        let Some(name) = words(declaration).nth(1).filter(|_| !is_inline) else { continue };
        found.push(format!("{base}/{name}.rs"));
        found.push(format!("{base}/{name}/mod.rs"));
        let above = line_index(&code, at).saturating_sub(1);
        if let Some(path) = quoted_after(&source.lines[above].text, "#[path") {
            found.push(format!("{folder}/{path}"));
        }
    }
    let included = source.lines.iter().filter_map(|line| quoted_after(&line.text, "include!("));
    found.extend(included.map(|path| format!("{folder}/{path}")));
    found
}

/// The string literal that follows `opening` on this line.
fn quoted_after<'a>(line: &'a str, opening: &str) -> Option<&'a str> {
    line.split_once(opening)?.1.split('"').nth(1)
}

#[test]
fn orphans_are_found() {
    let mut tree = Tree::of(&[
        ("crates/a/src/lib.rs", "pub mod b;\npub(crate) mod c;\nmod inline {\n}\n// mod d;\n"),
        ("crates/a/src/b.rs", "mod e;\n#[path = \"odd.rs\"]\nmod f;\n"),
        ("crates/a/src/b/e.rs", "include!(\"table.rs\");\n"),
        ("crates/a/src/b/table.rs", ""),
        ("crates/a/src/c/mod.rs", "mod g;\n"),
        ("crates/a/src/c/g.rs", ""),
        ("crates/a/src/d.rs", ""),
        ("crates/a/src/e.rs", ""),
        ("crates/a/src/inline.rs", ""),
        ("crates/a/src/odd.rs", ""),
    ]);
    tree.packages.push(crate::dependencies::package("crates/a", "a", &[]));
    let orphans = ["crates/a/src/d.rs:1", "crates/a/src/e.rs:1", "crates/a/src/inline.rs:1"];
    crate::check_tree(check, &tree, &orphans);
}
