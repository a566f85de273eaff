//! Finds the known name that a misspelt one may stand for.

/// Find the known name nearest to `name`. `None` if it differs by more edits than a third of the
/// letters of `name`.
///
/// If several names are equally near, the first is chosen.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count().max(3) / 3;
    let edits = |candidate| (strsim::levenshtein(name, candidate), candidate);
    let near = known.into_iter().map(edits).filter(|(edits, _)| *edits <= limit);
    Some(near.min_by_key(|(edits, _)| *edits)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_offered() {
        let known = ["nandsim", "mlc", "omap3evm"];
        assert_eq!(nearest("nandsin", known), Some("nandsim"));
        assert_eq!(nearest("mcl2", known), None);
        assert_eq!(nearest("", known), None);
    }
}
