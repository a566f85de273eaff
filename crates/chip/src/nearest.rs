//! Names that are not known: the error, and the known name that may have been meant.

use std::fmt;

/// Find the name nearest to `name`. `None` if it would take more edits than a third of the letters
/// of `name`.
///
/// If several names are equally near, the first is chosen.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count().max(3) / 3;
    let edits = |candidate| (strsim::levenshtein(name, candidate), candidate);
    let near = known.into_iter().map(edits).filter(|(edits, _)| *edits <= limit);
    Some(near.min_by_key(|(edits, _)| *edits)?.1)
}

/// Nothing has this name. The message suggests the nearest known name and lists all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The word for what was to be named, such as "compressor".
    pub what: &'static str,
    /// The name that was given.
    pub given: String,
    /// The names that are known.
    pub known: Vec<String>,
}

impl UnknownName {
    pub fn new<'a>(
        what: &'static str,
        given: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known = known.into_iter().map(str::to_owned).collect();
        Self { what, given: given.to_owned(), known }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} '{}'", self.what, self.given)?;
        if let Some(near) = nearest(&self.given, self.known.iter().map(String::as_str)) {
            write!(f, "; did you mean '{near}'?")?;
        }
        write!(f, " (known: {})", self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// Find the one of `values` that is called `given`.
pub fn named<T: Copy>(
    what: &'static str,
    given: &str,
    values: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    let found = values.iter().find(|&&value| name(value) == given);
    found
        .copied()
        .ok_or_else(|| UnknownName::new(what, given, values.iter().map(|&value| name(value))))
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

    #[test]
    fn a_value_is_found_by_its_name_alone() {
        let name = |value: u8| ["one", "two"][usize::from(value)];
        let find = |given| named("number", given, &[0, 1], name).map_err(|it| it.to_string());
        assert_eq!(find("two"), Ok(1));
        let twoo = "unknown number 'twoo'; did you mean 'two'? (known: one, two)";
        let cases = [("three", "unknown number 'three' (known: one, two)"), ("twoo", twoo)];
        for (given, error) in cases {
            assert_eq!(find(given), Err(error.to_owned()));
        }
    }
}
