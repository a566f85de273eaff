//! Options whose values are words. An error lists the possible words.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Parse the name of one of `values`.
pub(crate) fn one_of<T>(
    values: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(values.iter().map(move |&value| name(value))).map(move |word| {
        let found = values.iter().find(|&&value| name(value) == word);
        *found.expect("only these words are possible")
    })
}

pub(crate) fn on_or_off() -> impl TypedValueParser<Value = bool> {
    one_of(&[true, false], |is_on| if is_on { "on" } else { "off" })
}
