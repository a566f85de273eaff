//! The value of a parameter: a number, a switch or a word. JSON keeps them apart.

use std::fmt;

use serde::Serialize;

/// The value of a parameter of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Parameter {
    Number(i64),
    /// It is written `on` or `off` on the command line, and as a Boolean in JSON.
    Switch(bool),
    Word(String),
}

impl fmt::Display for Parameter {
    /// Write the value as the command line takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Switch(is_on) => f.write_str(if *is_on { "on" } else { "off" }),
            Self::Word(word) => f.write_str(word),
        }
    }
}

macro_rules! from_numbers {
    ($($number:ty),*) => {
        $(impl From<$number> for Parameter {
            fn from(number: $number) -> Self {
                Self::Number(number.into())
            }
        })*
    };
}

from_numbers!(u8, i32, u32);

impl From<u64> for Parameter {
    /// A number of more than 63 bits becomes a word, so that no digit is lost.
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(|_| Self::Word(number.to_string()), Self::Number)
    }
}

impl From<bool> for Parameter {
    fn from(is_on: bool) -> Self {
        Self::Switch(is_on)
    }
}

impl From<&str> for Parameter {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl From<String> for Parameter {
    fn from(word: String) -> Self {
        Self::Word(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_type_and_text_is_that_of_the_command_line() {
        let cases = [
            (Parameter::from(4096_u32), "4096", "4096"),
            (Parameter::from(-2000), "-2000", "-2000"),
            (Parameter::from(true), "on", "true"),
            (Parameter::from("wal"), "wal", "\"wal\""),
            (Parameter::from(u64::MAX), "18446744073709551615", "\"18446744073709551615\""),
        ];
        for (parameter, text, json) in cases {
            assert_eq!(parameter.to_string(), text);
            assert_eq!(serde_json::to_string(&parameter).unwrap(), json);
        }
    }
}
