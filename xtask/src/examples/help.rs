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

/// The examples of a help text. A line that does not begin with `flysch` goes on with the one
/// before it, as help is wrapped to the width of the terminal.
fn examples_of(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in help.lines().map(str::trim) {
        if line.starts_with("flysch ") && !line.contains(['<', '[']) {
            examples.push(line.to_owned());
            goes_on = true;
            continue;
        }
        goes_on &= !line.is_empty();
        if let Some(last) = examples.last_mut().filter(|_| goes_on) {
            *last = format!("{last} {line}");
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
  flysch part new x
  --out x.toml
";

    #[test]
    fn help_is_read() {
        assert_eq!(commands_of(HELP), ["part"]);
        assert_eq!(examples_of(HELP), ["flysch part list", "flysch part new x --out x.toml"]);
    }
}
