//! Enums whose values have names. One table of names per enum serves parsing, printing and serde.

use std::fmt;

/// An enum whose values have names.
pub(crate) trait Named: Copy + PartialEq + Sized + 'static {
    /// The word for the enum in error messages, for instance "journal mode".
    const WHAT: &'static str;
    /// Every value with its name.
    const NAMES: &'static [(Self, &'static str)];

    fn name(self) -> &'static str {
        let entry = Self::NAMES.iter().find(|(value, _)| *value == self);
        entry.expect("every value of a named enum is in its table").1
    }

    fn parse(text: &str) -> Result<Self, UnknownName> {
        let entry = Self::NAMES.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
        entry.map(|(value, _)| *value).ok_or_else(|| UnknownName {
            what: Self::WHAT,
            given: text.to_owned(),
            valid: Self::NAMES.iter().map(|(_, name)| *name).collect(),
        })
    }
}

/// The error for a name that no value of an enum has. Its message lists the valid names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownName {
    /// The word for the enum, for instance "journal mode".
    pub what: &'static str,
    /// The unknown name, as it was given.
    pub given: String,
    /// The names that the enum knows.
    pub valid: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} '{}', valid: {}", self.what, self.given, self.valid.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// Implement the traits that follow from an enum's table of names.
macro_rules! spelled {
    ($($kind:ty),*) => { $(
        impl std::str::FromStr for $kind {
            type Err = $crate::names::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::names::Named::parse(text)
            }
        }

        impl TryFrom<String> for $kind {
            type Error = $crate::names::UnknownName;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> Self {
                value.to_string()
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::names::Named::name(*self))
            }
        }
    )* };
}
pub(crate) use spelled;
