//! `flysch record`: runs a program as `flysch run` does, and writes its calls of SQLite to a file.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use flysch_lab::program::Simulation;
use flysch_lab::recording::{Origin, Recording};

use crate::failure::Failure;
use crate::output;
use crate::progress::tell;
use crate::run::{self as program, Mode};

/// Arguments of `flysch record`.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  flysch record -- python3 app.py
  flysch record --to app.rec --on sqlite/ubifs --pace none --now 1700000000 -- sqlite3 app.db 'VACUUM'
  flysch record --to app.rec -- python3 app.py && flysch replay app.rec --on sqlite/jffs2,sqlite/ftl")]
pub(crate) struct Args {
    /// File for the recording
    #[arg(long, value_name = "FILE", default_value = "flysch.rec")]
    to: PathBuf,
    #[command(flatten)]
    run: program::Args,
}

/// Run the program and write the recording, then report.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.run.is_mounted() {
        let message = "--fuse: what a program asks of an SQLite of its own cannot be recorded";
        return Err(Failure::Message(message.to_owned()));
    }
    let force = args.run.may_replace();
    let replaced = args.run.budget().replaced();
    output::check_distinct(args.run.outputs().chain(replaced).chain([&args.to]))?;
    output::check_writable(&args.to, force)?;
    let origin = origin(&args.run, Mode::default());
    let write = |simulation: &Simulation| {
        let recording = Recording::of(simulation, origin.clone());
        output::write_file(&args.to, &recording.bytes(), force)?;
        say(&recording, &args.to.display().to_string());
        Ok(())
    };
    args.run.carry_out(Some(&write), args.run.budget())
}

/// The origin of a recording of the program that is about to run.
#[expect(clippy::disallowed_methods, reason = "a recording says when it was made")]
pub(crate) fn origin(run: &program::Args, mode: Mode) -> Origin {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(0);
    let started_ms = run.seconds_now(mode).map_or(now_ms, |seconds| seconds * 1000);
    Origin { command: run.command(), on: run.stack().name(), started_ms }
}

fn say(recording: &Recording, file: &str) {
    let calls: u64 = recording.entries.iter().map(|entry| u64::from(entry.times)).sum();
    tell(&format!("{calls} calls of SQLite {} are in {file}", recording.about.version));
    if !recording.cannot.is_empty() {
        tell(&format!("a replay cannot repeat: {}", recording.cannot.join(", ")));
    }
}
