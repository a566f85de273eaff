//! Rule: the modules at the top of a crate import each other in one direction only.

use crate::Finding;
use crate::source::{Source, bracket_end, is_word_letter, line_index, words};
use crate::tree::Tree;
use crate::workspace::Package;
use std::collections::{BTreeMap, BTreeSet};

/// Imports between the modules at the top of a crate: from, to, and the place of the first one.
type Imports = BTreeMap<(String, String), (String, usize)>;

/// Find imports whose target leads back to the module that imports it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        let imports = imports(tree, package);
        let edges: BTreeSet<(&str, &str)> =
            imports.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        for ((from, to), (path, line)) in &imports {
            if leads(&edges, to, from) {
                let message = format!("`{from}` imports `{to}`, which leads back to `{from}`");
                findings.push(Finding::new(path, *line, message));
            }
        }
    }
    findings
}

/// Whether imports lead from one module to another.
fn leads(edges: &BTreeSet<(&str, &str)>, from: &str, to: &str) -> bool {
    let mut reached = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = edges.iter().filter(|(start, _)| *start == module).map(|(_, end)| *end);
        open.extend(next.filter(|end| reached.insert(end)));
    }
    reached.contains(to)
}

fn imports(tree: &Tree, package: &Package) -> Imports {
    let folder = format!("{}/src", package.folder);
    let homes = homes(tree, package, &folder);
    let mut imports = Imports::new();
    for source in tree.sources_in(&folder) {
        let module = module(&source.path[folder.len() + 1..]);
        if package.roots.contains(&source.path) || source.is_test_file() {
            continue;
        }
        for (name, line) in named(source, module.len()) {
            let from = module[0].to_owned();
            if let Some(home) = homes.get(name.as_str()).filter(|home| **home != from) {
                let place = (source.path.clone(), line);
                imports.entry((from, home.clone())).or_insert(place);
            }
        }
    }
    imports
}

/// The names that a path may begin with at the root of the crate, and the module that each belongs
/// to: the modules themselves, and the names that the root re-exports from them.
fn homes(tree: &Tree, package: &Package, folder: &str) -> BTreeMap<String, String> {
    let paths = tree.sources_in(folder).map(|source| &source.path);
    let others = paths.filter(|path| !package.roots.contains(path));
    let mut homes: BTreeMap<String, String> = others
        .map(|path| module(&path[folder.len() + 1..])[0])
        .map(|module| (module.to_owned(), module.to_owned()))
        .collect();
    for root in tree.sources_in(folder).filter(|source| package.roots.contains(&source.path)) {
        let code = root.code();
        for handed in code.split("use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            let mut names = words(handed);
            let Some(home) = names.next().filter(|name| homes.contains_key(*name)) else {
                continue;
            };
            let home = home.to_owned();
            for name in names {
                homes.entry(name.to_owned()).or_insert_with(|| home.clone());
            }
        }
    }
    homes
}

/// The names of the modules that lead to a file, given its path in `src`.
fn module(path: &str) -> Vec<&str> {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').collect()
}

/// The names that a file uses from the root of its crate, with their lines, outside of its tests.
/// The file is `depth` modules below the root.
fn named(source: &Source, depth: usize) -> Vec<(String, usize)> {
    let code = source.code();
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for prefix in ["crate::", &up] {
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            let is_inside = before.is_some_and(|it| is_word_letter(it) || it == ':' || it == '$');
            let line = line_index(&code, at);
            if !is_inside && !source.lines[line].is_test {
                let names = heads(&code, at + prefix.len());
                found.extend(names.into_iter().map(|name| (name, line + 1)));
            }
        }
    }
    found
}

/// The next names of a path at byte `at`: one, or several in braces.
fn heads(code: &str, at: usize) -> Vec<String> {
    if !code[at..].starts_with('{') {
        return words(&code[at..]).take(1).map(str::to_owned).collect();
    }
    let (mut depth, mut is_head) = (0, false);
    let mut names = Vec::new();
    for (offset, letter) in code[at..bracket_end(code, at)].char_indices() {
        if is_head && depth == 1 && is_word_letter(letter) {
            names.extend(words(&code[at + offset..]).next().map(str::to_owned));
            is_head = false;
        }
        is_head |= matches!(letter, '{' | ',');
        depth += i32::from(letter == '{') - i32::from(letter == '}');
    }
    names
}

#[test]
fn circles_of_modules_are_found() {
    let check = |files: &[(&str, &str)], places: &[&str]| {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let mut tree = Tree::of(&files);
        tree.packages.push(crate::dependencies::package("crates/a", "a", &[]));
        crate::check_tree(check, &tree, places);
    };
    let root = ("lib.rs", "pub mod b;\npub mod c;\nuse c::{C, Other};\n");
    let (b, c) = ("crates/a/src/b/e.rs:2", "crates/a/src/c.rs:1");
    let to_b = ("c.rs", "use crate::b::B;\n");
    check(&[root, ("b/e.rs", "use crate::d::D;\n"), to_b, ("d.rs", "")], &[]);
    check(&[root, ("b/e.rs", "\nuse crate::c::C;\n"), to_b], &[b, c]);
    check(&[root, ("b/e.rs", "\nuse super::super::c::C;\n"), to_b], &[b, c]);
    check(&[root, ("b/e.rs", "\nuse super::c::C;\n"), to_b], &[]);
    check(&[root, ("b/e.rs", "\nfn f(c: crate::C) {}\n"), to_b], &[b, c]);
    check(&[root, ("b/e.rs", "\nuse crate::{d::D, c::{self, C}};\n"), to_b, ("d.rs", "")], &[b, c]);
    check(&[root, ("b/e.rs", "\nuse crate::{d::{c, D}};\n"), to_b, ("d.rs", "")], &[]);
    check(&[root, ("b/e.rs", "// crate::c\n#[cfg(test)]\nuse crate::c::C;\n"), to_b], &[]);
    let by_way = [root, ("b/e.rs", "\nuse crate::d::D;\n"), to_b, ("d.rs", "use super::c;\n")];
    check(&by_way, &[b, c, "crates/a/src/d.rs:1"]);
}
