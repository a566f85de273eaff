//! SQLite on JFFS2 and UBIFS: response times and operations of inserts, selects, joins, updates.
//!
//! [`sweep`] runs what the figures show and [`chart`] draws them; the other modules each judge what
//! one section of the paper says.

mod chart;
mod insert;
mod join;
mod lifetime;
mod select;
mod sweep;
mod tables;
mod threshold;
mod update;

use super::paper::{Experiment, Item, Paper};

/// The paper.
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

const EXPERIMENTS: [Experiment; 10] = [
    Experiment { items: &["table-1"], steps: |_| 1, run: tables::throughput },
    Experiment { items: &["table-2"], steps: |_| 6, run: tables::inserts },
    Experiment { items: &["table-3"], steps: |_| 8, run: tables::selects },
    Experiment { items: &["flush-threshold"], steps: |_| 4, run: threshold::threshold },
    Experiment { items: &["figure-3", "figure-4"], steps: insert::steps, run: insert::figures },
    Experiment { items: &["figure-5", "figure-6"], steps: select::steps, run: select::figures },
    Experiment { items: &["figure-7", "figure-8"], steps: join::steps, run: join::figures },
    Experiment { items: &["join-and-select"], steps: |_| 16, run: join::beside_select },
    Experiment { items: &["figure-9", "figure-10"], steps: update::steps, run: update::figures },
    Experiment {
        items: &["update-and-insert", "lifetime"],
        steps: lifetime::steps,
        run: lifetime::writes,
    },
];
