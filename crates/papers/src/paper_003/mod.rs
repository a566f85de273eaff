//! SQLite on NAND with its journals on PRAM, measured by DBT-2, which implements TPC-C.
//!
//! `stacks` describes the runs and compares two stacks. `dbt2` repeats the paper's tests: Figure 6,
//! NOTPM, Table 2. `space` repeats them for several amounts of free flash space, which the paper
//! does not state. `outage` cuts the power, in the runs that `power_cut` makes. `files` puts each
//! kind of file on PRAM.

use super::band;
use super::claim;
use super::listing;
use super::paper::{self, Experiment, Item, Paper};

mod dbt2;
mod files;
mod outage;
mod power_cut;
mod space;
mod stacks;

pub use power_cut::{AfterCut, PowerCutTest, Tally};

pub(super) const PAPER: Paper = Paper {
    number: "003",
    title: "Park, Park, Park: Design of Embedded Database Based on Hybrid Storage of PRAM and NAND Flash Memory (KAIST)",
    lead: "DBT-2, an implementation of TPC-C, on SQLite: on YAFFS2 alone, and with the rollback \
           journal on PRAMFS. The paper tells neither the size of the database nor that of the \
           flash, nor how long a test is: one warehouse of the specification, ten terminals that \
           do not think, five tests of 400 transactions in a row, on flash half as large again as \
           the database.",
    platform: Some(stacks::PLATFORM),
    items: &[
        Item { name: "figure-6", title: "Figure 6: response time of each transaction" },
        Item { name: "notpm", title: "New-Order transactions per minute" },
        Item { name: "table-2", title: "Table 2: writes and erases of the NAND" },
        Item { name: "free-space", title: "What the free space of the flash decides" },
        Item { name: "power-off", title: "Section 5: sudden power-off" },
        Item { name: "future-work", title: "Section 8: which files on PRAM bring what" },
    ],
    experiments: &[
        Experiment { items: &["figure-6", "notpm", "table-2"], steps: dbt2::steps, run: dbt2::run },
        Experiment { items: &["free-space"], steps: space::steps, run: space::run },
        Experiment { items: &["power-off"], steps: |_| outage::STEPS, run: outage::run },
        Experiment { items: &["future-work"], steps: files::steps, run: files::run },
    ],
};
