//! Read-ahead on JFFS2 and YAFFS2, with the energy it costs.

use super::paper::Paper;

/// The paper.
pub(super) const PAPER: Paper = Paper {
    number: "001",
    title: "Olivier, Boukhobza, Senn: Revisiting Read-ahead Efficiency for Raw NAND Flash Storage in Embedded Linux (EWiLi 2014)",
    lead: "",
    platform: None,
    items: &[],
    experiments: &[],
};
