//! Progress of many runs: a bar if stderr is a terminal, else nothing.

use std::fmt::Display;
use std::io::{self, Write};

use flysch_lab::bench::grid::run_all;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;
use flysch_lab::index::bench::{self, IndexBench};
use flysch_lab::index::costs::IndexCosts;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// The template of the bar for runs.
pub(crate) const RUNS: &str = "{bar:40} {pos}/{len} runs, {eta} left";

/// Run all scenarios. If some fail, the first failure is returned.
pub(crate) fn carry_out(scenarios: &[Scenario]) -> Result<Vec<Run>, Failure> {
    let bar = bar(scenarios.len() as u64, RUNS);
    let outcomes = run_all(scenarios, || bar.inc(1));
    bar.finish_and_clear();
    let titles = scenarios.iter().map(|scenario| title(scenario, &scenario.stack.name()));
    all_or_first_failure(outcomes, titles)
}

/// Run all benchmarks of index methods. If some fail, the first failure is returned.
pub(crate) fn carry_out_indexes(benches: &[IndexBench]) -> Result<Vec<IndexCosts>, Failure> {
    let bar = bar(benches.len() as u64, RUNS);
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

/// A bar of `steps` steps, drawn after `template`.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(steps).with_style(style)
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

/// Write a line to stderr, for the user who watches.
pub(crate) fn tell(text: &str) {
    // If stderr is closed, nobody watches, so an error does not matter.
    writeln!(io::stderr(), "flysch: {text}").ok();
}

/// Write a text of lines to stderr.
pub(crate) fn show(text: &str) {
    // If stderr is closed, nobody watches, so an error does not matter.
    io::stderr().write_all(text.as_bytes()).ok();
}
