//! Operations counted by cause: a tree of scopes, each with its own events and its total.

use flysch_chip::{CauseId, Trace};
use serde::Serialize;

use super::tally::Tally;

/// The tree of causes with their counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Causes {
    /// The counts of the whole trace.
    pub all: Tally,
    /// The causes, each before those inside it. Among siblings, the one with the longest time comes
    /// first. Causes without events are left out. Events outside every scope are listed as "other".
    pub nodes: Vec<CauseNode>,
}

/// One cause with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseNode {
    /// The labels of its scopes from the outermost on, joined by " > ".
    pub cause: String,
    /// The label of its innermost scope.
    pub label: String,
    /// How many scopes enclose it.
    pub depth: usize,
    /// The events of this cause itself.
    pub own: Tally,
    /// The events of this cause and of the scopes inside it.
    pub total: Tally,
}

/// Count the events of each cause. The totals of the outermost causes sum up to that of the trace.
pub fn causes(trace: &Trace) -> Causes {
    let own = own_tallies(trace);
    let total = total_tallies(trace, &own);
    let root = CauseId::ROOT.0 as usize;
    let all = total[root];
    debug_assert_eq!(all, Tally::of(&trace.events), "every event has one cause");

    let mut nodes = Vec::new();
    if own[root].event_count() > 0 {
        let label = trace.causes.label(CauseId::ROOT).to_owned();
        let other = own[root];
        nodes.push(CauseNode { cause: label.clone(), label, depth: 0, own: other, total: other });
    }
    let mut pending = children_by_time(trace, CauseId::ROOT, &total, 0);
    while let Some((id, depth)) = pending.pop() {
        let label = trace.causes.label(id).to_owned();
        let (own, total_here) = (own[id.0 as usize], total[id.0 as usize]);
        let cause = trace.causes.path(id);
        nodes.push(CauseNode { cause, label, depth, own, total: total_here });
        pending.extend(children_by_time(trace, id, &total, depth + 1));
    }
    Causes { all, nodes }
}

/// Count the events outside every scope. There should be none: each is a bug of the stack.
pub fn other_events(trace: &Trace) -> u64 {
    trace.events.iter().filter(|event| event.cause == CauseId::ROOT).count() as u64
}

fn own_tallies(trace: &Trace) -> Vec<Tally> {
    let mut own = vec![Tally::default(); trace.causes.len()];
    for event in &trace.events {
        own[event.cause.0 as usize].add(event);
    }
    own
}

/// Add the counts of each cause to those of its parents. A parent has a lower number than its
/// children.
fn total_tallies(trace: &Trace, own: &[Tally]) -> Vec<Tally> {
    let mut total = own.to_vec();
    for place in (1..total.len()).rev() {
        let id = CauseId(u32::try_from(place).expect("causes are counted in 32 bits"));
        let child = total[place];
        total[trace.causes.parent(id).0 as usize] += child;
    }
    total
}

/// The children that have events, ordered for a stack: the one to visit first comes last.
fn children_by_time(
    trace: &Trace,
    parent: CauseId,
    total: &[Tally],
    depth: usize,
) -> Vec<(CauseId, usize)> {
    let tally = |id: &CauseId| &total[id.0 as usize];
    let known = trace.causes.children(parent).iter().copied();
    let mut children: Vec<CauseId> = known.filter(|id| tally(id).event_count() > 0).collect();
    children.sort_by_key(|id| (tally(id).operations.flash_ns, std::cmp::Reverse(*id)));
    children.into_iter().map(|id| (id, depth)).collect()
}
