//! The words after a command.

use std::slice::Iter;

/// The value of an option: the next word. It is an error if there is none.
pub(crate) fn value<'w>(words: &mut Iter<'_, &'w str>, option: &str) -> Result<&'w str, String> {
    words.next().copied().ok_or_else(|| format!("`{option}` needs a value"))
}

pub(crate) fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("`{value}` is no number"))
}
