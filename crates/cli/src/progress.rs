//! Progress of many runs: a bar where stderr is a terminal, silence elsewhere.

use flysch_lab::grid::run_all;
use flysch_lab::run::Run;
use flysch_lab::scenario::Scenario;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// Carry all scenarios out. If any has no result, the first of those says why.
pub(crate) fn carry_out(scenarios: &[Scenario]) -> Result<Vec<Run>, Failure> {
    let bar = bar(scenarios.len() as u64, "{bar:40} {pos}/{len} runs, {eta} left");
    let outcomes = run_all(scenarios, || bar.inc(1));
    bar.finish_and_clear();
    let runs = outcomes.into_iter().zip(scenarios).map(|(outcome, scenario)| {
        outcome.map_err(|error| Failure::Message(format!("{}: {error}", title(scenario))))
    });
    runs.collect()
}

/// A bar of so many steps, drawn after this template.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(steps).with_style(style)
}

fn title(scenario: &Scenario) -> String {
    format!(
        "{} on {} ({} requests of {} bytes, partition of {} blocks)",
        scenario.workload.name(),
        scenario.stack.name(),
        scenario.requests,
        scenario.record_size,
        scenario.build.partition_blocks
    )
}
