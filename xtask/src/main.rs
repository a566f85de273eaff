//! The commands for developers: `cargo xtask ci`, `campaign`, `coverage`, `docs`, `examples`,
//! `fuzz`, `plant`, `results`, `size` and `vm-test`.
//!
//! 1. If a command fails, it names the stage that failed and exits with 1. If it was mistyped, it
//!    prints one line and exits with 2.
//! 2. Everything runs without a terminal: no stage reads the standard input.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the terminal is its interface")]

mod binaries;
mod book;
mod browser;
mod campaign;
mod ci;
mod commands;
mod coverage;
mod examples;
mod fuzz;
mod packages;
mod plant;
mod results;
mod scratch;
mod shell;
mod size;
mod smoke;
mod vm;
mod words;

use std::error::Error;
use std::process::ExitCode;

/// The result of a step of any command. The error message is shown to the developer.
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const HELP: &str = "\
Checks and generated documents of this workspace.

Usage: cargo xtask COMMAND

Commands:
  campaign [--cuts N] [--minutes N] [--seed N]
                      cuts random histories of the engine, 100,000 times if nothing is told, and
                      mounts after each; prints seeds, and a failure as a line for --replay
  campaign --stack all [--cuts N] [--minutes N] [--seed N]
                      the same of the stacks of Linux, or of one: jffs2, yaffs2, ubifs, ubifs+zstd,
                      ubifs+fastmap, ftl, ftl-cost-benefit, ftl-log-block; goes on after a failure
  campaign --table N [--seed N]
                      plays N histories of each stack in each mode alone, and prints the table of
                      what is survived
  campaign --images N [--seed N]
                      mounts damaged and lying images
  campaign --replay HISTORY
                      goes through a history that was printed
  ci                  fmt, clippy, packages, doc, docs, release build, example, smoke run, results,
                      size, plant, vm-test, tests; prints the time of each stage; stops at the first
                      that fails
  coverage [PACKAGE …]
                      which lines the tests reach, by crate and module, and which they do not in
                      jffs2, ubifs, ubi, yaffs2 and ftl; needs cargo-llvm-cov
  docs                checks the links of the documents, and builds docs as a book in target/book
  examples            every example of --help, README and docs with the release binary, as a user
                      would type it; skips, saying so, what needs a real kernel with MTD
  fuzz [TARGET] [--inputs N] [--minutes N] [--seed N]
                      every reader of bytes, or `images`, `readers` or one of them, with 10,000
                      inputs if nothing is told; prints the longest time and the most memory
  fuzz TARGET --replay INPUT
                      an input that was printed
  fuzz [TARGET] --corpus
                      chooses the inputs that the tests begin with anew, from 500 of each target,
                      and writes them into crates/fuzz/tests/it/__fuzz__
  plant [NAME, …]     plants faults in a copy of the sources, each of which a test has to find, and
                      writes docs/planted.csv; xtask/plants.json lists them
  plant --area AREA   those of an area, such as linux/ubi, or of several that begin alike
  plant --new [AREA]  those that were never tried
  plant --escaped [AREA]
                      those that escaped
  plant --tenth [SEED]
                      a tenth of them, drawn by a seed; fails where docs/planted.csv says otherwise
  growth              counts whether an operation costs more in longer runs, for each workload and
                      stack, and writes the table into docs/speed.md; takes half an hour
  results [--check]   regenerates docs/results.md, docs/speed.md and the claims in docs/findings.md with
                      the release binary; with --check compares instead, and fails if a committed
                      file differs
  size                builds the engine for thumbv7m, prints code, stack and RAM, writes docs/size.md
  vm-test             sets a virtual machine up and compares the simulator with the kernel in it;
                      skipped, saying so, where that is impossible

Examples:
  cargo xtask ci
  cargo xtask docs
  cargo xtask fuzz jffs2 --inputs 10000
  cargo xtask results
  cargo xtask results --check
  cargo xtask size
  cargo xtask plant --tenth
  cargo xtask campaign --minutes 10 --seed 7
";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Help,
    Ci,
    Campaign(campaign::Campaign),
    Coverage(Vec<String>),
    Docs,
    Examples,
    Fuzz(fuzz::Fuzz),
    Growth,
    Plant(plant::Choice),
    Results(results::Mode),
    Size,
    VmTest,
}

