//! Papers: their items, the experiments that measure them, and how the experiments are run.

use std::error::Error;
use std::fmt;

use flysch_charts::figure::Figure;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use rayon::prelude::*;

use super::cells::Cells;
use super::claim::{Claim, Row};
use super::listing::Listing;

/// A paper whose experiments are repeated.
#[derive(Debug)]
pub struct Paper {
    /// The paper's number, three digits.
    pub number: &'static str,
    /// Authors, short title, venue and year.
    pub title: &'static str,
    /// A sentence or two on what was run, and on which system.
    pub lead: &'static str,
    /// The platform whose fitted constants are listed. None if nothing is timed.
    pub platform: Option<&'static str>,
    /// Its tables, figures and statements, in order.
    pub items: &'static [Item],
    /// The experiments that measure the items.
    pub experiments: &'static [Experiment],
}

/// A part of a paper that makes claims.
#[derive(Debug)]
pub struct Item {
    /// Name on the command line and in files, such as `figure-3`.
    pub name: &'static str,
    /// What the item shows.
    pub title: &'static str,
}

/// Runs that measure one or more items.
#[derive(Debug)]
pub struct Experiment {
    /// The names of the items.
    pub items: &'static [&'static str],
    /// Number of progress steps. One step is about 10 ms on one core, so that the remaining time
    /// can be estimated.
    pub steps: fn(Effort) -> u64,
    /// Run the experiment and report this many steps.
    pub run: fn(&Trial<'_>) -> Result<Evidence, Cause>,
}

/// How many points are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All points that the paper measured.
    Full,
    /// Fewer points, but enough to judge every claim.
    Quick,
}

/// The settings of an experiment, and the report of its progress.
pub struct Trial<'a> {
    /// How much to run.
    pub effort: Effort,
    /// Number of the seed, from 1. The seeds of all runs are shifted by it, so that no two trials
    /// have a run in common.
    pub seed: u64,
    /// Called with the number of steps that were just completed, from any thread.
    pub done: &'a (dyn Fn(u64) + Sync),
    cells: Cells,
}

/// The results of an experiment.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Claims with their measurements.
    pub claims: Vec<Claim>,
    pub figures: Vec<Figure>,
    pub listings: Vec<Listing>,
}

/// Why an experiment ended early.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a paper has no result.
#[derive(Debug)]
pub struct ReproError {
    /// Number of the paper.
    pub paper: &'static str,
    /// The items of the experiment that failed.
    pub items: &'static [&'static str],
    /// The error of the experiment.
    pub cause: Cause,
}

/// The results for a paper.
#[derive(Debug)]
pub struct Findings {
    pub paper: &'static Paper,
    /// Names of the chosen items, in the paper's order.
    pub items: Vec<&'static str>,
    /// The evidence for all chosen items.
    pub evidence: Evidence,
}

impl fmt::Display for ReproError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "paper {}, {}: {}", self.paper, self.items.join(", "), self.cause)
    }
}

impl Error for ReproError {}

/// How far the seeds of one trial are shifted from those of the previous one. No experiment uses
/// this many seeds.
const SEED_STRIDE: u64 = 1 << 20;

impl<'a> Trial<'a> {
    /// A trial without any runs.
    pub fn new(effort: Effort, seed: u64, done: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { effort, seed, done, cells: Cells::default() }
    }

    /// The seed in this trial for a run that has `seed` in the first trial.
    pub fn seed_of(&self, seed: u64) -> u64 {
        seed + (self.seed - 1) * SEED_STRIDE
    }

    /// A copy of the scenarios with the seeds of this trial.
    fn seeded(&self, scenarios: &[Scenario]) -> Vec<Scenario> {
        let mut seeded = scenarios.to_vec();
        for scenario in &mut seeded {
            scenario.seed = self.seed_of(scenario.seed);
        }
        seeded
    }

    /// Run scenarios on all cores and report this many steps for each. What an experiment of this
    /// trial ran before is not run again.
    ///
    /// # Errors
    /// Returns the error of the first scenario that failed.
    pub fn run_all(&self, scenarios: &[Scenario], steps: u64) -> Result<Vec<Run>, Cause> {
        let outcomes = self.cells.run_all(&self.seeded(scenarios), || (self.done)(steps));
        outcomes.into_iter().map(|outcome| outcome.map_err(Cause::from)).collect()
    }
}

impl Paper {
    /// The experiments that measure any of `items`.
    fn experiments_of(&self, items: &[&str]) -> impl Iterator<Item = &Experiment> {
        let serves =
            |experiment: &&Experiment| experiment.items.iter().any(|item| items.contains(item));
        self.experiments.iter().filter(serves)
    }

    /// Number of progress steps for measuring `items`.
    pub fn steps(&self, items: &[&str], effort: Effort) -> u64 {
        self.experiments_of(items).map(|experiment| (experiment.steps)(effort)).sum()
    }

    /// Measure `items` on all cores.
    ///
    /// # Errors
    /// Returns the error of the first experiment that failed.
    pub fn measure(
        &'static self,
        items: &[&'static str],
        trial: &Trial<'_>,
    ) -> Result<Findings, ReproError> {
        let experiments: Vec<&Experiment> = self.experiments_of(items).collect();
        let one = |experiment: &&Experiment| {
            let failed = |cause| ReproError { paper: self.number, items: experiment.items, cause };
            (experiment.run)(trial).map_err(failed)
        };
        let all: Vec<Evidence> =
            experiments.par_iter().map(one).collect::<Result<_, ReproError>>()?;
        let mut evidence = Evidence::default();
        for one in all {
            evidence.append(one);
        }
        let place = |name: &str| items.iter().position(|item| *item == name);
        evidence.claims.retain(|claim| place(claim.item).is_some());
        evidence.claims.sort_by_key(|claim| place(claim.item));
        evidence.figures.retain(|figure| place(figure.item).is_some());
        evidence.figures.sort_by_key(|figure| place(figure.item));
        evidence.listings.retain(|listing| place(listing.item).is_some());
        evidence.listings.sort_by_key(|listing| place(listing.item));
        Ok(Findings { paper: self, items: items.to_vec(), evidence })
    }
}

impl Evidence {
    /// Append the evidence of another experiment.
    pub fn append(&mut self, other: Self) {
        self.claims.extend(other.claims);
        self.figures.extend(other.figures);
        self.listings.extend(other.listings);
    }
}

impl Findings {
    /// The rows of the summary.
    pub fn rows(&self) -> Vec<Row> {
        self.evidence.claims.iter().map(|claim| claim.row(self.paper.number)).collect()
    }
}
