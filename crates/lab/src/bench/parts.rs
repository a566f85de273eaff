//! Shorter scenarios that are parts of a longer one: reads of the same things, but fewer.
//!
//! The longer scenario is run. After as many requests as the shorter one has, time and recording
//! are kept, the shorter one is ended and its figures are computed, and time and recording are
//! taken back. So a sweep over numbers of requests takes as long as its longest run.
//!
//! Invariants:
//! 1. What ends a scenario takes CPU time, and does nothing else to the machine.
//! 2. A shorter scenario gets the figures, times and trace that it gets alone.

use std::collections::VecDeque;

use super::error::RunError;
use super::measure::Measured;
use super::scenario::Scenario;
use super::session::{Interval, Session};
use crate::machine::stack::Engine;
use crate::workload::{Micro, Workload};

/// A scenario to run, and those that are parts of it, as places in a list of scenarios.
pub(super) struct Turn {
    pub whole: usize,
    /// By number of requests.
    pub parts: Vec<usize>,
}

impl Turn {
    pub(super) const fn alone(whole: usize) -> Self {
        Self { whole, parts: Vec::new() }
    }
}

/// Which of the scenarios to run, so that there is an outcome of each. Where a transaction ends
/// behind the requests, the shortest scenario is run alone and shows what that takes.
pub(super) fn turns(scenarios: &[&Scenario]) -> VecDeque<Turn> {
    let mut places: Vec<usize> = (0..scenarios.len()).collect();
    places.sort_by_key(|&place| scenarios[place].requests);
    let mut turns: Vec<Turn> = Vec::new();
    for place in places {
        let is_next = |turn: &&mut Turn| scenarios[turn.whole].is_part_of(scenarios[place]);
        match turns.iter_mut().find(is_next) {
            Some(turn) => {
                let shorter = std::mem::replace(&mut turn.whole, place);
                turn.parts.push(shorter);
            }
            None => turns.push(Turn::alone(place)),
        }
    }
    let mut ordered = VecDeque::new();
    for mut turn in turns {
        if scenarios[turn.whole].ends_transaction() && !turn.parts.is_empty() {
            ordered.push_back(Turn::alone(turn.parts.remove(0)));
        }
        ordered.push_back(turn);
    }
    ordered
}

impl Scenario {
    /// Whether this is the beginning of another scenario, of which only the end is missing.
    fn is_part_of(&self, longer: &Self) -> bool {
        let only_reads = matches!(self.workload, Workload::Read(_)) || self.ends_transaction();
        only_reads && Self { requests: longer.requests, ..self.clone() } == *longer
    }

    /// Whether it selects in a transaction of SQLite.
    fn ends_transaction(&self) -> bool {
        self.workload == Micro::Select.into() && self.stack.engine == Engine::Sqlite
    }
}

impl Interval<'_> {
    /// End the shorter scenarios that have as many requests as there were until now. `end` makes
    /// what follows the last request of one.
    ///
    /// # Errors
    /// Returns the error of `end`.
    pub(super) fn end_parts(
        &self,
        end: impl Fn(&Session<'_>, Self) -> Result<Measured, RunError>,
    ) -> Result<(), RunError> {
        let session = self.session();
        for part in session.parts.iter().filter(|part| part.requests == self.request_count()) {
            let machine = session.machine()?;
            let (moment, earlier) = (machine.moment(), session.earlier());
            let measured = end(session, self.clone())?;
            let run = session.figures(part, measured)?;
            session.ended.borrow_mut().push(run);
            machine.go_back(&moment);
            session.go_back(earlier);
        }
        Ok(())
    }
}
