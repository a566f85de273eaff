//! Suggestions for a name that is not known.

/// Find the name nearest to `name`. `None` if it would take more edits than a third of the letters
/// of `name`.
///
/// If several names are equally near, the first is chosen.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count().max(3) / 3;
    let distances = known.into_iter().map(|candidate| (distance(name, candidate), candidate));
    let (_, candidate) =
        distances.filter(|(edits, _)| *edits <= limit).min_by_key(|(edits, _)| *edits)?;
    Some(candidate)
}

/// Number of letters to insert, delete or change to turn `from` into `to` (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        let cases = [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0), ("ab", "b", 1)];
        for (from, to, edits) in cases {
            assert_eq!(distance(from, to), edits, "{from} to {to}");
        }
    }

    #[test]
    fn only_a_near_name_is_offered() {
        let known = ["nandsim", "mlc", "omap3evm"];
        assert_eq!(nearest("nandsin", known), Some("nandsim"));
        assert_eq!(nearest("mcl2", known), None);
        assert_eq!(nearest("", known), None);
    }
}