fn parse(arguments: &[String]) -> Result<Command, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.iter().any(|word| ["--help", "-h", "help"].contains(word)) {
        return Ok(Command::Help);
    }
    match words.as_slice() {
        [] => Err("no command given".into()),
        ["ci"] => Ok(Command::Ci),
        ["docs"] => Ok(Command::Docs),
        ["examples"] => Ok(Command::Examples),
        ["campaign", rest @ ..] => campaign::Campaign::parse(rest).map(Command::Campaign),
        ["coverage", packages @ ..] => {
            Ok(Command::Coverage(packages.iter().map(|&name| name.to_owned()).collect()))
        }
        ["fuzz", rest @ ..] => fuzz::Fuzz::parse(rest).map(Command::Fuzz),
        ["growth"] => Ok(Command::Growth),
        ["plant"] => Ok(Command::Plant(plant::Choice::All)),
        ["plant", "--tenth"] => Ok(Command::Plant(plant::Choice::Tenth(None))),
        ["plant", "--new"] => Ok(Command::Plant(plant::Choice::New(String::new()))),
        ["plant", "--new", area] => Ok(Command::Plant(plant::Choice::New((*area).to_owned()))),
        ["plant", "--escaped"] => Ok(Command::Plant(plant::Choice::Escaped(String::new()))),
        ["plant", "--escaped", area] => {
            Ok(Command::Plant(plant::Choice::Escaped((*area).to_owned())))
        }
        ["plant", "--area", area] => Ok(Command::Plant(plant::Choice::Area((*area).to_owned()))),
        ["plant", "--tenth", seed] => {
            Ok(Command::Plant(plant::Choice::Tenth(Some(words::number(seed)?))))
        }
        ["plant", name @ ..] => Ok(Command::Plant(plant::Choice::named(&name.join(" ")))),
        ["vm-test"] => Ok(Command::VmTest),
        ["results"] => Ok(Command::Results(results::Mode::Write)),
        ["results", "--check"] => Ok(Command::Results(results::Mode::Check)),
        ["size"] => Ok(Command::Size),
        ["results", "--check", extra, ..]
        | ["ci" | "docs" | "examples" | "growth" | "results" | "size" | "vm-test", extra, ..] => {
            Err(format!("unexpected argument `{extra}`"))
        }
        [unknown, ..] => Err(format!("unknown command `{unknown}`")),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match parse(&arguments) {
        Err(complaint) => {
            eprintln!("xtask: {complaint}; see `cargo xtask --help`");
            return ExitCode::from(2);
        }
        Ok(Command::Help) => {
            print!("{HELP}");
            Ok(())
        }
        Ok(Command::Ci) => ci::run(),
        Ok(Command::Coverage(packages)) => coverage::run(&packages),
        Ok(Command::Docs) => book::run(),
        Ok(Command::Examples) => examples::run(),
        Ok(Command::Fuzz(fuzz)) => fuzz.run(),
        Ok(Command::Campaign(campaign)) => campaign.run(),
        Ok(Command::Growth) => results::growth::run(),
        Ok(Command::Plant(choice)) => plant::plant(&choice),
        Ok(Command::VmTest) => vm::run(),
        Ok(Command::Results(mode)) => results::run(mode),
        Ok(Command::Size) => size::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::campaign::Campaign;
    use super::fuzz::Fuzz;
    use super::plant::Choice;
    use super::{Command, parse, results::Mode};

    fn check(line: &str, expected: Result<Command, &str>) {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(parse(&arguments), expected.map_err(str::to_owned), "xtask {line}");
    }

    #[test]
    fn the_command_line_is_understood_or_refused() {
        check("ci", Ok(Command::Ci));
        check("docs", Ok(Command::Docs));
        check("examples", Ok(Command::Examples));
        check("plant", Ok(Command::Plant(Choice::All)));
        check("plant a seal", Ok(Command::Plant(Choice::Named(vec!["a seal".to_owned()]))));
        check("plant --tenth", Ok(Command::Plant(Choice::Tenth(None))));
        check("plant --escaped", Ok(Command::Plant(Choice::Escaped(String::new()))));
        check("plant --new linux", Ok(Command::Plant(Choice::New("linux".to_owned()))));
        check("plant --area chip", Ok(Command::Plant(Choice::Area("chip".to_owned()))));
        check("plant --tenth 7", Ok(Command::Plant(Choice::Tenth(Some(7)))));
        check("plant --tenth x", Err("`x` is no number"));
        let campaign = Campaign { minutes: Some(3), seed: Some(9), ..Campaign::default() };
        check("campaign --minutes 3 --seed 9", Ok(Command::Campaign(campaign)));
        let campaign = Campaign { images: Some(500), ..Campaign::default() };
        check("campaign --images 500", Ok(Command::Campaign(campaign)));
        let campaign = Campaign { cuts: Some(4), ..Campaign::default() };
        check("campaign --cuts 4", Ok(Command::Campaign(campaign)));
        let campaign = Campaign { replay: Some("7/0:1!".to_owned()), ..Campaign::default() };
        check("campaign --replay 7/0:1!", Ok(Command::Campaign(campaign)));
        let campaign = Campaign { stack: Some("all".to_owned()), ..Campaign::default() };
        check("campaign --stack all", Ok(Command::Campaign(campaign)));
        let campaign = Campaign { table: Some(9), ..Campaign::default() };
        check("campaign --table 9", Ok(Command::Campaign(campaign)));
        check("campaign --cuts", Err("`--cuts` needs a value"));
        let fuzz = Fuzz { target: "ubifs".to_owned(), inputs: Some(500), ..Fuzz::default() };
        check("fuzz ubifs --inputs 500", Ok(Command::Fuzz(fuzz)));
        let corpus = Fuzz { corpus: true, ..Fuzz::default() };
        check("fuzz --corpus", Ok(Command::Fuzz(corpus)));
        check("fuzz --replay", Err("`--replay` needs a value"));
        check("coverage", Ok(Command::Coverage(Vec::new())));
        check("vm-test", Ok(Command::VmTest));
        check("results", Ok(Command::Results(Mode::Write)));
        check("results --check", Ok(Command::Results(Mode::Check)));
        check("results --help", Ok(Command::Help));
        check("", Err("no command given"));
        check("size", Ok(Command::Size));
        check("size of", Err("unexpected argument `of`"));
        check("ci fast", Err("unexpected argument `fast`"));
        check("results --check twice", Err("unexpected argument `twice`"));
        check("results --chek", Err("unexpected argument `--chek`"));
        check("deploy", Err("unknown command `deploy`"));
    }
}
