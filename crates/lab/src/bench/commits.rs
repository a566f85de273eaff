//! Whom the end of a transaction is for: the requests that were made in it.

use flysch_chip::{Blame, Cargo, Origin, TaskId, Trace};

/// The label of the scope in which a transaction ends.
const END: &str = "end";

/// Give the cost of a transaction's end to its requests, which have one label and were made
/// `times` times.
pub(super) fn give_to_requests(trace: &mut Trace, label: &str, times: u64) {
    let mut of_statements = Cargo::default();
    for event in &trace.events {
        let outermost = trace.causes.label(trace.causes.outermost(event.cause));
        let is_end = event.task == TaskId(0) && outermost == END;
        of_statements.push(is_end.then_some((Origin(0), 1)));
    }
    let blame = std::mem::take(&mut trace.blame);
    let (statements, executions) = (vec![label.to_owned()], vec![times]);
    trace.blame = Blame { statements, executions, of_statements, ..blame };
}
