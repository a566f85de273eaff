//! Makes the calls of one process of a recording with an SQLite library of the host. `flysch
//! replay` starts this command with the shim, and sends the calls as lines of JSON.
//!
//! The line `sync` is answered by the line `.` when all calls before it have been made. A call
//! whose result differs from the recorded one is answered by a line with `!` and SQLite's message.
//! The process exits at the end of its input without closing anything, as the recorded program did.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use flysch_sqlite::calls::Entry;
use flysch_sqlite::{Library, Player};

use crate::failure::Failure;
use crate::output;

/// The most answers on differing results, because nobody reads them before the next `sync`.
const ANSWERS_MAX: usize = 100;

/// Arguments of `flysch play`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path of the SQLite library
    library: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let library = Library::load(&args.library);
    let library = library.map_err(|why| Failure::of_file(&args.library, why))?;
    output::print(format!("{}\n", library.source()).as_bytes())?;
    let mut player = Player::new(library, None);
    let mut answers = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line == "sync" {
            output::print(b".\n")?;
            continue;
        }
        let entry: Entry = serde_json::from_str(&line).map_err(|error| Failure::of(&error))?;
        if entry.idle_ns > 0 {
            player.pass(entry.idle_ns);
        }
        let outcome = player.play(&entry);
        if outcome.code != entry.code && answers < ANSWERS_MAX {
            answers += 1;
            let message = outcome.message.replace('\n', " ");
            writeln!(io::stdout(), "! {message}")?;
        }
    }
    io::stdout().flush()?;
    // Do not close databases: the recorded program did not do so when it ended.
    std::process::exit(0)
}
