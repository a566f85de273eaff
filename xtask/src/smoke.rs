//! The smoke run: the main job, as a newcomer would start it, in an empty directory.

use crate::{Outcome, browser, shell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `flysch compare` and looks at the report it leaves.
pub(crate) fn run() -> Outcome {
    let binary = shell::release_binary()?;
    let place = Scratch::open()?;
    shell::run(Command::new(binary).arg("compare").current_dir(&place.path))?;
    let report = place.path.join("report.html");
    let size = fs::metadata(&report).map_err(|_| "compare left no report.html")?.len();
    println!("report.html: {size} bytes");
    look(&report, &place.path)
}

fn look(report: &Path, place: &Path) -> Outcome {
    let Some(program) = browser::find() else {
        println!("no browser: report.html was not opened");
        return Ok(());
    };
    browser::inspect(program, report, place)
}

/// An empty directory that goes away with the value.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn open() -> Outcome<Self> {
        let path = std::env::temp_dir().join(format!("flysch-smoke-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.path) {
            println!("{} stays behind: {cause}", self.path.display());
        }
    }
}
