//! The stages of continuous integration, in order. The first that fails ends the run.
//!
//! The tests come last and nothing is printed after them when they pass, so that the output
//! closes with the summary of cargo itself.

use crate::{Outcome, packages, results, shell, smoke, vm};
use std::time::{Duration, Instant};

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
    Stage { name: "build", run: build },
    Stage { name: "smoke", run: smoke::run },
    Stage { name: "example", run: example },
    Stage { name: "results", run: || results::run(results::Mode::Check) },
    Stage { name: "vm-test", run: vm::run },
    Stage { name: "test", run: test },
];

/// Runs every stage.
pub(crate) fn run() -> Outcome {
    let (last, earlier) = STAGES.split_last().expect("there are stages");
    for stage in earlier {
        let took = timed(stage)?;
        println!("== {}: ok, {:.1} s", stage.name, took.as_secs_f64());
    }
    timed(last)?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
fn timed(stage: &Stage) -> Outcome<Duration> {
    println!("\n== {}", stage.name);
    let start = Instant::now();
    (stage.run)().map_err(|failure| {
        let seconds = start.elapsed().as_secs_f64();
        format!("stage {} failed after {seconds:.1} s: {failure}", stage.name)
    })?;
    Ok(start.elapsed())
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

fn build() -> Outcome {
    shell::release_binary().map(drop)
}

fn example() -> Outcome {
    shell::run(&mut shell::cargo(&["run", "--package", "flysch", "--example", "logger"]))
}

fn test() -> Outcome {
    shell::run(&mut shell::cargo(&["test", "--workspace"]))
}
