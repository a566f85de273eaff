//! The `flysch` command: it reads arguments, and writes tables and files.
//!
//! Results go to stdout or to a file. A file is written completely or not at all. An error is one
//! line on stderr, `flysch: ...`, with exit code 2.

#![forbid(unsafe_code)]

mod advise;
mod bench;
mod budget;
mod calibrate;
mod compare;
mod crash;
mod extension;
mod failure;
mod image;
mod index;
mod kernel;
mod layers;
mod life;
mod limits;
mod model;
mod numbers;
mod output;
mod parameters;
mod part;
mod platform;
mod play;
mod progress;
mod provenance;
mod record;
mod replay;
mod repro;
mod run;
mod sheet;
mod tpcc;
mod trace;
mod vm;
mod words;
mod workloads;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use failure::Failure;

/// Databases on raw NAND flash: what every statement costs, and which layer caused it.
#[derive(Debug, Parser)]
#[command(
    name = "flysch",
    version = provenance::VERSION,
    arg_required_else_help = false,
    after_help = "Examples:\n  flysch compare\n  flysch bench update --requests 1000 --trace run.trace\n  flysch trace run.trace causes"
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare every stack on one chip: a table here, charts in report.html.
    Compare(Box<compare::Args>),
    /// Run workloads on stacks with every parameter exposed.
    Bench(Box<bench::Args>),
    /// Run your program with its SQLite on a simulated stack.
    Run(Box<run::Args>),
    /// Run your program and record its calls of SQLite.
    Record(Box<record::Args>),
    /// Replay a recording or an SQL script on stacks, without its program.
    Replay(Box<replay::Args>),
    /// Check a program's costs against limits.
    Budget(Box<budget::Args>),
    /// Cut the power at many moments of a program's run, and check its databases.
    Crash(Box<crash::Args>),
    /// Find the configuration under which the flash lives longest.
    Advise(Box<advise::Args>),
    /// Make the calls of a recording that are read from standard input.
    #[command(hide = true)]
    Play(play::Args),
    /// Write an SQLite extension that puts a program's databases on a simulated stack.
    Extension(extension::Args),
    /// Repeat the papers' experiments, and judge each of their claims.
    Repro(repro::Args),
    /// Make flash images from folders, and copy files out of images.
    Image(image::Args),
    /// Compare index structures on the bare chip.
    Index(Box<index::Args>),
    /// List the parts (chips), show one, or make a template for your own.
    Part(part::Args),
    /// List the platforms, make a template for your own, or measure one's throughput to calibrate
    /// it.
    Platform(platform::Args),
    /// Compute what an index costs before it is built, and predict the costs of runs.
    Model(model::Args),
    /// Summarise, filter, convert and draw a trace of flash operations.
    Trace(trace::Args),
    /// Run the real kernel in a virtual machine, and compare the simulator with it.
    Vm(vm::Args),
}

fn main() -> ExitCode {
    let outcome = match CommandLine::try_parse() {
        Ok(command_line) => run(command_line),
        Err(error) => explain(&error),
    };
    match outcome {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Program(code)) => ExitCode::from(code),
        Err(failure) => {
            let line = failure.to_string().replace(char::is_control, " ");
            // If stderr is closed too, only the exit code reports the failure.
            writeln!(io::stderr(), "flysch: {line}").ok();
            ExitCode::from(if matches!(failure, Failure::Beyond(_)) { 1 } else { 2 })
        }
    }
}

fn run(command_line: CommandLine) -> Result<(), Failure> {
    match command_line.command {
        Command::Compare(args) => compare::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Budget(args) => budget::run(&args),
        Command::Crash(args) => crash::run(*args),
        Command::Advise(args) => advise::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Extension(args) => extension::run(&args),
        Command::Repro(args) => repro::run(&args),
        Command::Image(args) => image::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Part(args) => part::run(&args),
        Command::Platform(args) => platform::run(&args),
        Command::Model(args) => model::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Vm(args) => vm::run(&args),
    }
}

/// Print help and version, which are not errors. Shorten an error in the arguments to one line.
fn explain(error: &clap::Error) -> Result<(), Failure> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Ok(error.print()?);
    }
    let text = error.to_string();
    let said = text.split("\n\n").next().unwrap_or(&text);
    let words: Vec<&str> = said.split_whitespace().skip_while(|&word| word == "error:").collect();
    Err(Failure::Message(format!("{} (see --help)", words.join(" "))))
}
