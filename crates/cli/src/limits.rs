//! Budgets of `flysch run` and `flysch replay`: read before the run, checked after it.

use std::fs;
use std::path::{Path, PathBuf};

use flysch_lab::bench::run::Run;
use flysch_lab::budget::{Budget, Usage};
use flysch_lab::program::Simulation;

use crate::failure::Failure;
use crate::output;
use crate::progress::{show, tell};

/// The options for the limits of a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct BudgetOptions {
    /// File with limits of what the run may cost (TOML); exit code 1 if it exceeds one. Implies
    /// --pace none
    #[arg(long, value_name = "FILE")]
    budget: Option<PathBuf>,
    /// Replace the limits in the file by what this run costs
    #[arg(long)]
    update: bool,
}

/// A budget that was read before the run.
pub(crate) struct Held {
    path: PathBuf,
    budget: Budget,
    is_updated: bool,
}

impl BudgetOptions {
    /// These options with `file` as the budget, for `flysch budget`.
    pub(crate) fn of(&self, file: &Path) -> Result<Self, Failure> {
        if let Some(other) = &self.budget {
            let (file, other) = (file.display(), other.display());
            let message = format!("--budget {other}: {file} is the budget, and one of them holds");
            return Err(Failure::Message(message));
        }
        Ok(Self { budget: Some(file.to_owned()), update: self.update })
    }

    /// Refuse a time that passes between calls, which `pace` asks for, with a budget.
    pub(crate) fn refuse_pace(&self, pace: Option<&str>) -> Result<(), Failure> {
        let Some(pace) = pace.filter(|_| self.budget.is_some()) else { return Ok(()) };
        let message = format!("--pace {pace}: with --budget, the program's own time does not pass");
        Err(Failure::Message(message))
    }

    /// Whether `--budget` or `--update` is given.
    pub(crate) const fn is_given(&self) -> bool {
        self.budget.is_some() || self.update
    }

    /// The file whose limits are replaced.
    pub(crate) fn replaced(&self) -> Option<&PathBuf> {
        self.budget.as_ref().filter(|_| self.update)
    }

    /// Read the budget, if one is given. If `--update` is given and the file does not exist, the
    /// budget is empty.
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
    /// Print the limits that a run exceeded and return an error, or update the budget's file.
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
