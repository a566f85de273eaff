//! Makes the calls of one process of a recording, with a SQLite library of the host's. `flysch
//! replay` starts it with the shim, and sends the calls as lines of JSON.
//!
//! A line `sync` is answered by a line `.`, as all calls before it have been made. A call that
//! fails otherwise than when it was recorded is answered by a line `!` with what SQLite says. The
//! process ends with its input, whatever it has open, as the program's did.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use flysch_sqlite::calls::Entry;
use flysch_sqlite::{Library, Player};

use crate::failure::Failure;
use crate::output;

/// The most answers to calls that failed. Nobody reads them before the next `sync`.
const ANSWERS_MAX: usize = 100;

/// Arguments of `flysch play`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The SQLite library
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
    // What is open stays so: a process that closes its databases would do what the program did not.
    std::process::exit(0)
}
