//! Progress of many runs: a bar if stderr is a terminal, otherwise nothing.

use std::fmt::Display;
use std::io::{self, Write};

use flysch_lab::bench::RunError;
use flysch_lab::bench::grid::run_all;
use flysch_lab::bench::run::{Failed, Run};
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::index::bench::{self, IndexBench};
use flysch_lab::index::costs::IndexCosts;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;

/// The template of the bar for runs.
pub(crate) const RUNS: &str = "{bar:40} {pos}/{len} runs, {eta} left";

/// Run all scenarios. If some fail, the first failure is returned.
pub(crate) fn carry_out(scenarios: &[Scenario]) -> Result<Vec<Run>, Failure> {
    let outcomes = run_under_bar(scenarios, false);
    let titles = scenarios.iter().map(|scenario| title(scenario, &scenario.stack.name()));
    all_or_first_failure(outcomes, titles)
}

/// Run all scenarios. Each gets its result, or the reason why it has none.
pub(crate) fn attempt(scenarios: &[Scenario], is_quiet: bool) -> Vec<Cell> {
    let cell = |(scenario, outcome): (&Scenario, Result<Run, RunError>)| match outcome {
        Ok(run) => Cell::Done(Box::new(run)),
        Err(error) => Cell::Failed(Box::new(scenario.failed(&error))),
    };
    scenarios.iter().zip(run_under_bar(scenarios, is_quiet)).map(cell).collect()
}

fn run_under_bar(scenarios: &[Scenario], is_quiet: bool) -> Vec<Result<Run, RunError>> {
    let bar = bar_unless(is_quiet, scenarios.len());
    let outcomes = run_all(scenarios, || bar.inc(1));
    bar.finish_and_clear();
    outcomes
}

/// The runs that succeeded. If none did, the first failure is returned.
pub(crate) fn done(cells: &[Cell]) -> Result<Vec<Run>, Failure> {
    let done = |cell: &Cell| match cell {
        Cell::Done(run) => Some(run.as_ref().clone()),
        Cell::Failed(_) => None,
    };
    let runs: Vec<Run> = cells.iter().filter_map(done).collect();
    match cells.first() {
        Some(Cell::Failed(failed)) if runs.is_empty() => Err(Failure::Message(format!(
            "{} on {} ({} requests of {} bytes): {}",
            failed.inputs.workload,
            failed.inputs.on,
            failed.inputs.requests,
            failed.inputs.record_size,
            failed.error
        ))),
        _ => Ok(runs),
    }
}

/// One scenario of a sweep: its result, or why it has none.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Done(Box<Run>),
    Failed(Box<Failed>),
}

/// Run all benchmarks of index methods. If some fail, the first failure is returned.
pub(crate) fn carry_out_indexes(
    benches: &[IndexBench],
    is_quiet: bool,
) -> Result<Vec<IndexCosts>, Failure> {
    let bar = bar_unless(is_quiet, benches.len());
    let outcomes = bench::run_all(benches, || bar.inc(1));
    bar.finish_and_clear();
    all_or_first_failure(outcomes, benches.iter().map(IndexBench::title))
}

fn all_or_first_failure<T, E: Display>(
    outcomes: Vec<Result<T, E>>,
    titles: impl Iterator<Item = String>,
) -> Result<Vec<T>, Failure> {
    let runs = outcomes.into_iter().zip(titles).map(|(outcome, title)| {
        outcome.map_err(|error| Failure::Message(format!("{title}: {error}")))
    });
    runs.collect()
}

/// A progress bar of `steps` steps, drawn by `template`.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(steps).with_style(style)
}

/// A progress bar for this many runs. It is hidden if `is_quiet`.
fn bar_unless(is_quiet: bool, runs: usize) -> ProgressBar {
    if is_quiet { ProgressBar::hidden() } else { bar(runs as u64, RUNS) }
}

/// Describe a run in a few words.
pub(crate) fn title(scenario: &Scenario, on: &str) -> String {
    format!(
        "{} on {} ({} requests of {} bytes, partition of {} blocks)",
        scenario.workload.name(),
        on,
        scenario.requests,
        scenario.record_size,
        scenario.build.partition_blocks
    )
}

/// Write a line to stderr for the user.
pub(crate) fn tell(text: &str) {
    // If stderr is closed, nobody reads it, so the error does not matter.
    writeln!(io::stderr(), "flysch: {text}").ok();
}

/// Write several lines to stderr.
pub(crate) fn show(text: &str) {
    // If stderr is closed, nobody reads it, so the error does not matter.
    io::stderr().write_all(text.as_bytes()).ok();
}
