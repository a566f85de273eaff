//! The error of a name that is not known: it lists the known names and suggests the nearest.

use std::fmt;

use flysch_chip::nearest::nearest;

/// The user gave a name that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What the name is of, such as "platform".
    pub what: &'static str,
    /// The name that the user gave.
    pub given: String,
    /// The names that are known.
    pub known: Vec<String>,
    /// Why it stands for nothing, where that is known.
    pub why: Option<&'static str>,
}

impl UnknownName {
    /// The error that `given` is not one of `known`.
    pub fn new(what: &'static str, given: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|&name| name.to_owned()).collect();
        Self { what, given: given.to_owned(), known, why: None }
    }

    /// Say why `given` stands for nothing.
    pub fn because(what: &'static str, given: &str, why: &'static str) -> Self {
        Self { why: Some(why), ..Self::new(what, given, &[]) }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = self.why {
            return write!(f, "{} '{}': {why}", self.what, self.given);
        }
        write!(f, "unknown {} '{}'", self.what, self.given)?;
        if let Some(near) = nearest(&self.given, self.known.iter().map(String::as_str)) {
            write!(f, "; did you mean '{near}'?")?;
        }
        write!(f, " (known: {})", self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}
