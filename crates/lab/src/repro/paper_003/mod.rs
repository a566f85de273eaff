//! SQLite on NAND with its journals on PRAM.

use super::paper::Paper;

/// The paper.
pub(super) const PAPER: Paper = Paper {
    number: "003",
    title: "Park, Park, Park: Design of Embedded Database Based on Hybrid Storage of PRAM and NAND Flash Memory (KAIST)",
    lead: "",
    platform: None,
    items: &[],
    experiments: &[],
};
