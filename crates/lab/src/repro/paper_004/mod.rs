//! Indexes on flash: the closed forms and experiments of `PBFilter`.

use super::paper::Paper;

/// The paper.
pub(super) const PAPER: Paper = Paper {
    number: "004",
    title: "Yin, Pucheral: PBFilter, a flash-based indexing scheme for embedded systems (Information Systems 2012)",
    lead: "",
    platform: None,
    items: &[],
    experiments: &[],
};
