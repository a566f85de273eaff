//! The words behind a command.

use std::slice::Iter;

/// The value that follows an option.
pub(crate) fn value<'w>(words: &mut Iter<'_, &'w str>, option: &str) -> Result<&'w str, String> {
    words.next().copied().ok_or_else(|| format!("`{option}` needs a value"))
}

pub(crate) fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("`{value}` is no number"))
}
