//! A scenario carried out from first to last, alone or in turn with others on one machine.

use super::error::RunError;
use super::run::Run;
use super::scenario::Scenario;
use super::session::Session;
use super::site::{Simulated, Site};
use super::steps::carry_out;

impl Scenario {
    /// Carry the run out on a simulated machine.
    ///
    /// # Errors
    /// The stack could not be built, or SQLite failed: at which request is told.
    pub fn run(&self) -> Result<Run, RunError> {
        self.run_at(Box::new(Simulated::new(self)?))
    }

    /// Carry the run out at `site`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_at(&self, site: Box<dyn Site>) -> Result<Run, RunError> {
        carry_out(&Session::new(self, site))
    }
}

/// Carry out scenarios of one [`Scenario::preparation`] on one machine, all caches dropped before
/// each, with `finished` called after each.
pub(crate) fn run_in_turn(
    scenarios: &[&Scenario],
    finished: impl Fn(),
) -> Vec<Result<Run, RunError>> {
    let mut session: Option<Session<'_>> = None;
    let mut outcomes = Vec::with_capacity(scenarios.len());
    for &scenario in scenarios {
        // After a failure the next one begins on a new machine.
        let outcome = on_machine(session.take(), scenario);
        outcomes.push(outcome.map(|(used, run)| {
            session = Some(used);
            run
        }));
        finished();
    }
    outcomes
}

fn on_machine<'a>(
    session: Option<Session<'a>>,
    scenario: &'a Scenario,
) -> Result<(Session<'a>, Run), RunError> {
    let mut session = match session {
        Some(session) => session,
        None => Session::new(scenario, Box::new(Simulated::new(scenario)?)),
    };
    session.scenario = scenario;
    let run = carry_out(&session)?;
    Ok((session, run))
}
