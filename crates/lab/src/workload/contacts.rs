//! Selects on a database of contacts as Android keeps one: the macro-benchmark of Olivier et al.
//! (`EWiLi` 2014, section 3.1.2), after `AndroBench`.
//!
//! Its table has 17 columns: the key, 11 more integers, and 5 texts of the same size. Integers and
//! texts are random. With 1000 records its file has the sizes of the paper: 518 KB (64-byte texts)
//! and 1 MB (128).

use std::collections::BTreeMap;

use super::pattern::Pattern;
use crate::parameter::Parameter;

/// Number of texts in a record.
pub(crate) const TEXT_COUNT: u32 = 5;
/// Selects of one contact each, by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contacts {
    /// Order of the keys.
    pub pattern: Pattern,
    /// Size of each of the five texts in bytes.
    pub text_size: u32,
    pub records: u32,
}

impl Contacts {
    /// The small database of the paper, read in the order of its keys.
    pub const DEFAULT: Self = Self { pattern: Pattern::Sequential, text_size: 64, records: 1000 };

    /// Bytes of text in a record.
    pub const fn text_bytes(self) -> u32 {
        self.text_size * TEXT_COUNT
    }

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        BTreeMap::from([
            ("pattern", self.pattern.name().into()),
            ("text-size", self.text_size.into()),
            ("records", self.records.into()),
        ])
    }
}
