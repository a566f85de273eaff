//! Run a scenario from start to end, alone or one after another on the same machine.

use super::error::RunError;
use super::parts::{Turn, turns};
use super::run::Run;
use super::scenario::Scenario;
use super::session::{Followed, Session, Steps};
use super::site::{Simulated, Site};
use super::steps::carry_out;

impl Scenario {
    /// Run the scenario on a simulated machine.
    ///
    /// # Errors
    /// Fails if the stack cannot be built or if SQLite fails; the error names the request.
    pub fn run(&self) -> Result<Run, RunError> {
        self.run_at(Box::new(Simulated::new(self)?))
    }

    /// Run a workload of the caller's on a simulated machine, with the stack, the settings, the
    /// seed and the requests of the scenario. The result names the scenario's own workload.
    ///
    /// # Errors
    /// Fails if the stack cannot be built or if a step fails.
    pub fn run_steps<S: Steps>(&self, steps: S) -> Result<Run, RunError> {
        Session::new(self, Box::new(Simulated::new(self)?)).carry_out(steps)
    }

    /// Run the scenario at `site`.
    ///
    /// # Errors
    /// Fails in the same cases as [`run`](Self::run).
    pub fn run_at(&self, site: Box<dyn Site>) -> Result<Run, RunError> {
        carry_out(&Session::new(self, site))
    }
}

/// Run scenarios with equal [`Scenario::beginning`]s on one machine, which is taken back to the
/// beginning before each. `finished` is called after each.
pub(crate) fn run_in_turn(
    scenarios: &[&Scenario],
    finished: impl Fn(),
) -> Vec<Result<Run, RunError>> {
    let mut session: Option<Session<'_>> = None;
    let mut outcomes: Vec<Option<_>> = scenarios.iter().map(|_| None).collect();
    let mut left = turns(scenarios);
    while let Some(Turn { whole, parts }) = left.pop_front() {
        let followed = if left.is_empty() { Followed::No } else { Followed::Yes };
        let of_parts = parts.iter().map(|&part| scenarios[part]).collect();
        // A failure may leave the machine in any state, so the next scenario gets a new machine.
        match on_machine(session.take(), (scenarios[whole], of_parts), followed) {
            Ok((used, run)) => {
                let mut ended = used.ended.take().into_iter();
                for part in parts {
                    match ended.next() {
                        Some(run) => {
                            outcomes[part] = Some(Ok(run));
                            finished();
                        }
                        // It is not known yet what ending a transaction takes.
                        None => left.push_back(Turn::alone(part)),
                    }
                }
                outcomes[whole] = Some(Ok(run));
                session = Some(used).filter(Session::can_go_on);
            }
            Err(error) => {
                // A part may end well before the request that failed.
                left.extend(parts.into_iter().map(Turn::alone));
                outcomes[whole] = Some(Err(error));
            }
        }
        finished();
    }
    outcomes.into_iter().map(|outcome| outcome.expect("each has a turn")).collect()
}

fn on_machine<'a>(
    session: Option<Session<'a>>,
    (scenario, parts): (&'a Scenario, Vec<&'a Scenario>),
    followed: Followed,
) -> Result<(Session<'a>, Run), RunError> {
    let mut session = match session {
        Some(session) => session,
        None => Session::new(scenario, Box::new(Simulated::new(scenario)?)),
    };
    session.scenario = scenario;
    session.followed = followed;
    session.parts = parts;
    let run = carry_out(&session)?;
    Ok((session, run))
}
