//! The files of the workspace. They are read once for all rules.

use crate::source::Source;
use crate::workspace::{self, Package};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders that contain nothing of the project.
const FOREIGN: &[&str] = &[".git", "target"];

pub(crate) struct Tree {
    /// The content of all `.rs` files.
    pub(crate) sources: Vec<Source>,
    /// The text of documents, of manifests and of data files in test folders, by path.
    pub(crate) texts: BTreeMap<String, String>,
    /// The paths of all files and folders.
    pub(crate) paths: BTreeSet<String>,
    pub(crate) packages: Vec<Package>,
}

impl Tree {
    /// Read the workspace that contains this test.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent");
        let mut tree = Self::of(&[]);
        tree.packages = workspace::packages(root);
        tree.read_folder(root, "");
        tree
    }

    /// A tree of these files, each a path and a text, without packages.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self {
            sources: Vec::new(),
            texts: BTreeMap::new(),
            paths: BTreeSet::new(),
            packages: Vec::new(),
        };
        for (path, text) in files {
            tree.add(path, text);
        }
        tree
    }

    /// The sources below `folder`.
    pub(crate) fn sources_in(&self, folder: &str) -> impl Iterator<Item = &Source> {
        let prefix = format!("{folder}/");
        self.sources.iter().filter(move |source| source.path.starts_with(&prefix))
    }

    fn add(&mut self, path: &str, text: &str) {
        let folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
        self.paths.extend(folders);
        self.paths.insert(path.into());
        if has_extension(path, "rs") {
            self.sources.push(Source::new(path, text));
        } else if is_text(path) {
            self.texts.insert(path.into(), text.into());
        }
    }

    fn read_folder(&mut self, root: &Path, folder: &str) {
        let entries = fs::read_dir(root.join(folder)).expect("the folder is readable");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("the entry is readable").file_name())
            .filter_map(|name| name.into_string().ok())
            .filter(|name| !FOREIGN.contains(&name.as_str()))
            .collect();
        names.sort();
        for name in names {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let place = root.join(&path);
            if place.is_dir() {
                self.paths.insert(path.clone());
                self.read_folder(root, &path);
            } else if has_extension(&path, "rs") || is_text(&path) {
                let bytes = fs::read(place).expect("the file is readable");
                self.add(&path, &String::from_utf8_lossy(&bytes));
            } else {
                self.paths.insert(path);
            }
        }
    }
}

/// Whether `path` has this extension.
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn is_text(path: &str) -> bool {
    let in_tests = path.contains("/tests/")
        && ["csv", "json", "sql", "toml", "txt"].iter().any(|end| has_extension(path, end));
    in_tests || has_extension(path, "md") || path.ends_with("Cargo.toml")
}

#[test]
fn this_workspace_is_read() {
    let tree = Tree::read();
    assert!(tree.paths.contains("xtask/tests/tidy"));
    assert!(tree.sources_in("xtask").any(|source| source.path.ends_with("tidy/tree.rs")));
    assert!(tree.texts.contains_key("xtask/Cargo.toml"));
    let xtask = tree.packages.iter().find(|package| package.folder == "xtask");
    let xtask = xtask.expect("xtask is a package");
    assert!(xtask.roots.contains(&String::from("xtask/tests/tidy/main.rs")), "{:?}", xtask.roots);
}
