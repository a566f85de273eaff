//! The error for a name that is not known.

use std::fmt;

use crate::nearest;

/// Nothing has this name. The message suggests the nearest known name and lists all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What kind of thing the name is for, such as "compressor".
    pub what: &'static str,
    /// The name that was given.
    pub given: String,
    /// The names that are known.
    pub known: Vec<String>,
}

impl UnknownName {
    /// The error that `given` is not one of `known`.
    pub fn new(
        what: &'static str,
        given: &str,
        known: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        let known = known.into_iter().map(Into::into).collect();
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
