//! The examples of the README and of the documents.
//!
//! A block without a language holds commands if its first line begins with `flysch` or `$ flysch`.
//! In the second form, lines without a `$` are what the command above them prints. A block that
//! follows a block of commands holds what all of them print. A block of Python is the program
//! `app.py`; where there is none and output is shown, it is the program of `your-program.md`.

use super::{Session, Step};
use crate::{Outcome, shell};
use std::fs;
use std::path::PathBuf;

/// The document with the program that other documents run.
const PROGRAM: &str = include_str!("../../../docs/your-program.md");
/// Documents whose commands a test of the command line runs.
const TESTED: [&str; 5] = ["start.md", "choosing.md", "life.md", "your-chip.md", "papers.md"];

/// The examples of all documents, a session for each document.
pub(super) fn sessions() -> Outcome<Vec<Session>> {
    let mut paths = vec![shell::root().join("README.md")];
    for entry in fs::read_dir(shell::root().join("docs"))? {
        let path = entry?.path();
        let is_tested = TESTED.iter().any(|name| path.ends_with(name));
        let is_text = path.extension().is_some_and(|it| it == "md");
        paths.extend((is_text && !is_tested).then_some(path));
    }
    paths.sort();
    let sessions: Outcome<Vec<Session>> = paths.into_iter().map(session).collect();
    Ok(sessions?.into_iter().filter(|session| !session.steps.is_empty()).collect())
}

fn session(path: PathBuf) -> Outcome<Session> {
    let place = path.strip_prefix(shell::root()).unwrap_or(&path).display().to_string();
    let text = fs::read_to_string(path)?;
    let steps = steps_of(&text);
    // Output that is shown is that of a program which stands here, or in the document about it.
    let is_shown = steps.iter().any(|step| !step.shown.is_empty());
    let program = program_of(&text).or_else(|| program_of(PROGRAM).filter(|_| is_shown));
    Ok(Session { place, program, steps })
}

/// The program that a document shows.
fn program_of(text: &str) -> Option<String> {
    let program = blocks(text).into_iter().find(|(language, _)| *language == "python");
    program.map(|(_, lines)| lines.join("\n") + "\n")
}

fn steps_of(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut follows_commands = false;
    for (language, lines) in blocks(text) {
        let is_commands = language.is_empty() && is_command(lines[0]);
        if is_commands {
            for line in lines {
                take(line, &mut steps);
            }
        } else if language.is_empty() && follows_commands {
            let last = steps.last_mut().expect("a command stands above");
            last.shown.extend(lines.iter().map(|&line| line.to_owned()));
        }
        follows_commands = is_commands;
    }
    steps
}

fn is_command(line: &str) -> bool {
    line.strip_prefix("$ ").unwrap_or(line).starts_with("flysch ")
}

/// Take a line of a block of commands: a command, or what the last one prints.
fn take(line: &str, steps: &mut Vec<Step>) {
    let of_shell = line.strip_prefix("$ ");
    match (of_shell, steps.last_mut()) {
        (None, Some(last)) if !line.starts_with("flysch ") => last.shown.push(line.to_owned()),
        _ => {
            let line = of_shell.unwrap_or(line).to_owned();
            steps.push(Step { line, shown: Vec::new() });
        }
    }
}

/// The fenced blocks of a document that are not empty: the language, and the lines.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => open = Some((language, Vec::new())),
            (Some(_), Some(block)) => blocks.extend((!block.1.is_empty()).then_some(block)),
            (None, Some((language, mut lines))) => {
                lines.push(line);
                open = Some((language, lines));
            }
            (None, None) => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read() {
        let text = "# T\n```python\nprint()\n```\n```\n$ flysch a\nx\n$ sh b\n```\n\n```\ny\n```\n\
                    ```toml\nz\n```\n```\nq\n```\n";
        let step = |line: &str, shown: &[&str]| Step {
            line: line.to_owned(),
            shown: shown.iter().map(|&it| it.to_owned()).collect(),
        };
        assert_eq!(steps_of(text), [step("flysch a", &["x"]), step("sh b", &["y"])]);
        assert_eq!(program_of(text).as_deref(), Some("print()\n"));
        assert_eq!(steps_of("```python\nprint()\n```\n"), []);
        assert!(program_of(PROGRAM).is_some_and(|program| program.contains("sqlite3")));
    }
}
