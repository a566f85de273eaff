//! The smoke run: do the main jobs like a new user, in an empty folder.

use crate::scratch::Scratch;
use crate::{Outcome, browser, shell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The commands whose pages and drawings are checked, as a user types them: a comparison, a sweep
/// with several seeds, one run with its trace, drawings of the trace, and the papers.
const COMMANDS: [&str; 7] = [
    "compare",
    "bench insert,update --on sqlite/jffs2,sqlite/ubifs --requests 100,200 --record-size 150,600 \
     --seed 1..3 --report seeds.html -q",
    "bench update --requests 300 --trace one.trace --report one.html -q",
    "trace one.trace plot --kind scatter --out scatter.svg",
    "trace one.trace plot --kind blocks --out blocks.svg",
    "index bench pbfilter,btree --n 2000 --report indexes.html",
    "repro all --quick --out papers",
];

/// Run the commands, and check the pages that they write.
pub(crate) fn run() -> Outcome {
    let binary = shell::release_binary()?;
    let place = Scratch::open()?;
    for command in COMMANDS {
        let words = command.split_whitespace();
        shell::run(Command::new(&binary).args(words).current_dir(&place.path))?;
    }
    let mut pages = drawn(&place.path)?;
    pages.extend(drawn(&place.path.join("papers"))?);
    for page in &pages {
        println!("{}: {} bytes", page.display(), fs::metadata(page)?.len());
    }
    let Some(program) = browser::find() else {
        println!("no browser: no page was opened");
        return Ok(());
    };
    browser::inspect(program, &pages, &place.path)
}

/// The pages and drawings in a folder, sorted by name.
fn drawn(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "html" || extension == "svg") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
