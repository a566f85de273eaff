//! The examples that `--help` shows, of each command and of those below it.

use super::{Session, Step};
use crate::Outcome;
use crate::commands::manuals;
use std::path::Path;

/// The letters of a line behind which help is wrapped.
const WIDTH: usize = 98;

/// The examples of all commands, each once.
pub(super) fn sessions(flysch: &Path) -> Outcome<Vec<Session>> {
    let mut sessions: Vec<Session> = Vec::new();
    for manual in manuals(flysch)? {
        let mut steps = Vec::new();
        for line in examples_of(&manual.help) {
            let mut known = sessions.iter().flat_map(|session| &session.steps);
            if known.all(|step| step.line != line) {
                steps.push(Step { line, shown: Vec::new() });
            }
        }
        let place = format!("{} --help", manual.command);
        sessions.push(Session { place, program: None, steps });
    }
    Ok(sessions)
}

/// The examples of a help text. A line goes on with the one above if its first word had no room
/// there, as help is wrapped.
fn examples_of(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let mut above = "";
    for line in help.lines() {
        let text = line.trim();
        let word = text.split(' ').next().unwrap_or_default();
        let is_wrapped = !text.is_empty() && above.len() + 1 + word.len() > WIDTH;
        if text.starts_with("flysch ") && !text.contains(['<', '[']) {
            examples.push(text.to_owned());
            above = line;
        } else if let Some(last) = examples.last_mut().filter(|_| is_wrapped) {
            *last = format!("{last} {text}");
            above = line;
        } else {
            above = "";
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Usage: flysch <COMMAND>

Examples:
  flysch part list
  flysch part new a-part-with-a-long-name --like w25n01gv --out a-part-with-a-long-name.toml --quiet
  --force
  ls
";

    const LONG: &str = "flysch part new a-part-with-a-long-name --like w25n01gv --out \
                        a-part-with-a-long-name.toml --quiet --force";

    #[test]
    fn help_is_read() {
        assert_eq!(examples_of(HELP), ["flysch part list", LONG]);
        assert!(LONG.len() > WIDTH, "it is wrapped");
    }
}
