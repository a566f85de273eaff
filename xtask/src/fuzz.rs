//! `cargo xtask fuzz`: the targets of `crates/fuzz`, with as many inputs as wanted.
//!
//! 1. Each target runs in a process of its own, so that its memory can be measured and limited.
//! 2. `--corpus` chooses the inputs that the tests of the crate begin with.
//! 3. Overflow checks and assertions are enabled. If an input panics, takes 5 s or makes the
//!    process take 1 GB, the run fails and prints it as a line for `--replay`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::words::{number, value};
use crate::{Outcome, binaries, shell};

/// Inputs for each target if neither inputs nor minutes are given; also inputs in one round if
/// minutes are given.
const INPUTS: u64 = 10_000;
const ROUND: u64 = 2000;
/// Inputs from which the corpus of a target is chosen.
const CHOICE: u64 = 500;

/// The options of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fuzz {
    /// The beginning of the names of the targets to run. Empty for all.
    pub(crate) target: String,
    pub(crate) inputs: Option<u64>,
    pub(crate) minutes: Option<u64>,
    pub(crate) seed: Option<u64>,
    /// Whether the inputs are those that the corpus is chosen from.
    pub(crate) corpus: bool,
    /// An input to replay, in hexadecimal.
    pub(crate) replay: Option<String>,
}

impl Fuzz {
    /// Parse the words after the command.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut fuzz = Self::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            if !word.starts_with('-') && fuzz.target.is_empty() {
                word.clone_into(&mut fuzz.target);
                continue;
            }
            if word == "--corpus" {
                fuzz.corpus = true;
                continue;
            }
            let value = value(&mut words, word)?;
            match word {
                "--inputs" => fuzz.inputs = Some(number(value)?),
                "--minutes" => fuzz.minutes = Some(number(value)?),
                "--seed" => fuzz.seed = Some(number(value)?),
                "--replay" => fuzz.replay = Some(value.to_owned()),
                _ => return Err(format!("unexpected argument `{word}`")),
            }
        }
        Ok(fuzz)
    }

    /// Build the targets, and run them until the wanted number or time is reached.
    #[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
    pub(crate) fn run(&self) -> Outcome {
        let arguments = ["--profile", "sim", "--package", "flysch-fuzz", "--test", "it"];
        let built = binaries::of_tests(shell::root(), &arguments)?;
        let binary = built.first().ok_or("there is no test binary")?;
        let targets = self.targets(binary)?;
        if let Some(input) = &self.replay {
            let [target] = targets.as_slice() else { return Err("which target?".into()) };
            return shell::run(one(binary, target).env("FLYSCH_REPLAY", input));
        }
        let (start, end) = (Instant::now(), self.minutes.map(|it| Duration::from_secs(it * 60)));
        if self.corpus {
            let inputs = self.inputs.unwrap_or(CHOICE);
            return targets.iter().try_for_each(|target| corpus(binary, target, inputs));
        }
        let count = self.inputs.unwrap_or(if end.is_some() { ROUND } else { INPUTS });
        let mut seed = self.seed.unwrap_or(1);
        loop {
            for target in &targets {
                println!("{}", outcome_of(&mut one(binary, target), seed, count)?);
            }
            seed += count;
            if end.is_none_or(|end| start.elapsed() >= end) {
                break;
            }
        }
        println!("{} targets, next seed {seed}, {} s", targets.len(), start.elapsed().as_secs());
        Ok(())
    }

    /// The full names of the targets to run.
    fn targets(&self, binary: &Path) -> Outcome<Vec<String>> {
        let list = shell::output(Command::new(binary).args(["--list", "--format", "terse"]))?;
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        let is_wanted = |name: &&str| {
            let short = name.split("::").last().unwrap_or_default();
            let is_all = self.target.is_empty() || name.starts_with(&format!("{}::", self.target));
            // Ordinary tests have names that are sentences; names of targets are not.
            !name.starts_with("seeds")
                && !short.contains("_are_")
                && (is_all || short == self.target)
        };
        let wanted: Vec<String> = names.filter(is_wanted).map(str::to_owned).collect();
        if wanted.is_empty() {
            Err(format!("no target `{}`", self.target).into())
        } else {
            Ok(wanted)
        }
    }
}

fn one(binary: &Path, target: &str) -> Command {
    let mut command = Command::new(binary);
    command.args(["--exact", target, "--nocapture"]).stdin(Stdio::null());
    command.current_dir(shell::root().join("crates/fuzz")).env("RUST_BACKTRACE", "0");
    command
}

/// Choose the corpus of a target, and write it into the folder of the crate.
fn corpus(binary: &Path, target: &str, inputs: u64) -> Outcome {
    println!("{target}");
    let mut command = one(binary, target);
    shell::run(command.env("FLYSCH_CORPUS", "1").env("FLYSCH_INPUTS", inputs.to_string()))
}

/// Run a target and return the line with its figures.
#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
fn outcome_of(command: &mut Command, seed: u64, count: u64) -> Outcome<String> {
    command.env("FLYSCH_SEED", seed.to_string()).env("FLYSCH_INPUTS", count.to_string());
    let start = Instant::now();
    let output = command.output()?;
    let [out, errors] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    if !output.status.success() {
        let lines: Vec<&str> =
            errors.lines().filter(|line| line.contains("FLYSCH_REPLAY")).collect();
        let first: Vec<&str> = errors.lines().take(4).collect();
        return Err(format!("{}\n{}", first.join("\n"), lines.join("\n")).into());
    }
    let line = out.lines().find_map(|line| line.find(" inputs from").map(|_| line));
    Ok(format!("{}, {} s in all", line.unwrap_or_default(), start.elapsed().as_secs()))
}
