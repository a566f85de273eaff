//! Rules: banned text, with advice on what to write instead.

use crate::Finding;
use crate::source::{Kind, Source, words};

/// Code that is banned everywhere. White space is ignored.
const CODE: &[(&str, &str)] = &[
    ("thread::sleep", "time exists on the virtual clock; wait for the event itself"),
    ("#[ignore", "run the test, or delete it"),
    ("should_panic", "assert on an error value"),
    ("_=>{}", "name the remaining cases, or use `if let`"),
    ("_=>()", "name the remaining cases, or use `if let`"),
];

/// Praise, which gives the reader no information.
pub(crate) const PRAISE: &[&str] = &[
    "awesome",
    "blazing",
    "blazingly",
    "bulletproof",
    "comprehensive",
    "comprehensively",
    "delightful",
    "effortless",
    "effortlessly",
    "elegant",
    "elegantly",
    "powerful",
    "revolutionary",
    "robust",
    "robustly",
    "robustness",
    "seamless",
    "seamlessly",
    "supercharge",
    "supercharged",
];

/// Characters that comments may use in addition to ASCII: those of formulas, units, citations,
/// names and drawings.
const FIGURES: &str = "§µ×÷±·°²³½¼≤≥≠≈≡∞∑√∈⌈⌉⌊⌋←→↑↓↔⇒▸–—…₀₁₂₃₄₅₆₇₈₉";

/// Find code that hides a fault or a wait.
pub(crate) fn check_code(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let code: String = line.code.split_whitespace().collect();
        for (banned, instead) in CODE.iter().filter(|(banned, _)| code.contains(banned)) {
            let message = format!("`{banned}` is banned: {instead}");
            findings.push(Finding::new(&source.path, index + 1, message));
        }
        if code.starts_with("assert!(") && code.ends_with(".is_ok());") {
            let message = "a bare `is_ok()` hides the error: use `expect`, or compare the value";
            findings.push(Finding::new(&source.path, index + 1, message));
        }
    }
    findings
}

/// Find praise in comments and docs.
pub(crate) fn check_prose(source: &Source) -> Vec<Finding> {
    let lines = source.lines.iter().enumerate();
    lines
        .filter_map(|(index, line)| Some((index, praise(&line.comment)?)))
        .map(|(index, word)| Finding::new(&source.path, index + 1, advice(&word)))
        .collect()
}

/// The first word of praise in `text`.
pub(crate) fn praise(text: &str) -> Option<String> {
    words(text).map(str::to_lowercase).find(|word| PRAISE.contains(&word.as_str()))
}

/// The advice for a word of praise.
pub(crate) fn advice(word: &str) -> String {
    format!("`{word}` is banned: say what it does, or give the number")
}

/// Code is ASCII. Comments may use a few more characters. Strings may contain anything but
/// pictures.
pub(crate) fn check_characters(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let outside = line.code.chars().find(|letter| !letter.is_ascii());
        let commented = line.comment.chars().find(|letter| !may_comment_use(*letter));
        let quoted = line.text.chars().find(|letter| is_picture(*letter));
        if let Some(letter) = outside.or(commented).or(quoted) {
            let message = format!("`{letter}` (U+{:04X}) is banned here", u32::from(letter));
            findings.push(Finding::new(&source.path, index + 1, message));
        }
    }
    findings
}

fn may_comment_use(letter: char) -> bool {
    let is_name = ('\u{c0}'..='\u{17f}').contains(&letter);
    let is_greek = ('\u{391}'..='\u{3c9}').contains(&letter);
    let is_drawing = ('\u{2500}'..='\u{259f}').contains(&letter);
    letter.is_ascii() || is_name || is_greek || is_drawing || FIGURES.contains(letter)
}

/// Whether `letter` is an emoji or a dingbat other than a plain check mark or cross.
pub(crate) fn is_picture(letter: char) -> bool {
    let is_mark = ['\u{2713}', '\u{2717}'].contains(&letter);
    letter >= '\u{1f000}' || (('\u{2600}'..='\u{27bf}').contains(&letter) && !is_mark)
}

#[test]
fn banned_code_is_found() {
    let check = |text: &str, lines: &[usize]| crate::check_file(check_code, "a.rs", text, lines);
    check("std::thread::sleep(second);\n", &[1]);
    check("#[test]\n#[ignore = \"slow\"]\nfn a() {}\n", &[2]);
    check("#[should_panic]\nfn a() {}\n", &[1]);
    check("match a {\n    1 => b(),\n    _ => {}\n    _ => (),\n}\n", &[3, 4]);
    check("assert!(mount(chip).is_ok());\n", &[1]);
    check("let text = \"thread::sleep\"; // should_panic\n_ => { b() }\n", &[]);
}

#[test]
fn praise_is_found() {
    let check = |text: &str, lines: &[usize]| crate::check_file(check_prose, "a.rs", text, lines);
    check("//! A robust store.\nfn a() {}\n// Seamless.\n", &[1, 3]);
    check("let word = \"robust\";\n", &[]);
}

#[test]
fn strange_characters_are_found() {
    let check = |text: &str, lines: &[usize]| {
        crate::check_file(check_characters, "a.rs", text, lines);
    };
    check("/// 3 µs → § 4, Bücker, λ ≤ ½, │\nfn a() {}\n", &[]);
    check("let \u{b5}s = 3;\n", &[1]);
    check("// \u{201c}quoted\u{201d}\n", &[1]);
    check("let a = \"\u{201c}µ\u{201d}\";\n", &[]);
    check("let a = \"\u{1f680}\";\n", &[1]);
}

#[test]
fn the_kinds_of_line_are_what_the_rules_expect() {
    let kinds = |text| Source::new("a.rs", text).lines.iter().map(|line| line.kind).collect();
    let found: Vec<Kind> = kinds("//! a\n// b\n\nc(); // d\n");
    assert_eq!(found, [Kind::Doc, Kind::Comment, Kind::Blank, Kind::Code]);
}
