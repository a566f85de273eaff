//! Explanations of the labels of scopes and of the tasks, taken from `docs/causes.md`.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Causes;

const DOCUMENT: &str = include_str!("../../../../docs/causes.md");

/// A label, and the work that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The layer to which the label belongs.
    pub layer: &'static str,
    pub label: &'static str,
    pub meaning: &'static str,
}

/// Explanations of all labels, in the order of the layers.
pub fn explanations() -> impl Iterator<Item = Explanation> {
    let mut layer = "";
    DOCUMENT.lines().filter_map(move |line| {
        layer = line.strip_prefix("## ").unwrap_or(layer);
        let (label, meaning) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some(Explanation { layer, label, meaning: meaning.trim_end_matches(" |") })
    })
}

/// The explanations of the labels in a trace. Labels that a user's program chose, such as names of
/// files, have none.
pub fn explanations_of(causes: &Causes) -> Vec<Explanation> {
    let labels: BTreeSet<&str> = causes.nodes.iter().map(|node| node.label.as_str()).collect();
    explanations().filter(|explained| labels.contains(explained.label)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_of_a_layer_has_one_meaning() {
        let all: Vec<Explanation> = explanations().collect();
        let mut seen = BTreeSet::new();
        for meaning in &all {
            assert!(!meaning.meaning.is_empty(), "{meaning:?}");
            assert!(seen.insert((meaning.layer, meaning.label)), "{meaning:?}");
        }
        let gc = all.iter().find(|meaning| meaning.label == "yaffs_gc").expect("explained");
        assert_eq!(gc.layer, "YAFFS2");
        assert_eq!(gc.meaning, "garbage collection: chunks are copied, and a block is erased");
    }
}
