//! Cells: runs that several items of a paper show are made once.
//!
//! A run depends on nothing but its scenario, so it does not matter which experiment made it. An
//! experiment does not wait for a cell that another one is making. It makes the cell, too.

use std::sync::{Mutex, PoisonError};

use flysch_lab::bench::RunError;
use flysch_lab::bench::grid;
use flysch_lab::bench::run::Run;
use flysch_lab::bench::scenario::Scenario;

/// The runs of a trial so far, without those that keep their traces.
#[derive(Debug, Default)]
pub(crate) struct Cells(Mutex<Vec<(Scenario, Run)>>);

impl Cells {
    /// Run the scenarios whose cells are missing on all cores, and return the outcomes of all in
    /// their order. `finished` is called for each.
    pub(crate) fn run_all(
        &self,
        scenarios: &[Scenario],
        finished: impl Fn() + Sync,
    ) -> Vec<Result<Run, RunError>> {
        let known: Vec<Option<Run>> = scenarios.iter().map(|it| self.find(it)).collect();
        let missing = scenarios.iter().zip(&known).filter(|(_, known)| known.is_none());
        let missing: Vec<Scenario> = missing.map(|(scenario, _)| scenario.clone()).collect();
        let outcomes = grid::run_all(&missing, &finished);
        for (scenario, outcome) in missing.into_iter().zip(&outcomes) {
            self.keep(scenario, outcome);
        }
        let mut outcomes = outcomes.into_iter();
        let one = |known: Option<Run>| match known {
            Some(run) => {
                finished();
                Ok(run)
            }
            None => outcomes.next().expect("each missing cell has an outcome"),
        };
        known.into_iter().map(one).collect()
    }

    fn find(&self, scenario: &Scenario) -> Option<Run> {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells.iter().find(|(made, _)| made == scenario).map(|(_, run)| run.clone())
    }

    fn keep(&self, scenario: Scenario, outcome: &Result<Run, RunError>) {
        if let Ok(run) = outcome
            && !scenario.keeps_trace
        {
            let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cells.push((scenario, run.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flysch_lab::bench::grid::Grid;
    use flysch_lab::machine::platform::Platform;
    use flysch_lab::machine::stack::Stack;
    use flysch_lab::workload::Micro;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_cell_is_made_once_and_is_what_it_would_be_again() {
        let platform = Arc::new(Platform::named("apf27-2.6.29").expect("it is built in"));
        let mut grid = Grid::new(Micro::Insert, Stack::JFFS2, platform);
        grid.axes.requests = vec![10, 20];
        let scenarios = grid.scenarios();
        let (cells, count) = (Cells::default(), AtomicU32::new(0));
        let times = |cells: &Cells, some: &[Scenario]| {
            let runs = cells.run_all(some, || _ = count.fetch_add(1, Ordering::Relaxed));
            runs.into_iter().map(|run| run.expect("it succeeds").request_ns).collect::<Vec<_>>()
        };
        let last = times(&cells, &scenarios[1..]);
        let both = times(&cells, &scenarios);
        assert_eq!(count.load(Ordering::Relaxed), 3, "each is reported");
        assert_eq!(cells.0.lock().expect("nobody panicked").len(), 2);
        assert_eq!((both[0].len(), &both[1]), (10, &last[0]));
        assert_eq!(both, times(&Cells::default(), &scenarios));
    }
}
