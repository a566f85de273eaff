//! `cargo xtask campaign`: long random tests, with every assertion kept.
//!
//! 1. Random histories of operations run on random devices, are cut by power failures and mounted
//!    again. They are those of the engine (`crates/flysch/tests/it/db/campaign`) or of the Linux
//!    stacks (`crates/linux/tests/it/campaign`). Or damaged and forged images are mounted
//!    (`hostile.rs`).
//! 2. Everything follows from a seed, which is printed. A history that fails is reduced and printed
//!    as a line for `--replay`. The other histories of the stacks go on, and the campaign fails at
//!    its end.
//! 3. `--table N` plays N histories of each stack in each mode, and prints what they survive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::words::{number, value};
use crate::{Outcome, binaries, shell};

/// Histories in one run of the test; for images, hundreds of them.
const HISTORIES: u64 = 400;
const IMAGES: u64 = 500;
/// The first seed if none is given: of histories of the engine, one from which on they have all
/// that there is: constraints, long transactions and queries.
const SEED: u64 = 1;
const SEED_OF_ENGINE: u64 = 110_000_000;
/// Number of power cuts if neither cuts nor minutes are given.
const CUTS: u64 = 100_000;

/// The options of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Campaign {
    pub(crate) cuts: Option<u64>,
    pub(crate) minutes: Option<u64>,
    pub(crate) images: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) replay: Option<String>,
    /// The name of a Linux stack, or `all`. None: the engine.
    pub(crate) stack: Option<String>,
    /// Histories for each stack and mode, if the table of losses is wanted.
    pub(crate) table: Option<u64>,
}

impl Campaign {
    /// Parse the words after the command.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut campaign = Self::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let value = value(&mut words, word)?;
            match word {
                "--cuts" => campaign.cuts = Some(number(value)?),
                "--minutes" => campaign.minutes = Some(number(value)?),
                "--images" => campaign.images = Some(number(value)?),
                "--seed" => campaign.seed = Some(number(value)?),
                "--stack" => campaign.stack = Some(value.to_owned()),
                "--table" => campaign.table = Some(number(value)?),
                "--replay" => campaign.replay = Some(value.to_owned()),
                _ => return Err(format!("unexpected argument `{word}`")),
            }
        }
        Ok(campaign)
    }

    /// Build the tests, and run them until the wanted number or time is reached.
    pub(crate) fn run(&self) -> Outcome {
        // The line of a stack's history begins with the stack's name, that of the engine with a
        // number.
        let is_stack = |line: &String| line.contains(':') && !line.starts_with(char::is_numeric);
        let of_stacks = self.stack.is_some()
            || self.table.is_some()
            || self.replay.as_ref().is_some_and(is_stack);
        let (package, name) = if of_stacks {
            ("flysch-linux", "campaign::every_stack_keeps_its_promises")
        } else {
            ("flysch", "db::campaign::random_histories_are_survived")
        };
        let mut arguments = vec!["--profile", "sim", "--package", package, "--test", "it"];
        if !of_stacks {
            // The checksum by the nibble, made for devices, takes nearly half of a campaign's time.
            arguments.extend(["--features", "fast-crc"]);
        }
        let built = binaries::of_tests(shell::root(), &arguments)?;
        let binary = built.first().ok_or("there is no test binary")?;
        if let Some(history) = &self.replay {
            return shell::run(test(binary, name).env("FLYSCH_REPLAY", history));
        }
        if let Some(histories) = self.table {
            let mut command = test(binary, "campaign::table::losses_are_those_of_linux");
            command.env("FLYSCH_TABLE", histories.to_string()).stderr(Stdio::null());
            command.envs(self.seed.iter().map(|seed| ("FLYSCH_SEED", seed.to_string())));
            return shell::run(&mut command);
        }
        if let Some(images) = self.images {
            return self.mount_images(binary, images);
        }
        self.cut(binary, name)
    }

    /// Run histories until there are enough cuts or the time is over. A history that fails is
    /// reported, and the others go on.
    #[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
    fn cut(&self, binary: &Path, name: &str) -> Outcome {
        let start = Instant::now();
        let end = self.minutes.map(|minutes| Duration::from_secs(minutes * 60));
        let wanted = self.cuts.or(if end.is_none() { Some(CUTS) } else { None });
        let least = if name.starts_with("db::") { SEED_OF_ENGINE } else { SEED };
        let (mut seed, mut done) = (self.seed.unwrap_or(least), Done::default());
        while wanted.is_none_or(|wanted| done.cuts < wanted)
            && end.is_none_or(|end| start.elapsed() < end)
        {
            let mut command = test(binary, name);
            command.env("FLYSCH_SEED", seed.to_string());
            command.env("FLYSCH_HISTORIES", HISTORIES.to_string());
            command.envs(self.stack.iter().map(|stack| ("FLYSCH_STACK", stack)));
            done.take(&command.stderr(Stdio::inherit()).output()?)?;
            seed += HISTORIES;
        }
        let seconds = start.elapsed().as_secs();
        for (stack, cuts) in &done.of_stacks {
            println!("{stack}: {cuts} cuts");
        }
        for failure in &done.failures {
            println!("{failure}");
        }
        println!("{} cuts, next seed {seed}, {seconds} s", done.cuts);
        match done.failures.len() {
            0 => Ok(()),
            failures => Err(format!("{failures} histories failed, see above").into()),
        }
    }

    /// Mount images, some ten thousand in each run of the test.
    fn mount_images(&self, binary: &Path, images: u64) -> Outcome {
        let first = self.seed.unwrap_or(0);
        let mut done = 0;
        while done < images {
            let mut command = test(binary, "db::hostile::spoilt_images_are_answered_or_refused");
            command.env("FLYSCH_SEED", (first + done).to_string());
            command.env("FLYSCH_SEEDS", IMAGES.to_string());
            let output = said(&mut command)?;
            let line = output.lines().find(|line| line.starts_with("images: "));
            println!("seeds from {}: {}", first + done, line.unwrap_or_default());
            done += IMAGES * 100;
        }
        println!("{done} images");
        Ok(())
    }
}

