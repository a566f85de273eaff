//! SQLite on JFFS2 and UBIFS: response times and operations of inserts, selects, joins and updates.
//!
//! [`sweep`] makes the runs that the figures show, and [`chart`] draws them. Each other module
//! judges what one section of the paper says.

mod chart;
mod insert;
mod join;
mod lifetime;
mod select;
mod sweep;
mod tables;
mod threshold;
mod update;

use flysch_lab::workload::Micro;

use super::paper::{Cause, Effort, Evidence, Experiment, Item, Paper, Trial};
use sweep::Sweep;

pub(super) const PAPER: Paper = Paper {
    number: "000",
    title: "Boukhobza, Olivier, Plassart, Ouarnoughi, Bellatreche: Embedded Databases on Flash \
            Memories: Performance and Lifetime Issues, the case of SQLite (ERTS 2014)",
    lead: "Inserts, selects, joins and updates in one transaction, 100 to 5000 of 150 to 600 \
           bytes, on JFFS2 and UBIFS: response times, throughput, operations of the flash.",
    platform: Some(sweep::PLATFORM),
    items: &ITEMS,
    experiments: &EXPERIMENTS,
};

const ITEMS: [Item; 15] = [
    Item { name: "table-1", title: "Table I: throughput by level of the stack" },
    Item { name: "table-2", title: "Table II: response times of inserts" },
    Item { name: "figure-3", title: "Figure 3: throughput of inserts" },
    Item { name: "figure-4", title: "Figure 4: operations of inserts" },
    Item { name: "flush-threshold", title: "Section V.B: when inserts begin to be flushed" },
    Item { name: "figure-5", title: "Figure 5: throughput of selects" },
    Item { name: "table-3", title: "Table III: response times of selects" },
    Item { name: "figure-6", title: "Figure 6: operations of selects" },
    Item { name: "figure-7", title: "Figure 7: throughput of joins" },
    Item { name: "figure-8", title: "Figure 8: operations of joins" },
    Item { name: "join-and-select", title: "Section V.D: joins beside selects" },
    Item { name: "figure-9", title: "Figure 9: throughput of updates" },
    Item { name: "figure-10", title: "Figure 10: operations of updates" },
    Item { name: "update-and-insert", title: "Section V.E: updates beside inserts" },
    Item { name: "lifetime", title: "Section VI: what requests cost of the flash's life" },
];

/// The tables come last, because the sweeps run most of their scenarios.
const EXPERIMENTS: [Experiment; 6] = [
    Experiment {
        items: &["figure-5", "figure-6", "figure-7", "figure-8", "join-and-select"],
        steps: |effort| steps([Micro::Select, Micro::Join], effort),
        run: reads,
    },
    Experiment {
        items: &["figure-3", "figure-4", "figure-9", "figure-10", "update-and-insert", "lifetime"],
        steps: |effort| steps([Micro::Insert, Micro::Update], effort),
        run: writes,
    },
    Experiment { items: &["flush-threshold"], steps: |_| 4, run: threshold::threshold },
    Experiment { items: &["table-1"], steps: |_| 1, run: tables::throughput },
    Experiment { items: &["table-2"], steps: |_| 6, run: tables::inserts },
    Experiment { items: &["table-3"], steps: |_| 8, run: tables::selects },
];

fn steps(kinds: [Micro; 2], effort: Effort) -> u64 {
    kinds.into_iter().map(|kind| Sweep::run_count(kind, effort)).sum()
}

/// The claims about selects and joins. They share one sweep of each.
fn reads(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let select = Sweep::carry_out(Micro::Select, trial)?;
    let join = Sweep::carry_out(Micro::Join, trial)?;
    let mut evidence = select::figures(&select);
    evidence.append(join::figures(&join));
    evidence.append(join::compared_with_select(&join, &select));
    Ok(evidence)
}

/// The claims about inserts and updates. They share one sweep of each.
fn writes(trial: &Trial<'_>) -> Result<Evidence, Cause> {
    let insert = Sweep::carry_out(Micro::Insert, trial)?;
    let update = Sweep::carry_out(Micro::Update, trial)?;
    let mut evidence = insert::figures(&insert);
    evidence.append(update::figures(&update));
    evidence.append(lifetime::writes(&insert, &update));
    Ok(evidence)
}
