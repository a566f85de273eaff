//! The smoke run: do the main jobs like a new user, in an empty folder.

use crate::scratch::Scratch;
use crate::{Outcome, browser, shell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run `flysch compare` and `flysch repro`, and look at the pages they write.
pub(crate) fn run() -> Outcome {
    let binary = shell::release_binary()?;
    let place = Scratch::open()?;
    shell::run(Command::new(&binary).arg("compare").current_dir(&place.path))?;
    let repro = ["repro", "all", "--quick", "--out", "papers"];
    shell::run(Command::new(&binary).args(repro).current_dir(&place.path))?;
    let mut pages = vec![place.path.join("report.html")];
    for entry in fs::read_dir(place.path.join("papers"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
    pages.sort();
    for page in &pages {
        let size = fs::metadata(page).map_err(|_| format!("no {}", page.display()))?.len();
        println!("{}: {size} bytes", page.display());
    }
    look(&pages, &place.path)
}

fn look(pages: &[PathBuf], place: &Path) -> Outcome {
    let Some(program) = browser::find() else {
        println!("no browser: no page was opened");
        return Ok(());
    };
    for (number, page) in pages.iter().enumerate() {
        let own = place.join(format!("browser-{number}"));
        fs::create_dir(&own)?;
        browser::inspect(program, page, &own)?;
    }
    Ok(())
}
