//! Faults planted in the sources, each of which a test has to find.
//!
//! `xtask/plants.json` lists them, and `docs/planted.csv` says what became of each.
//!
//! 1. All faults are planted in a copy of the tree, whichever are asked for, and switched on one at
//!    a time: the copy is built once.
//! 2. A fault that does not compile is an error, and not one that was found.

mod fault;
mod tree;
mod verdict;

use std::fs;
use std::time::{Duration, Instant};

use crate::shell::root;
use crate::{Outcome, binaries};
use fault::Fault;
use verdict::{Verdict, Verdicts};

/// Draws a tenth of the faults where no seed is given, so that a run can be repeated.
const SEED: u64 = 149_916_165_163_951;

/// Which faults are switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All of them; `docs/planted.csv` is written.
    All,
    /// A tenth, drawn by a seed: that of the last commit where none is given. An error is a
    /// verdict that differs from `docs/planted.csv`.
    Tenth(Option<u64>),
    /// Those of an area, or those that begin with it; `docs/planted.csv` is written.
    Area(String),
    /// Those of an area, or of all areas, that were never tried; `docs/planted.csv` is written.
    New(String),
    /// Those of an area, or of all areas, that escaped; `docs/planted.csv` is written.
    Escaped(String),
    /// Those whose names hold one of several parts; `docs/planted.csv` is written.
    Named(Vec<String>),
}

/// Continuous integration has so long for the faults that it draws.
const TENTH_TIME: Duration = Duration::from_secs(180);

/// Plant the faults, and report which are found.
#[expect(clippy::disallowed_methods, reason = "it measures this program, not a simulation")]
pub(crate) fn plant(choice: &Choice) -> Outcome {
    let text = fs::read_to_string(root().join("xtask/plants.json"))?;
    let all = Fault::read_all(&text)?;
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
    let mut wrong = Vec::new();
    let start = Instant::now();
    for (&(number, fault), package) in faults.iter().zip(&packages) {
        if matches!(choice, Choice::Tenth(_)) && start.elapsed() > TENTH_TIME {
            println!("the time is over");
            break;
        }
        let binaries = built.iter().find(|(name, _)| name == package);
        let binaries = binaries.map_or(&[][..], |(_, binaries)| binaries);
        let verdict = fault.verdict(number, binaries, verdicts.test_of(fault))?;
        println!("{verdict}: {} ({})", fault.name, fault.area());
        let differs = match choice {
            Choice::Tenth(_) => verdicts.differs(fault, &verdict),
            _ => matches!(verdict, Verdict::Escaped),
        };
        if differs {
            wrong.push(fault.name.clone());
        }
        verdicts.set(fault, verdict);
        if !matches!(choice, Choice::Tenth(_)) {
            verdicts.keep(&all);
            verdicts.write()?;
        }
    }
    verdicts.print(&all);
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("not as they ought to be: {wrong:?}").into())
    }
}

impl Choice {
    /// Those of several parts of names, with commas between them.
    pub(crate) fn named(parts: &str) -> Self {
        Self::Named(parts.split(',').map(|part| part.trim().to_owned()).collect())
    }
}

/// The faults that are switched on, by their numbers.
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
            // What was never tried has no verdict that could differ.
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
