//! Counts how often each kind of request was made, and charges the end of a transaction to its
//! requests.

use std::collections::BTreeMap;

use flysch_chip::{Blame, Cargo, EventKind, Origin, TaskId, Trace};

use super::earlier::Earlier;

/// The label of the scope in which a transaction ends.
const END: &str = "end";

/// Count the requests of each label and store the counts in the trace. A request that is a
/// transaction of its own already includes the cost of its commit.
pub(super) fn count_requests(trace: &mut Trace, earlier: &Earlier) {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, marks) in &earlier.marks {
        *counts.entry(trace.causes.label(trace.causes.outermost(*cause))).or_default() += marks;
    }
    for event in trace.events.iter().filter(|event| event.kind == EventKind::Mark) {
        *counts.entry(trace.causes.label(trace.causes.outermost(event.cause))).or_default() += 1;
    }
    let executions = counts.values().copied().collect();
    let statements = counts.into_keys().map(str::to_owned).collect();
    let blame = std::mem::take(&mut trace.blame);
    trace.blame = Blame { statements, executions, ..blame };
}

/// Charge the cost of the END of a transaction to its requests. All of them have the label `label`,
/// and there were `times` of them.
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
