//! The rows of runs before the first run, so that names of figures are checked before long work.

use std::collections::BTreeSet;

use flysch_lab::bench::measure::blank;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;

/// Runs in which nothing happens, with all fields that results of the scenarios can have. There is
/// one for each workload, stack and seed: the other parameters change no field.
pub(crate) fn blanks<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<Run> {
    let mut known = BTreeSet::new();
    let mut is_new = |it: &&Scenario| known.insert((it.workload.name(), it.stack.name(), it.seed));
    scenarios.into_iter().filter(|it| is_new(it)).map(blank).collect()
}
