//! Faults that are planted in the sources to test the tests: each should make a test fail.
//!
//! `xtask/plants.json` lists the faults, and `docs/planted.csv` has the verdict on each.
//!
//! 1. All faults are planted in one copy of the sources, whichever are to be tested, and are
//!    switched on one at a time. So the copy is built once.
//! 2. A fault that does not compile is an error; it does not count as found. So is a test that
//!    fails with a fault and without one.

mod fault;
mod tree;
mod verdict;

use std::fs;
use std::iter;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::shell::root;
use crate::{Outcome, binaries};
use fault::{Fault, Sound};
use verdict::{Verdict, Verdicts};

/// The list of the faults.
const FAULTS: &str = "xtask/plants.json";
/// The default seed for choosing a tenth of the faults, so that a run can be repeated.
const SEED: u64 = 149_916_165_163_951;

/// Which faults to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All faults. `docs/planted.csv` is updated.
    All,
    /// A tenth, chosen by a seed; by that of the last commit if it is None. It is an error if a
    /// verdict differs from `docs/planted.csv`.
    Tenth(Option<u64>),
    /// The faults in areas whose names begin with this. `docs/planted.csv` is updated.
    Area(String),
    /// The faults of an area, or of all, that were never tested. `docs/planted.csv` is updated.
    New(String),
    /// The faults of an area, or of all, that escaped. `docs/planted.csv` is updated.
    Escaped(String),
    /// The faults whose names contain one of these texts. `docs/planted.csv` is updated.
    Named(Vec<String>),
}

/// The time that continuous integration has for the faults that it chooses.
const TENTH_TIME: Duration = Duration::from_secs(180);

/// A fault that is to be tested.
struct Trial<'f> {
    fault: &'f Fault,
    number: usize,
    /// The test binaries of its crate.
    binaries: &'f [PathBuf],
    /// The test that caught it last time.
    before: Option<String>,
    /// None where the tests are known to pass.
    sound: Option<&'f Sound>,
}

impl Trial<'_> {
    fn verdict(&self) -> Result<Verdict, String> {
        let before = self.before.as_deref();
        let verdict = self.fault.verdict(self.number, self.binaries, before, self.sound);
        verdict.map_err(|failure| failure.to_string())
    }
}

/// Test faults, and report which are found.
#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
pub(crate) fn plant(choice: &Choice) -> Outcome {
    let all = Fault::read_all(&fs::read_to_string(root().join(FAULTS))?)?;
    let mut verdicts = Verdicts::read()?;
    let faults = chosen(choice, &all, &verdicts)?;
    let tree = root().join("target/plants");
    tree::prepare(&tree, &all)?;
    let packages: Vec<String> = faults.iter().map(|it| it.1.package()).collect::<Outcome<_>>()?;
    let mut built = Vec::new();
    for package in &packages {
        if !built.iter().any(|(name, _)| name == package) {
            let arguments = ["--package", package, "--lib", "--tests"];
            built.push((package.clone(), binaries::of_tests(&tree, &arguments)?));
        }
    }
    let (is_tenth, sound) = (matches!(choice, Choice::Tenth(_)), Sound::default());
    // Continuous integration runs all tests besides, and its time is short.
    let checked = Some(&sound).filter(|_| !is_tenth);
    let trials = faults.iter().zip(&packages).map(|(&(number, fault), package)| {
        let binaries = built.iter().find(|(name, _)| name == package);
        let binaries = binaries.map_or(&[][..], |(_, binaries)| binaries);
        let before = verdicts.test_of(fault).map(str::to_owned);
        Trial { fault, number, binaries, before, sound: checked }
    });
    let trials: Vec<Trial<'_>> = trials.collect();
    let mut wrong = Vec::new();
    let end = is_tenth.then(|| Instant::now() + TENTH_TIME);
    try_all(&trials, end, |fault, verdict| {
        println!("{verdict}: {} ({})", fault.name, fault.area());
        let differs = match choice {
            Choice::Tenth(_) => verdicts.differs(fault, &verdict),
            _ => matches!(verdict, Verdict::Escaped),
        };
        if differs {
            wrong.push(fault.name.clone());
        }
        verdicts.set(fault, verdict);
        if is_tenth {
            return Ok(());
        }
        verdicts.keep(&all);
        verdicts.write()
    })?;
    verdicts.print(&all);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("not as they ought to be: {wrong:?}").into())
    }
}

/// Test faults on all processors, and pass each verdict to `judge`. No trial begins after `end`.
#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
fn try_all<'f>(
    trials: &[Trial<'f>],
    end: Option<Instant>,
    mut judge: impl FnMut(&'f Fault, Verdict) -> Outcome,
) -> Outcome {
    let queue = Mutex::new(trials.iter());
    let next = || {
        let is_over = end.is_some_and(|end| Instant::now() > end);
        queue.lock().expect("no worker panics").next().filter(|_| !is_over)
    };
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                // After a failure nobody listens any more.
                let _all = iter::from_fn(next)
                    .try_for_each(|trial| sender.send((trial.fault, trial.verdict())));
            });
        }
        drop(sender);
        let mut judged = 0;
        for (fault, verdict) in receiver {
            judge(fault, verdict?)?;
            judged += 1;
        }
        if judged < trials.len() {
            println!("the time is over");
        }
        Ok(())
    })
}

impl Choice {
    /// The choice of faults whose names contain one of several texts, separated by commas.
    pub(crate) fn named(parts: &str) -> Self {
        Self::Named(parts.split(',').map(|part| part.trim().to_owned()).collect())
    }
}

/// The chosen faults, with their numbers.
fn chosen<'f>(
    choice: &Choice,
    all: &'f [Fault],
    verdicts: &Verdicts,
) -> Outcome<Vec<(usize, &'f Fault)>> {
    let those = |is_due: &dyn Fn(&Fault) -> bool| -> Vec<(usize, &'f Fault)> {
        (1..).zip(all).filter(|(_, fault)| is_due(fault)).collect()
    };
    Ok(match choice {
        Choice::All => those(&|_| true),
        Choice::Area(area) => those(&|it| it.area().starts_with(area)),
        Choice::New(area) => those(&|it| it.area().starts_with(area) && !verdicts.has(it)),
        Choice::Escaped(area) => {
            those(&|it| it.area().starts_with(area) && verdicts.has_escaped(it))
        }
        Choice::Named(parts) => {
            let found = those(&|it| parts.iter().any(|part| it.name.contains(part)));
            if found.is_empty() {
                return Err(format!("no fault has a name with `{}`", parts.join("`, `")).into());
            }
            found
        }
        Choice::Tenth(seed) => {
            let seed = seed.unwrap_or(SEED);
            println!("the faults of seed {seed}: cargo xtask plant --tenth {seed}");
            // A fault that was never tested has no verdict to compare with.
            let mut order = those(&|fault| verdicts.has(fault));
            order.sort_by_key(|&(number, _)| {
                let mixed = (seed ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
            });
            order.truncate(all.len().div_ceil(10));
            order
        }
    })
}
