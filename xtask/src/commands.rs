//! The commands of `flysch`, as its help lists them.

use crate::{Outcome, shell};
use std::path::Path;
use std::process::Command;

/// A command and its help.
pub(crate) struct Manual {
    /// The words that call it, such as `flysch part list`.
    pub(crate) command: String,
    pub(crate) help: String,
}

/// All commands. Each is followed by those below it, in the order of its help.
pub(crate) fn manuals(flysch: &Path) -> Outcome<Vec<Manual>> {
    let mut manuals = Vec::new();
    add(flysch, &[], &mut manuals)?;
    Ok(manuals)
}

/// Add the command that these words call, and all below it.
fn add(flysch: &Path, words: &[String], manuals: &mut Vec<Manual>) -> Outcome {
    let help = shell::output(Command::new(flysch).args(words).arg("--help"))?;
    let below = commands_of(&help);
    let command = [&["flysch".to_owned()], words].concat().join(" ");
    manuals.push(Manual { command, help });
    for name in below {
        add(flysch, &[words, &[name]].concat(), manuals)?;
    }
    Ok(())
}

/// The names below the heading `Commands:`.
fn commands_of(help: &str) -> Vec<String> {
    let below = help.lines().skip_while(|&line| line != "Commands:").skip(1);
    let names = below.take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let first = names.filter_map(|line| line.split_whitespace().next());
    first.filter(|&name| name != "help").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_below_their_heading() {
        let help = "Usage: flysch <COMMAND>\n\nCommands:\n  part   Chips\n         that are built \
                    in\n  help   Print this\n\nOptions:\n  -q\n";
        assert_eq!(commands_of(help), ["part"]);
    }
}
