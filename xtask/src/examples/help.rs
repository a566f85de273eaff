//! The examples that `--help` shows, of each command and of those below it.

use super::{Session, Step};
use crate::{Outcome, shell};
use std::path::Path;
use std::process::Command;

/// The letters of a line behind which help is wrapped.
const WIDTH: usize = 98;

/// The examples of all commands, each once.
pub(super) fn sessions(flysch: &Path) -> Outcome<Vec<Session>> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let help = shell::output(Command::new(flysch).args(&words).arg("--help"))?;
        for below in commands_of(&help) {
            waiting.push([words.as_slice(), &[below]].concat());
        }
        let place = [&["flysch".to_owned()], words.as_slice()].concat().join(" ");
        let mut steps = Vec::new();
        for line in examples_of(&help) {
            let mut known = sessions.iter().flat_map(|session| &session.steps);
            if known.all(|step| step.line != line) {
                steps.push(Step { line, shown: Vec::new() });
            }
        }
        sessions.push(Session { place: format!("{place} --help"), steps });
    }
    Ok(sessions)
}

/// The names below the heading `Commands:`.
fn commands_of(help: &str) -> Vec<String> {
    let below = help.lines().skip_while(|&line| line != "Commands:").skip(1);
    let names = below.take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let first = names.filter_map(|line| line.split_whitespace().next());
    first.filter(|&name| name != "help").map(str::to_owned).collect()
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

Commands:
  part   Chips
         that are built in
  help   Print this

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
        assert_eq!(commands_of(HELP), ["part"]);
        assert_eq!(examples_of(HELP), ["flysch part list", LONG]);
        assert!(LONG.len() > WIDTH, "it is wrapped");
    }
}
