//! Compare what a document shows with what an example prints and draws.

use super::Step;
use crate::{Outcome, shell};
use std::fs;
use std::path::Path;

/// Check that each line that is shown was printed. Where a program of the user's was run, the
/// numbers depend on its time and its SQLite: any number is taken for them.
pub(super) fn check(step: &Step, printed: &str, is_of_program: bool) -> Outcome {
    let form = |line: &str| if is_of_program { without_numbers(line) } else { line.to_owned() };
    let printed: Vec<String> = printed.lines().map(form).collect();
    let absent = |line: &&String| !line.trim().is_empty() && !printed.contains(&form(line));
    match step.shown.iter().find(absent) {
        None => Ok(()),
        Some(line) => Err(format!("does not print: {line}").into()),
    }
}

/// Check that each picture of the documents is what an example drew in this folder, if one did.
pub(super) fn check_pictures(folder: &Path) -> Outcome {
    for shown in fs::read_dir(shell::root().join("docs/pictures"))? {
        let shown = shown?;
        let name = shown.file_name();
        let Ok(drawn) = fs::read(folder.join(&name)) else { continue };
        if drawn != fs::read(shown.path())? {
            return Err(format!("docs/pictures/{} is not what it draws", name.display()).into());
        }
    }
    Ok(())
}

/// A line with `#` for each number and one blank for several. Rules of tables are left out.
fn without_numbers(line: &str) -> String {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let word = |word: &str| {
        let parts = word.split(|letter| is_digit(letter) || letter == '.');
        let text: String = parts.collect();
        if word.contains(is_digit) { format!("#{text}") } else { word.to_owned() }
    };
    let words = line.split_whitespace().filter(|word| !word.contains("---"));
    words.map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_programs_may_differ() {
        let shown = |text: &str| Step { line: String::new(), shown: vec![text.to_owned()] };
        let like = shown("took  12.5 ms, x7");
        check(&like, "took 3 ms, x81\n", true).expect("numbers of a program differ");
        assert!(check(&shown("took 12.5 ms"), "took 3 s\n", true).is_err());
        assert!(check(&shown("took 12 ms"), "took 3 ms\n", false).is_err());
    }
}
