//! Budgets of `flysch run` and `flysch replay`: read before the run, and judged after it.

use std::fs;
use std::path::{Path, PathBuf};

use flysch_lab::bench::run::Run;
use flysch_lab::budget::{Budget, Usage};
use flysch_lab::program::Simulation;

use crate::failure::Failure;
use crate::output;
use crate::progress::{show, tell};

/// The limits of a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct BudgetOptions {
    /// Limits of what the run may cost (TOML); exit with 1 if it is over one. Implies --pace none
    #[arg(long, value_name = "FILE")]
    budget: Option<PathBuf>,
    /// Write the limits anew, as this run needs them
    #[arg(long)]
    update: bool,
}

/// A budget that was read, before the run.
pub(crate) struct Held {
    path: PathBuf,
    budget: Budget,
    is_updated: bool,
}

impl BudgetOptions {
    /// The options of `flysch budget`: its file, and whether it is written.
    pub(crate) fn of(&self, file: &Path) -> Self {
        Self { budget: Some(file.to_owned()), update: self.update }
    }

    /// Whether there is a budget, or one is to be written.
    pub(crate) const fn is_given(&self) -> bool {
        self.budget.is_some() || self.update
    }

    /// Read the budget, if there is one. Without a file, `--update` begins with an empty one.
    pub(crate) fn read(&self) -> Result<Option<Held>, Failure> {
        let Some(path) = self.budget.clone() else {
            let message = "--update needs --budget FILE".to_owned();
            return if self.update { Err(Failure::Message(message)) } else { Ok(None) };
        };
        let is_new = self.update && !path.exists();
        let budget = if is_new {
            output::check_writable(&path, false)?;
            Budget::default()
        } else {
            let text = fs::read_to_string(&path).map_err(|error| Failure::of_file(&path, error))?;
            Budget::parse(&text).map_err(|why| Failure::of_file(&path, why))?
        };
        Ok(Some(Held { path, budget, is_updated: self.update }))
    }
}

impl Held {
    /// Tell what a run used beyond the limits, or write them anew.
    pub(crate) fn judge(&self, simulation: &Simulation, run: &Run) -> Result<(), Failure> {
        let (syncs, writes) = (simulation.syncs(), simulation.writes());
        let usage = Usage { run, syncs, writes, of_tables: simulation.writes_of_tables() };
        if self.is_updated {
            let text = self.budget.updated(&usage).text();
            output::write_file(&self.path, text.as_bytes(), true)?;
            tell(&format!("{} has the limits of this run", self.path.display()));
            return Ok(());
        }
        let (over, absent) = self.budget.check(&usage);
        for what in absent {
            tell(&format!("{}: {what}", self.path.display()));
        }
        let Some(first) = over.first() else { return Ok(()) };
        let columns = ["of", "what", "limit", "used"];
        let table = output::rows(&columns, &over, output::Format::Table);
        show(&String::from_utf8_lossy(&table));
        let (file, count) = (self.path.display(), over.len());
        Err(Failure::Beyond(format!(
            "{file}: {count} limits exceeded: {}: {} {}, at most {}",
            first.of, first.used, first.what, first.limit
        )))
    }
}
