//! The documents as a book: checks that no link is dead, and builds the pages.
//!
//! 1. `docs/SUMMARY.md` lists every document of `docs` in the order of the book. With `book.toml`,
//!    the same folder is a book for `mdbook`.
//! 2. A link leads to a heading, to a document, or to another file of the workspace. The links of
//!    the documents at the root of the workspace are checked too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::{Outcome, shell};

const SUMMARY: &str = "docs/SUMMARY.md";
const STYLE: &str = "body{display:flex;gap:3em;font-family:sans-serif;line-height:1.5}\
    nav{flex:0 0 14em}main{max-width:50em}table{border-collapse:collapse}\
    td,th{border:1px solid #ccc;padding:.2em .5em}pre{overflow:auto}";

/// The text of documents by path.
type Documents = BTreeMap<String, String>;

/// Check all links and write the pages to `target/book`.
pub(crate) fn run() -> Outcome {
    let root = shell::root();
    let mut documents = Documents::new();
    for folder in ["", "docs/"] {
        for entry in fs::read_dir(root.join(folder))? {
            let path = format!("{folder}{}", entry?.file_name().to_string_lossy());
            if is_document(&path) {
                documents.insert(path.clone(), fs::read_to_string(root.join(&path))?);
            }
        }
    }
    let faults = faults(&documents, &|path| root.join(path).exists());
    if !faults.is_empty() {
        return Err(format!("dead links:\n  {}", faults.join("\n  ")).into());
    }
    build(&documents, &root.join("target/book"))
}

fn is_document(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The dead links of all documents, and the documents in `docs` that the summary does not list.
fn faults(documents: &Documents, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut listed = BTreeSet::from([SUMMARY.to_owned()]);
    for (path, text) in documents {
        for link in links(text) {
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { Some(path.clone()) } else { joined(path, file) };
            let leads = target.as_ref().is_some_and(|target| match documents.get(target) {
                Some(text) => heading.is_empty() || headings(text).iter().any(|it| it == heading),
                None => exists(target),
            });
            if !leads {
                faults.push(format!("{path}: {link}"));
            }
            listed.extend(target.filter(|_| path == SUMMARY));
        }
    }
    let chapters = documents.keys().filter(|path| path.starts_with("docs/"));
    let missing = chapters.filter(|path| !listed.contains(*path));
    faults.extend(missing.map(|path| format!("{SUMMARY}: does not list {path}")));
    faults
}

/// The targets of the links in a document that lead to files or headings.
fn links(text: &str) -> Vec<String> {
    let targets = events(text).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url),
        _ => None,
    });
    let is_local = |target: &CowStr<'_>| !target.contains("://") && !target.starts_with("mailto:");
    targets.filter(is_local).map(CowStr::into_string).collect()
}

/// The path of `link` in the document `path`. None if it leads out of the workspace.
fn joined(path: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a document's headings, in order.
fn headings(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut is_heading = false;
    for event in events(text) {
        if let Event::Start(Tag::Heading { .. }) = event {
            is_heading = true;
            names.push(String::new());
        } else if let Event::End(TagEnd::Heading(_)) = event {
            is_heading = false;
        } else if let (Event::Text(text) | Event::Code(text), Some(heading)) =
            (event, names.last_mut())
            && is_heading
        {
            heading.push_str(&text);
        }
    }
    names.iter().map(|heading| name(heading)).collect()
}

fn name(heading: &str) -> String {
    let lower = heading.trim().to_lowercase().replace(' ', "-");
    lower.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

fn build(documents: &Documents, folder: &Path) -> Outcome {
    fs::create_dir_all(folder)?;
    let summary = documents.get(SUMMARY).ok_or("there is no docs/SUMMARY.md")?;
    let chapters =
        documents.iter().filter_map(|(path, text)| Some((path.strip_prefix("docs/")?, text)));
    let mut count = 0;
    for (name, text) in chapters {
        let page = format!(
            "<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>flysch</title>\
             <style>{STYLE}</style>\n<nav>{}</nav>\n<main>{}</main>\n",
            rendered(summary),
            rendered(text)
        );
        fs::write(folder.join(page_name(name)), page)?;
        count += 1;
    }
    println!("{}: {count} pages, no dead link", folder.display());
    Ok(())
}

/// The file name of a document's page. That of the summary is `index.html`, which a reader opens
/// first.
fn page_name(document: &str) -> String {
    match document.strip_suffix(".md") {
        Some("SUMMARY") => "index.html".to_owned(),
        Some(name) => format!("{name}.html"),
        None => document.to_owned(),
    }
}

/// A document as HTML, in which headings have names and links to documents lead to their pages.
fn rendered(text: &str) -> String {
    let mut names = headings(text).into_iter();
    let events = events(text).map(|event| match event {
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            let id = names.next().map(CowStr::from);
            Event::Start(Tag::Heading { level, id, classes, attrs })
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let (file, rest) = dest_url.split_at(dest_url.find('#').unwrap_or(dest_url.len()));
            let is_page = !file.contains('/') && is_document(file);
            let dest_url = if is_page { (page_name(file) + rest).into() } else { dest_url };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &[&str]) {
        let summary = "# Summary\n\n- [A](a.md)\n";
        let files = [(SUMMARY, summary), ("docs/a.md", text), ("README.md", "# B's `c` d\n")];
        let documents = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let exists = |path: &str| path == "crates/nand";
        assert_eq!(faults(&documents, &exists), wanted, "{text}");
    }

    #[test]
    fn dead_links_are_found() {
        check("# A\n\n[b](#a) [c](../README.md#bs-c-d) [d](https://e) [f](../crates/nand)\n", &[]);
        check("# A\n\n[b](b.md)\n", &["docs/a.md: b.md"]);
        check("# A\n\n[b](#b) `[c](c.md)`\n", &["docs/a.md: #b"]);
        check(
            "# A\n\n[b](../README.md#b)\n[c](../..)\n",
            &["docs/a.md: ../README.md#b", "docs/a.md: ../.."],
        );
        let unlisted = [("docs/b.md".to_owned(), "# B\n".to_owned())].into();
        assert_eq!(faults(&unlisted, &|_| true), ["docs/SUMMARY.md: does not list docs/b.md"]);
    }

    #[test]
    fn pages_lead_to_each_other() {
        let page = rendered("# A b\n\n[c](SUMMARY.md) [d](d.md#e) [f](../f.md)\n");
        assert!(page.contains("<h1 id=\"a-b\">"), "{page}");
        for target in ["\"index.html\"", "\"d.html#e\"", "\"../f.md\""] {
            assert!(page.contains(target), "{target} in {page}");
        }
    }
}
