//! Operations by cause: the tree of scopes with what each did itself and in all.

use flysch_chip::{CauseId, Trace};
use serde::Serialize;

use super::tally::Tally;

/// The tree of causes, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Causes {
    /// The whole trace.
    pub all: Tally,
    /// The causes, each followed by those below it, the longest busy first; causes without any
    /// event are left out. Events outside every scope are listed as "other".
    pub nodes: Vec<CauseNode>,
}

/// One cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CauseNode {
    /// Scopes from the outermost on, joined by " > ".
    pub cause: String,
    /// The innermost scope.
    pub label: String,
    /// Scopes around it.
    pub depth: usize,
    /// What it did itself.
    pub own: Tally,
    /// What it and the scopes inside it did.
    pub total: Tally,
}

/// Count the events of each cause. The totals of the outermost causes sum up to the trace's.
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

/// Count the events outside every scope: there should be none, each is a bug of its stack.
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

/// Sum from the leaves up: a parent has a lower number than its children.
fn total_tallies(trace: &Trace, own: &[Tally]) -> Vec<Tally> {
    let mut total = own.to_vec();
    for place in (1..total.len()).rev() {
        let id = CauseId(u32::try_from(place).expect("causes are counted in 32 bits"));
        let child = total[place];
        total[trace.causes.parent(id).0 as usize] += child;
    }
    total
}

/// The children that did anything, in the order of a stack: the first to be taken is the last.
fn children_by_time(
    trace: &Trace,
    parent: CauseId,
    total: &[Tally],
    depth: usize,
) -> Vec<(CauseId, usize)> {
    let tally = |id: &CauseId| &total[id.0 as usize];
    let known = trace.causes.children(parent).iter().copied();
    let mut children: Vec<CauseId> = known.filter(|id| tally(id).event_count() > 0).collect();
    children.sort_by_key(|id| (tally(id).operations.time_ns, std::cmp::Reverse(*id)));
    children.into_iter().map(|id| (id, depth)).collect()
}
