//! The copy of the sources in which all faults are planted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use super::fault::Fault;
use crate::Outcome;
use crate::shell::{output, root};

/// The version of the workspace, and of the copy. They differ, so that both can be built in the
/// same target folder without using each other's results.
const VERSIONS: [&str; 2] = ["version = \"0.1.0\"", "version = \"0.1.0-planted\""];

/// The function that is added to a crate with faults. Each fault calls it.
const SWITCH: &str = "
extern crate std;

/// Whether the fault of this number is switched on.
pub(crate) fn planted(number: u32) -> bool {
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var(\"FLYSCH_PLANTED\").ok().and_then(|text| text.parse().ok());
    *NUMBER.get_or_init(|| read().unwrap_or(0)) == number
}
";

/// Copy the files under version control, with all faults planted. Files that have not changed are
/// not written, so that little must be built again.
pub(super) fn prepare(tree: &Path, faults: &[Fault]) -> Outcome {
    let mut by_file: BTreeMap<String, Vec<(usize, &Fault)>> = BTreeMap::new();
    for (number, fault) in (1..).zip(faults) {
        by_file.entry(fault.file.clone()).or_default().push((number, fault));
        by_file.entry(library_of(fault)?).or_default();
    }
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let files = output(Command::new("git").args(list).current_dir(root()))?;
    let files: BTreeSet<&str> = files.lines().filter(|file| root().join(file).is_file()).collect();
    drop_others(tree, &tree.join("crates"), &files)?;
    for file in files {
        let bytes = fs::read(root().join(file))?;
        let bytes = match by_file.get(file) {
            None if file == "Cargo.toml" => {
                String::from_utf8(bytes)?.replace(VERSIONS[0], VERSIONS[1]).into_bytes()
            }
            None => bytes,
            Some(faults) => {
                let mut text = planted(&String::from_utf8(bytes)?, faults)?;
                if file.ends_with("src/lib.rs") {
                    text.push_str(SWITCH);
                }
                text.into_bytes()
            }
        };
        let to = tree.join(file);
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().unwrap_or(tree))?;
            fs::write(to, bytes)?;
        }
    }
    Ok(())
}

/// Remove the files from a folder of the copy that no longer exist in the sources.
fn drop_others(tree: &Path, folder: &Path, files: &BTreeSet<&str>) -> Outcome {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            drop_others(tree, &path, files)?;
        } else if path.strip_prefix(tree)?.to_str().is_none_or(|name| !files.contains(name)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn library_of(fault: &Fault) -> Outcome<String> {
    let parts: Vec<&str> = fault.file.split('/').collect();
    match parts.as_slice() {
        ["crates", name, "src", ..] => Ok(format!("crates/{name}/src/lib.rs")),
        _ => Err(format!("{} is no source of a crate", fault.file).into()),
    }
}

/// A range of a file's text, and the faults that are planted in it.
type Spot<'f> = (Range<usize>, Vec<(usize, &'f Fault)>);

/// The text of a file with its faults planted.
fn planted(text: &str, faults: &[(usize, &Fault)]) -> Outcome<String> {
    let mut places: Vec<Spot<'_>> = Vec::new();
    for &(number, fault) in faults {
        let place = place_of(text, fault)?;
        match places
            .iter_mut()
            .find(|(known, _)| known.start < place.end && place.start < known.end)
        {
            Some((known, here)) if *known == place => here.push((number, fault)),
            Some((_, here)) => {
                return Err(format!("`{}` overlaps `{}`", fault.name, here[0].1.name).into());
            }
            None => places.push((place, vec![(number, fault)])),
        }
    }
    places.sort_by_key(|(place, _)| place.start);
    let (mut out, mut at) = (String::new(), 0);
    for (place, here) in places {
        out.push_str(&text[at..place.start]);
        at = place.end;
        unconst(&mut out);
        let old = &text[place];
        let is_statement = old.trim_end().ends_with([';', '}']);
        if !is_statement {
            out.push('(');
        }
        for (number, fault) in here {
            write!(out, "if crate::planted({number}) {{ {} }} else ", fault.new)?;
        }
        write!(out, "{{ {old} }}")?;
        if !is_statement {
            out.push(')');
        }
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Where a fault is planted: its code is whole, and stands in the file once.
fn place_of(text: &str, fault: &Fault) -> Outcome<Range<usize>> {
    fault.check_whole()?;
    let once = |text: &str, part: &str| {
        let mut places = text.match_indices(part).map(|(at, _)| at);
        match (places.next(), places.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => Err(format!("`{}`: not in {}: {part}", fault.name, fault.file)),
            (Some(_), Some(_)) => {
                Err(format!("`{}`: more than once in {}: {part}", fault.name, fault.file))
            }
        }
    };
    let start = once(text, &fault.within)? + once(&fault.within, &fault.old)?;
    Ok(start..start + fault.old.len())
}

/// Remove the last `const` of a function from `text`: a function with a fault calls another one
/// that is not `const`.
fn unconst(text: &mut String) {
    let begins = |line: &str| {
        let line = line.trim_start();
        let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "fn "];
        line.contains("fn ") && words.iter().any(|word| line.starts_with(word))
    };
    let mut start = 0;
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .map(|line| {
            start += line.len();
            (start - line.len(), line)
        })
        .collect();
    let Some(&(at, line)) = lines.iter().rev().find(|(_, line)| begins(line)) else { return };
    if let Some(place) = line.find("const fn ") {
        text.replace_range(at + place..at + place + "const ".len(), "");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plant::FAULTS;

    /// The texts of the errors that planting these faults ends with; `source` reads their files.
    fn errors(faults: &str, source: impl Fn(&str) -> String) -> Vec<String> {
        let faults = Fault::read_all(faults).unwrap();
        let failed = faults.iter().filter_map(|fault| place_of(&source(&fault.file), fault).err());
        failed.map(|error| error.to_string()).collect()
    }

    /// One fault that cannot be planted stops `cargo xtask plant` for all.
    #[test]
    fn every_fault_can_be_planted() {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        assert_eq!(errors(&read(FAULTS), read), Vec::<String>::new());
    }

    #[test]
    fn faults_that_cannot_be_planted_are_told() {
        let cases = [
            ("f(g(1))", None, "2", None),
            ("g(1)) + g(2)", None, "3", Some("has brackets without their others")),
            ("g(3)", None, "4", Some("not in a.rs")),
            ("g(1) + g(1)", None, "4", Some("not in a.rs")),
            ("g", None, "f", Some("more than once in a.rs")),
            ("g(2)", Some("+ g(2)"), "(5", Some("has brackets without their others")),
            ("+ g(2)", None, "- g(2)", Some("replaces half an expression")),
        ];
        for (old, within, new, told) in cases {
            let mut fault = json!({ "name": "a", "file": "a.rs", "old": old, "new": new });
            fault["tests"] = json!("");
            fault["within"] = json!(within);
            let found = errors(&json!([fault]).to_string(), |_| "{ f(g(1)) + g(2) }".to_owned());
            let is_told = match (found.as_slice(), told) {
                ([], None) => true,
                ([error], Some(told)) => error.contains(told),
                _ => false,
            };
            assert!(is_told, "{old}: {found:?}");
        }
    }
}
