//! The examples that `--help` shows, of each command and of those below it.

use super::{Session, Step};
use crate::{Outcome, shell};
use std::path::Path;
use std::process::Command;

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
        for line in examples_of(&help) {
            if !sessions.iter().any(|known| known.steps[0].line == line) {
                let steps = vec![Step { line, shown: Vec::new() }];
                sessions.push(Session { place: format!("{place} --help"), steps });
            }
        }
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

/// The lines of an example. A line that is indented further goes on with the one before it.
fn examples_of(help: &str) -> Vec<String> {
    let mut examples: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for line in help.lines() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        let last = examples.last_mut().filter(|(outer, _)| goes_on && indent > *outer);
        match last {
            Some((_, example)) if !text.is_empty() => *example = format!("{example} {text}"),
            _ => {
                goes_on = indent > 0 && text.starts_with("flysch ") && !text.contains(['<', '[']);
                examples.extend(goes_on.then(|| (indent, text.to_owned())));
            }
        }
    }
    examples.into_iter().map(|(_, example)| example).collect()
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
  flysch part new x
      --out x.toml
";

    #[test]
    fn help_is_read() {
        assert_eq!(commands_of(HELP), ["part"]);
        assert_eq!(examples_of(HELP), ["flysch part list", "flysch part new x --out x.toml"]);
    }
}
