//! The stages of continuous integration, in order. The first stage that fails ends the run.
//!
//! The tests come last. After them, only the time of their stage is printed, on the standard
//! error, so that the standard output ends with cargo's own summary.

use crate::{Outcome, book, examples, packages, plant, results, shell, size, smoke, vm};
use std::process::Command;
use std::thread;
use std::time::Instant;

struct Stage {
    name: &'static str,
    run: fn() -> Outcome,
}

const STAGES: &[Stage] = &[
    Stage { name: "fmt", run: fmt },
    Stage { name: "clippy", run: clippy },
    Stage {
        name: "packages",
        run: || {
            packages::install();
            Ok(())
        },
    },
    Stage { name: "doc", run: doc },
    Stage { name: "docs", run: book::run },
    Stage { name: "build", run: build },
    Stage { name: "example", run: example },
    Stage { name: "smoke", run: smoke::run },
    Stage { name: "examples", run: examples::run },
    Stage { name: "results", run: || results::run(results::Mode::Check) },
    Stage { name: "size", run: size::stage },
    Stage { name: "plant", run: || plant::plant(&plant::Choice::Tenth(None)) },
    Stage { name: "vm-test", run: vm::run },
    Stage { name: "test", run: test },
];

pub(crate) fn run() -> Outcome {
    let (last, earlier) = STAGES.split_last().expect("there are stages");
    for stage in earlier {
        println!("{}", timed(stage)?);
    }
    eprintln!("{}", timed(last)?);
    Ok(())
}

/// Run a stage. Returns a line with its time.
#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
fn timed(stage: &Stage) -> Outcome<String> {
    println!("\n== {}", stage.name);
    let start = Instant::now();
    let outcome = (stage.run)();
    let seconds = start.elapsed().as_secs_f64();
    let name = stage.name;
    outcome.map_err(|failure| format!("stage {name} failed after {seconds:.1} s: {failure}"))?;
    Ok(format!("== {name}: ok, {seconds:.1} s"))
}

fn fmt() -> Outcome {
    shell::run(&mut shell::cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Outcome {
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    shell::run(&mut shell::cargo(&arguments))
}

fn doc() -> Outcome {
    let mut command = shell::cargo(&["doc", "--workspace", "--no-deps"]);
    shell::run(command.env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// Build the release binary, and beside it the workspace for the examples and tests: the release
/// build ends with minutes on one processor.
fn build() -> Outcome {
    thread::scope(|scope| {
        let release = || shell::release_binary().map(drop).map_err(|error| error.to_string());
        let release = scope.spawn(release);
        shell::run(&mut shell::cargo(&["build", "--workspace", "--examples"]))?;
        Ok(release.join().map_err(|_| "the release build panicked")??)
    })
}

/// Run the examples of the lab as a library, and those of the engine. They are built together with
/// the whole workspace, as the tests are: an example alone would have its packages built anew, with
/// other features.
fn example() -> Outcome {
    let this = std::env::current_exe()?;
    let folder = this.with_file_name("examples");
    for name in ["compare_two", "own_workload", "own_index", "own_filesystem", "logger", "spi_nand"]
    {
        let mut example = Command::new(folder.join(name));
        shell::run(example.current_dir(shell::root()))?;
    }
    Ok(())
}

fn test() -> Outcome {
    shell::run(&mut shell::cargo(&["test", "--workspace"]))
}
