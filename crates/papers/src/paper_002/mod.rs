//! Read-ahead on JFFS2 and YAFFS2: the cost of reading data that no program asks for.
//!
//! [`board`] describes the board and makes the runs. Each other module measures a table or some
//! figures.

use super::paper::{Effort, Experiment, Item, Paper};

mod board;
mod contacts;
mod inter_arrival;
mod postmark;
mod request_count;
mod request_size;

/// The paper appeared twice with the same text: 001 is another name of it.
pub(super) const PAPER: Paper = Paper {
    number: "002",
    title: "Olivier, Boukhobza, Senn: Revisiting Read-ahead Efficiency for Raw NAND Flash Storage \
            in Embedded Linux (EWiLi 2014)",
    lead: "Reads of files, PostMark, and selects of SQLite on a database of contacts, on JFFS2 and \
           YAFFS2, with read-ahead and without: time, flash reads, energy.",
    platform: Some(board::PLATFORM),
    items: &[
        Item { name: "table-1", title: "Table 1: PostMark's mean read throughput" },
        Item { name: "figure-2", title: "Figure 2: inter-arrival times" },
        Item { name: "figure-3", title: "Figure 3: number of requests" },
        Item { name: "eras", title: "Random reads under the rules of other kernels" },
        Item { name: "figure-4", title: "Figure 4: number and size of requests" },
        Item { name: "table-2", title: "Tables 2 and 3: the energy model" },
        Item { name: "figure-6", title: "Figure 6: time that SELECT saves" },
        Item { name: "figure-7", title: "Figure 7: energy that SELECT saves" },
    ],
    experiments: &[
        Experiment { items: &["table-1"], steps: |_| 12 * postmark::STEPS, run: postmark::table_1 },
        Experiment {
            items: &["figure-2"],
            steps: |_| 2 * inter_arrival::PAUSES_US.len() as u64 * board::READ_STEPS,
            run: inter_arrival::figure_2,
        },
        Experiment {
            items: &["figure-3", "eras", "table-2"],
            steps: request_count::steps,
            run: request_count::figure_3,
        },
        Experiment {
            items: &["figure-4"],
            steps: request_size::steps,
            run: request_size::figure_4,
        },
        Experiment {
            items: &["figure-6", "figure-7"],
            steps: contacts::steps,
            run: contacts::figures_6_and_7,
        },
    ],
};

/// Number of seeds for random orders. Several are averaged, because the order in the paper is not
/// known.
const fn seed_count(effort: Effort) -> u64 {
    match effort {
        Effort::Full => 8,
        Effort::Quick => 2,
    }
}
