//! Faults planted in the sources, each of which a test has to find.
//!
//! `xtask/plants.json` lists them: a name, a file, text that the file has once, what takes its
//! place, and the tests of the file's crate that are run.
//!
//! 1. Faults are planted in a copy of the tree; the sources stay as they are.
//! 2. A fault that does not compile is an error, and not one that was found.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;
use crate::shell::{cargo, output, root, run};

/// A fault.
struct Plant<'p> {
    name: &'p str,
    file: &'p str,
    old: &'p str,
    new: &'p str,
    test: &'p str,
}

impl<'p> Plant<'p> {
    fn read(value: &'p Value) -> Outcome<Self> {
        let field = |name: &str| {
            value[name].as_str().ok_or_else(|| format!("a plant has no `{name}`: {value}"))
        };
        Ok(Self {
            name: field("name")?,
            file: field("file")?,
            old: field("old")?,
            new: field("new")?,
            test: field("test")?,
        })
    }

    /// The crate whose tests are run.
    fn package(&self) -> Outcome<String> {
        let mut parts = self.file.split('/').skip(1);
        let folder = parts.next().ok_or_else(|| format!("{} is no file of a crate", self.file))?;
        Ok(if folder == "flysch" { folder.to_owned() } else { format!("flysch-{folder}") })
    }

    /// Plant it in the copy, run its tests, and take it back: whether they failed.
    fn is_found(&self, tree: &Path) -> Outcome<bool> {
        let path = tree.join(self.file);
        let text = fs::read_to_string(&path)?;
        if text.matches(self.old).count() != 1 {
            return Err(format!("`{}`: the text is not in {} once", self.name, self.file).into());
        }
        fs::write(&path, text.replacen(self.old, self.new, 1))?;
        let tested = self.test_fails(tree);
        fs::write(&path, text)?;
        tested
    }

    fn test_fails(&self, tree: &Path) -> Outcome<bool> {
        let package = self.package()?;
        let arguments = ["test", "--quiet", "--package", &package, "--lib", "--tests"];
        run(here(cargo(&arguments).arg("--no-run"), tree))?;
        let mut command = cargo(&arguments);
        here(command.arg(self.test), tree).stdin(Stdio::null());
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        Ok(!status.success())
    }
}

/// Run in the copy, with a target folder of its own.
fn here<'c>(command: &'c mut Command, tree: &Path) -> &'c mut Command {
    command.current_dir(tree).env("CARGO_TARGET_DIR", tree.with_file_name("target"))
}

/// Plant every fault, or the one of a name, and report which are found.
pub(crate) fn plant(name: Option<&str>) -> Outcome {
    let text = fs::read_to_string(root().join("xtask/plants.json"))?;
    let values: Vec<Value> = serde_json::from_str(&text)?;
    let tree = root().join("target/plants/tree");
    copy_to(&tree)?;
    let (mut found, mut missed) = (0, Vec::new());
    for value in &values {
        let plant = Plant::read(value)?;
        if name.is_some_and(|name| name != plant.name) {
            continue;
        }
        let is_found = plant.is_found(&tree)?;
        println!("{} {}", if is_found { "found " } else { "MISSED" }, plant.name);
        found += usize::from(is_found);
        if !is_found {
            missed.push(plant.name);
        }
    }
    println!("{found} faults found, {} missed", missed.len());
    if missed.is_empty() { Ok(()) } else { Err(format!("not found: {missed:?}").into()) }
}

/// Copy the files that version control knows.
fn copy_to(tree: &Path) -> Outcome {
    let files = output(Command::new("git").args(["ls-files"]).current_dir(root()))?;
    for file in files.lines() {
        let (from, to) = (root().join(file), tree.join(file));
        let is_new = fs::read(&to).ok() != fs::read(&from).ok();
        if from.is_file() && is_new {
            fs::create_dir_all(to.parent().unwrap_or(tree))?;
            fs::copy(from, to)?;
        }
    }
    Ok(())
}
