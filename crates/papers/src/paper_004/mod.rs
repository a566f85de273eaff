//! Indexes on flash: the closed forms and experiments of `PBFilter`.
//!
//! [`stated`] compares the closed forms with what the text says about them. [`table_6`] measures
//! the reads at a million keys. [`speed`] measures the times of lookups. [`lookups`] makes them
//! with three structures; [`sequence`] implements the two that scan. Below them are [`hashes`],
//! [`keys`], the [`device`], and the [`work`] of the processor.

mod device;
mod hashes;
mod keys;
mod lookups;
mod sequence;
mod speed;
mod stated;
mod table_6;
mod work;

use super::paper::{Experiment, Item, Paper};

pub(super) const PAPER: Paper = Paper {
    number: "004",
    title: "Yin, Pucheral: PBFilter, a flash-based indexing scheme for embedded systems (Information Systems 2012)",
    lead: "Closed forms of five indexing methods; reads of a lookup at a million keys for three \
           hash functions; times of lookups on a secure token with 128 MB of NAND. Platform gemalto: \
           part gemalto-vfl (times of the virtual flash layer, Table 7), a processor of 50 or 120 MHz. \
           One figure was fitted, cycles of an instruction: to CPU being almost half of PBFilter's \
           lookup (47 %).",
    platform: None,
    items: &[
        Item { name: "table-1", title: "Table 1: false positive rates" },
        Item { name: "section-5-1", title: "Section 5.1: bitmap indexes" },
        Item { name: "figure-12", title: "Figure 12: the closed forms" },
        Item { name: "table-6", title: "Table 6: average R by hash function and distribution" },
        Item { name: "figure-14", title: "Figure 14: execution time of the query" },
        Item { name: "figure-15", title: "Figure 15: execution time of the query, average" },
        Item { name: "figure-16", title: "Figure 16: execution time of key lookup" },
        Item { name: "figure-17", title: "Figure 17: CPU and IO of PBFilter" },
        Item { name: "figure-18", title: "Figure 18: influence of k" },
        Item { name: "figure-19", title: "Figure 19: influence of key size" },
    ],
    experiments: &[
        Experiment {
            items: &["table-1", "section-5-1", "figure-12"],
            steps: |_| stated::STEPS,
            run: stated::judge,
        },
        Experiment { items: &["table-6"], steps: |_| table_6::STEPS, run: table_6::measure },
        Experiment {
            items: &["figure-14", "figure-15"],
            steps: |_| speed::QUERY_STEPS,
            run: speed::queries,
        },
        Experiment {
            items: &["figure-16", "figure-17"],
            steps: |_| speed::GAIN_STEPS,
            run: speed::gain,
        },
        Experiment {
            items: &["figure-18", "figure-19"],
            steps: |_| speed::TUNING_STEPS,
            run: speed::tuning,
        },
    ],
};
