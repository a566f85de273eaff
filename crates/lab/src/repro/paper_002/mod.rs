//! Read-ahead on JFFS2 and YAFFS2: the same text as 001 in another setting.

use super::paper::Paper;

/// The paper.
pub(super) const PAPER: Paper = Paper {
    number: "002",
    title: "Olivier, Boukhobza, Senn: Revisiting Read-ahead Efficiency for Raw NAND Flash Storage in Embedded Linux (EWiLi 2014)",
    lead: "",
    platform: None,
    items: &[],
    experiments: &[],
};
