//! The examples of the README and of the documents.
//!
//! A block without a language holds commands if its first line begins with `flysch` or `$ flysch`.
//! In the second form, lines without a `$` are what the command above them prints. A block that
//! follows a block of commands holds what all of them print. A block of Python is the program
//! `app.py` from there on.

use super::{Session, Step};
use crate::{Outcome, shell};
use std::fs;
use std::path::PathBuf;

/// The examples of all documents, a session for each document.
pub(super) fn sessions() -> Outcome<Vec<Session>> {
    let mut paths = vec![shell::root().join("README.md")];
    for entry in fs::read_dir(shell::root().join("docs"))? {
        let path = entry?.path();
        paths.extend(path.extension().is_some_and(|it| it == "md").then_some(path));
    }
    paths.sort();
    let sessions: Outcome<Vec<Session>> = paths.into_iter().map(session).collect();
    Ok(sessions?.into_iter().filter(|session| !session.steps.is_empty()).collect())
}

fn session(path: PathBuf) -> Outcome<Session> {
    let place = path.strip_prefix(shell::root()).unwrap_or(&path).display().to_string();
    Ok(Session { place, steps: steps_of(&fs::read_to_string(path)?) })
}

fn steps_of(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut follows_commands = false;
    for (language, lines) in blocks(text) {
        let is_commands = language.is_empty() && is_command(lines[0]);
        if language == "python" {
            steps.push(writing("app.py", &lines));
        } else if is_commands {
            for line in lines {
                take(line, &mut steps);
            }
        } else if language.is_empty() && follows_commands {
            let last = steps.last_mut().expect("a command stands above");
            last.shown.extend(lines.iter().map(|&line| line.to_owned()));
        }
        follows_commands = is_commands;
    }
    let is_used = steps.iter().any(|step| step.line.starts_with("flysch "));
    if is_used { steps } else { Vec::new() }
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

/// A line for the shell that writes a file.
fn writing(name: &str, lines: &[&str]) -> Step {
    let line = format!("cat > {name} << 'END'\n{}\nEND", lines.join("\n"));
    Step { line, shown: Vec::new() }
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
        let program = step("cat > app.py << 'END'\nprint()\nEND", &[]);
        let wanted = vec![program, step("flysch a", &["x"]), step("sh b", &["y"])];
        assert_eq!(steps_of(text), wanted);
        assert_eq!(steps_of("```python\nprint()\n```\n"), []);
    }
}
