//! Rule: the sources use every dependency of a manifest.

use crate::Finding;
use crate::source::{Source, words};
use crate::tree::Tree;
use crate::workspace::{Package, Use};

/// Find dependencies that no source names. One of `dependencies` must be named outside of tests.
/// One of `dev-dependencies` may be named anywhere, also in the example of a doc comment.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        for dependency in &package.dependencies {
            let is_used = tree.sources_in(&package.folder).any(|source| {
                is_in_reach(source, &package.folder, dependency.used)
                    && names(source, &dependency.identifier, dependency.used)
            });
            if !is_used {
                let message = format!("no source uses `{}`: drop it", dependency.name);
                let (manifest, line) = manifest_place(tree, package, &dependency.name);
                findings.push(Finding::new(&manifest, line, message));
            }
        }
    }
    findings
}

fn is_in_reach(source: &Source, folder: &str, used: Use) -> bool {
    let place = source.path[folder.len()..].trim_start_matches('/');
    match used {
        Use::Normal => place.starts_with("src/"),
        Use::Dev => true,
        Use::Build => place == "build.rs" || place.starts_with("build/"),
    }
}

fn names(source: &Source, identifier: &str, used: Use) -> bool {
    source.lines.iter().any(|line| match used {
        Use::Normal => !line.is_test && words(&line.code).any(|word| word == identifier),
        Use::Build => words(&line.code).any(|word| word == identifier),
        Use::Dev => words(&line.whole).any(|word| word == identifier),
    })
}

/// The manifest of `package`, and the line that names `dependency`.
pub(crate) fn manifest_place(tree: &Tree, package: &Package, dependency: &str) -> (String, usize) {
    let manifest = format!("{}/Cargo.toml", package.folder);
    let text = tree.texts.get(&manifest).map_or("", String::as_str);
    let asks = |line: &str| {
        let table = line.trim_end_matches(']').ends_with(&format!("dependencies.{dependency}"));
        let tail = line.strip_prefix(dependency);
        table || tail.is_some_and(|tail| tail.starts_with(['.', ' ', '=']))
    };
    let line = text.lines().position(asks).map_or(1, |index| index + 1);
    (manifest, line)
}

/// A package for the tests of rules.
pub(crate) fn package(folder: &str, name: &str, dependencies: &[(&str, Use)]) -> Package {
    let dependencies = dependencies.iter().map(|(name, used)| crate::workspace::Dependency {
        name: (*name).into(),
        identifier: name.replace('-', "_"),
        used: *used,
    });
    Package {
        name: name.into(),
        folder: folder.into(),
        roots: vec![format!("{folder}/src/lib.rs")],
        dependencies: dependencies.collect(),
    }
}

#[test]
fn unused_dependencies_are_found() {
    let manifest = "[package]\n[dependencies]\ncrc32fast = \"1\"\n[dev-dependencies]\n\
                    proptest.workspace = true\n[build-dependencies.cc]\n";
    let check = |library: &str, test: &str, used: Use, name: &str, places: &[&str]| {
        let mut tree = Tree::of(&[
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/lib.rs", library),
            ("crates/a/tests/it/main.rs", test),
            ("crates/ab/src/lib.rs", "use crc32fast::Hasher;\n"),
        ]);
        tree.packages.push(package("crates/a", "a", &[(name, used)]));
        crate::check_tree(check, &tree, places);
    };
    let line_3 = &["crates/a/Cargo.toml:3"];
    check("use crc32fast::Hasher;\n", "", Use::Normal, "crc32fast", &[]);
    check("// crc32fast\nlet a = \"crc32fast\";\n", "", Use::Normal, "crc32fast", line_3);
    check("fn a() {}\n", "use crc32fast::Hasher;\n", Use::Normal, "crc32fast", line_3);
    check("#[cfg(test)]\nuse crc32fast::Hasher;\n", "", Use::Normal, "crc32fast", line_3);
    check("fn a() {}\n", "use proptest::prelude;\n", Use::Dev, "proptest", &[]);
    check("/// use proptest::prelude;\n", "", Use::Dev, "proptest", &[]);
    check("fn a() {}\n", "", Use::Dev, "proptest", &["crates/a/Cargo.toml:5"]);
    check("use cc;\n", "", Use::Build, "cc", &["crates/a/Cargo.toml:6"]);
}
