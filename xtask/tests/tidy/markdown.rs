//! Rules for documents: each has one title, its links lead somewhere, and a README is short.

use crate::Finding;
use crate::text::{advice, is_picture, praise};
use crate::tree::{Tree, has_extension};

const README_LINES_MAX: usize = 150;
const REMOTE: &[&str] = &["http://", "https://", "mailto:", "#"];

/// Apply all rules for documents to every document.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = tree.texts.iter().filter(|(path, _)| has_extension(path, "md"));
    documents.flat_map(|(path, text)| check_document(tree, path, text)).collect()
}

fn check_document(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let prose = prose(text);
    let mut findings = check_titles(path, &prose);
    for (line, said) in &prose {
        for target in links(said).filter(|target| !leads(tree, path, target)) {
            findings.push(Finding::new(path, *line, format!("`{target}` leads nowhere")));
        }
        if let Some(word) = praise(said) {
            findings.push(Finding::new(path, *line, advice(&word)));
        }
        if let Some(letter) = said.chars().find(|letter| is_picture(*letter)) {
            let message = format!("`{letter}` is banned: documents have no emoji");
            findings.push(Finding::new(path, *line, message));
        }
    }
    let line_count = text.lines().count();
    if path.ends_with("README.md") && line_count > README_LINES_MAX {
        let message = format!("{line_count} lines, at most {README_LINES_MAX}");
        findings.push(Finding::new(path, README_LINES_MAX + 1, message));
    }
    findings
}

fn check_titles(path: &str, prose: &[(usize, String)]) -> Vec<Finding> {
    let mut titles = prose.iter().filter(|(_, said)| said.starts_with("# "));
    if titles.next().is_none() {
        return vec![Finding::new(path, 1, "no title: open with `# `")];
    }
    titles.map(|(line, _)| Finding::new(path, *line, "a second title: use `## `")).collect()
}

/// The lines outside of fenced code, without their code spans, each with its number.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            let spans = line.split('`').enumerate();
            let outside = spans.filter(|(span, _)| span % 2 == 0).map(|(_, said)| said);
            found.push((index + 1, outside.collect::<Vec<&str>>().join("`")));
        }
    }
    found
}

/// The targets of the links on a line: inline links, and the link that the line defines.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|tail| tail.split([')', ' ']).next());
    let defined = line.split_once("]: ").filter(|_| line.starts_with('['));
    inline.chain(defined.map(|(_, target)| target.trim()))
}

fn leads(tree: &Tree, path: &str, target: &str) -> bool {
    if REMOTE.iter().any(|scheme| target.starts_with(scheme)) {
        return true;
    }
    let target = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return false;
        }
    }
    parts.is_empty() || tree.paths.contains(&parts.join("/"))
}

#[test]
fn faults_of_documents_are_found() {
    let check = |path: &str, text: &str, lines: &[usize]| {
        let tree = Tree::of(&[("docs/DESIGN.md", "# Design\n"), ("LICENSE", ""), (path, text)]);
        let places: Vec<String> = lines.iter().map(|line| format!("{path}:{line}")).collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        crate::check_tree(check, &tree, &places);
    };
    check("docs/A.md", "# A\n\n```sh\n# not a title [a](b)\n```\n", &[]);
    check("docs/A.md", "## A\n", &[1]);
    check("docs/A.md", "# A\n\n# B\n", &[3]);
    check("docs/A.md", "# A\n[b](DESIGN.md#why) [c](../LICENSE) [d](https://a.b) [e](..)\n", &[]);
    check("docs/A.md", "# A\n[b](NONE.md)\n`[c](NONE.md)`\n[d](../../LICENSE)\n", &[2, 4]);
    check("docs/A.md", "# A\n[b][c]\n\n[c]: NONE.md\n", &[4]);
    check("docs/A.md", "# A\nIt is robust, not `robust`.\n\u{1f680}\n", &[2, 3]);
    check("README.md", &format!("# A\n{}", "b\n".repeat(150)), &[151]);
}
