//! Rules for comments: every file begins with its purpose, and comments are useful.

use crate::Finding;
use crate::source::{Kind, Source, words};

const SHARE_PERCENT_MAX: usize = 20;
/// A small file may have this many lines of comment, whatever their share is.
const SHARE_FREE_COUNT: usize = 4;
const ECHO_PERCENT_MIN: usize = 60;
const ECHO_WORDS_MIN: usize = 2;
const LETTERS_MIN: usize = 3;
const FILLERS: &[&str] =
    &["and", "are", "each", "for", "from", "has", "into", "its", "that", "the", "this", "with"];

/// Every file begins with a `//!` comment that says what it holds.
pub(crate) fn check_opening(source: &Source) -> Vec<Finding> {
    let opens = source.lines.first().is_some_and(|line| {
        line.whole.strip_prefix("//!").is_some_and(|purpose| purpose.len() > 1)
    });
    if opens {
        return Vec::new();
    }
    vec![Finding::new(&source.path, 1, "open the file with `//!`: what it holds")]
}

/// There may be one line of `//` for every five lines of code. A comment at the end of a line of
/// code does not count, because that is where the source of a constant is named.
pub(crate) fn check_share(source: &Source) -> Vec<Finding> {
    let count = |kind| source.lines.iter().filter(|line| line.kind == kind).count();
    let (comments, code) = (count(Kind::Comment), count(Kind::Code));
    if comments <= SHARE_FREE_COUNT || comments * 100 <= code * SHARE_PERCENT_MAX {
        return Vec::new();
    }
    let message = format!(
        "{comments} lines of `//` on {code} of code, at most {SHARE_PERCENT_MAX} %: \
         say why, in the docs of the item"
    );
    vec![Finding::new(&source.path, 1, message)]
}

/// A comment of one line must not repeat what the next line says.
pub(crate) fn check_echo(source: &Source) -> Vec<Finding> {
    let kind = |index: usize| source.lines.get(index).map(|line| line.kind);
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let is_lone = line.kind == Kind::Comment
            && kind(index + 1) == Some(Kind::Code)
            && (index == 0 || kind(index - 1) != Some(Kind::Comment));
        if is_lone && echoes(&line.comment, &source.lines[index + 1].text) {
            let message = "the comment repeats the line below: say why, or drop it";
            findings.push(Finding::new(&source.path, index + 1, message));
        }
    }
    findings
}

fn echoes(comment: &str, code: &str) -> bool {
    let said = terms(comment);
    let code = terms(code);
    let is_in_code = |word: &&String| {
        code.iter().any(|term| {
            let (short, long) = if word.len() < term.len() { (*word, term) } else { (term, *word) };
            short == long || (short.len() > LETTERS_MIN && long.starts_with(short.as_str()))
        })
    };
    let echo_count = said.iter().filter(is_in_code).count();
    said.len() >= ECHO_WORDS_MIN && echo_count * 100 >= said.len() * ECHO_PERCENT_MIN
}

/// The words of `text` that have a meaning, in lower case. Identifiers are split.
fn terms(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    for letter in text.chars() {
        if letter.is_uppercase() || letter == '_' {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
    }
    words(&spaced.replace('_', " "))
        .filter(|word| word.len() >= LETTERS_MIN && !FILLERS.contains(word))
        .map(str::to_owned)
        .collect()
}

/// Ordinary comments are sentences: no disabled code, no banners, no numbered steps.
pub(crate) fn check_leftovers(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let said = line.comment.trim().trim_start_matches('/').trim();
        let message = match line.kind {
            Kind::Comment if is_code(said) => "code put aside: delete it",
            Kind::Comment if is_banner(said) => "a banner: split the file instead",
            Kind::Comment if is_step(said) => "a numbered step: make it a function",
            Kind::Comment | Kind::Blank | Kind::Code | Kind::Doc => continue,
        };
        findings.push(Finding::new(&source.path, index + 1, message));
    }
    findings
}

fn is_code(said: &str) -> bool {
    let opens = ["let ", "mod ", "pub ", "use ", "fn ", "impl ", "if ", "for ", "return", "#["];
    opens.iter().any(|keyword| said.starts_with(keyword)) && said.ends_with([';', '{', ']'])
}

fn is_banner(said: &str) -> bool {
    ["---", "===", "***", "###", "~~~"].iter().any(|rule| said.starts_with(rule))
}

fn is_step(said: &str) -> bool {
    let number = said.strip_prefix("Step ").or_else(|| said.strip_prefix("step "));
    number.is_some_and(|tail| tail.starts_with(|letter: char| letter.is_ascii_digit()))
}

#[test]
fn a_file_without_purpose_is_found() {
    let check = |text: &str, lines: &[usize]| {
        crate::check_file(check_opening, "a.rs", text, lines);
    };
    check("//! What it holds.\nfn a() {}\n", &[]);
    check("fn a() {}\n", &[1]);
    check("// What it holds.\n", &[1]);
    check("//!\n", &[1]);
    check("", &[1]);
}

#[test]
fn too_many_comments_are_found() {
    let check = |comments: usize, code: usize, lines: &[usize]| {
        let text = format!("{}{}", "// why\n".repeat(comments), "a(); // why\n".repeat(code));
        crate::check_file(check_share, "a.rs", &text, lines);
    };
    check(4, 1, &[]);
    check(5, 25, &[]);
    check(5, 24, &[1]);
}

#[test]
fn an_echo_is_found() {
    let check = |text: &str, lines: &[usize]| crate::check_file(check_echo, "a.rs", text, lines);
    check("// Program the page\nchip.program_page(page);\n", &[1]);
    check("// Count erased blocks.\nlet erased = count(blocks);\n", &[1]);
    check("// The chip forbids a second program of a page.\nassert!(!page.is_full);\n", &[]);
    check("// Program the page\n// before the tail moves\nchip.program_page(page);\n", &[]);
    check("// page\nlet page = 1;\n", &[]);
}

#[test]
fn leftovers_are_found() {
    let check = |text: &str, lines: &[usize]| {
        crate::check_file(check_leftovers, "a.rs", text, lines);
    };
    check("// let a = 1;\n// mod b;\n// #[test]\n", &[1, 2, 3]);
    check("// --- reads ---\n//////////\n", &[1]);
    check("// Step 2: erase\n", &[1]);
    check("// use the older page;\n", &[1]);
    check("// Use what the page says\n/// ---\nlet a = 1; // let go\n", &[]);
}