/// The results of the runs of the test so far.
#[derive(Debug, Default)]
struct Done {
    cuts: u64,
    of_stacks: BTreeMap<String, u64>,
    /// The lines for `--replay`, each with a description of the failure.
    failures: Vec<String>,
}

impl Done {
    /// Add the results of one run of the test. A run that fails without naming a history is an
    /// error.
    fn take(&mut self, output: &Output) -> Outcome {
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.starts_with("seeds from"));
        let cuts = line.and_then(|line| digits(line.split_once("cuts: ")?.1));
        let failures: Vec<&str> = text.lines().filter(|it| it.starts_with("--replay")).collect();
        if !output.status.success() && (failures.is_empty() || cuts.is_none()) {
            print!("{text}");
            return Err("a history failed: the lines above say how it is seen again".into());
        }
        println!("{}", line.unwrap_or_default());
        for failure in &failures {
            println!("{failure}");
        }
        self.failures.extend(failures.into_iter().map(str::to_owned));
        self.cuts += cuts.unwrap_or(0);
        for (stack, rest) in text.lines().filter_map(|line| line.split_once(": ")) {
            if let Some(cuts) = digits(rest).filter(|_| rest.contains(" cuts, ")) {
                *self.of_stacks.entry(stack.to_owned()).or_default() += cuts;
            }
        }
        Ok(())
    }
}

/// The number at the beginning of a text. None if there is none.
fn digits(text: &str) -> Option<u64> {
    text.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

/// The command that runs one test of a binary and shows its output.
fn test(binary: &Path, name: &str) -> Command {
    let mut command = Command::new(PathBuf::from(binary));
    command.args(["--exact", name, "--nocapture"]).stdin(Stdio::null());
    command.current_dir(shell::root().join("crates/flysch"));
    command
}

/// The output of a test. It is an error if the test fails.
fn said(command: &mut Command) -> Outcome<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        print!("{text}");
        Err("a history failed: the lines above say how it is seen again".into())
    }
}
