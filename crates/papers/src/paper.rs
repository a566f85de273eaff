//! Papers: their items, the experiments that measure them, and how these are carried out.

use std::error::Error;
use std::fmt;

use flysch_charts::figure::Figure;
use flysch_lab::bench::grid;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use rayon::prelude::*;

use super::claim::{Claim, Row};
use super::listing::Listing;

/// A paper whose experiments are done again.
#[derive(Debug)]
pub struct Paper {
    /// Number, three digits.
    pub number: &'static str,
    /// Authors, short title, where and when it appeared.
    pub title: &'static str,
    /// What was run on what, in a sentence or two.
    pub lead: &'static str,
    /// The platform whose fitted constants are declared; none where nothing is timed.
    pub platform: Option<&'static str>,
    /// Its tables, figures and statements, in order.
    pub items: &'static [Item],
    /// What measures them.
    pub experiments: &'static [Experiment],
}

/// Part of a paper that makes claims.
#[derive(Debug)]
pub struct Item {
    /// Name on the command line and in files, such as `figure-3`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
}

/// Runs that measure one item or more.
#[derive(Debug)]
pub struct Experiment {
    /// Names of the items.
    pub items: &'static [&'static str],
    /// How many steps of progress it takes. A step is about 10 ms of one core, so that the time
    /// left can be estimated.
    pub steps: fn(Effort) -> u64,
    /// Carry it out, and report as many steps.
    pub run: fn(&Trial<'_>) -> Result<Evidence, Cause>,
}

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All that the paper ran.
    Full,
    /// Enough to judge every claim: fewer points between.
    Quick,
}

/// What an experiment is carried out with.
pub struct Trial<'a> {
    /// How much to run.
    pub effort: Effort,
    /// Report so many steps as done; from any thread.
    pub done: &'a (dyn Fn(u64) + Sync),
}

/// What an experiment found.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Judged claims.
    pub claims: Vec<Claim>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Tables.
    pub listings: Vec<Listing>,
}

/// Why an experiment ended early.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a paper has no result.
#[derive(Debug)]
pub struct ReproError {
    /// Number of the paper.
    pub paper: &'static str,
    /// The items that were under way.
    pub items: &'static [&'static str],
    /// Why.
    pub cause: Cause,
}

/// What was found of a paper.
#[derive(Debug)]
pub struct Findings {
    /// The paper.
    pub paper: &'static Paper,
    /// Names of the items that were asked for, in the paper's order.
    pub items: Vec<&'static str>,
    /// All evidence for them.
    pub evidence: Evidence,
}

impl fmt::Display for ReproError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "paper {}, {}: {}", self.paper, self.items.join(", "), self.cause)
    }
}

impl Error for ReproError {}

impl Trial<'_> {
    /// Carry scenarios out on all cores, one step for each.
    ///
    /// # Errors
    /// That of the first scenario that has no result.
    pub fn run_all(&self, scenarios: &[Scenario]) -> Result<Vec<Run>, Cause> {
        let outcomes = grid::run_in_turns(scenarios, || (self.done)(1));
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

    /// Steps that it takes to measure `items`.
    pub fn steps(&self, items: &[&str], effort: Effort) -> u64 {
        self.experiments_of(items).map(|experiment| (experiment.steps)(effort)).sum()
    }

    /// Measure `items` on all cores.
    ///
    /// # Errors
    /// That of the first experiment that has no result.
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
    /// Add what else was found.
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
