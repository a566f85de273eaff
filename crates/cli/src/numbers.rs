//! Lists and ranges of numbers on the command line: `150,300` or `100..5000:100`.

use std::fmt;
use std::str::FromStr;

use flysch_lab::bench::grid::has_repeated;

use crate::failure::Failure;

/// The most numbers that one text may stand for.
const COUNT_MAX: u64 = 100_000;

/// Numbers, from a text such as `150,300` or `100..5000:100`.
#[derive(Clone, Debug)]
pub(crate) struct Numbers(pub(crate) Vec<u64>);

impl FromStr for Numbers {
    type Err = ValuesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(Self)
    }
}

/// Why a text is no list of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValuesError {
    /// A part of it is neither a number nor a range.
    NotANumber(String),
    /// A range runs backwards, or its step is zero.
    Range(String),
    /// The text stands for more numbers than `COUNT_MAX`.
    TooMany(String),
}

impl fmt::Display for ValuesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber(part) => write!(
                f,
                "'{part}' is neither a number nor a range; write 100, 150,300 or 100..5000:100"
            ),
            Self::Range(part) => {
                write!(f, "the range '{part}' runs backwards or stands still; write FROM..TO:STEP")
            }
            Self::TooMany(part) => write!(f, "'{part}' stands for more than {COUNT_MAX} numbers"),
        }
    }
}

impl std::error::Error for ValuesError {}

/// The numbers of a text, in order. A range includes its end if a step falls on it.
///
/// # Errors
/// The first part that is wrong.
pub(crate) fn parse(text: &str) -> Result<Vec<u64>, ValuesError> {
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => values.push(number(part)?),
            Some((from, rest)) => values.extend(range(part, from, rest)?),
        }
    }
    Ok(values)
}

fn range(
    part: &str,
    from: &str,
    rest: &str,
) -> Result<impl Iterator<Item = u64> + use<>, ValuesError> {
    let (to, step) = match rest.split_once(':') {
        None => (rest, 1),
        Some((to, step)) => (to, number(step)?),
    };
    let (from, to) = (number(from)?, number(to)?);
    if step == 0 || to < from {
        return Err(ValuesError::Range(part.to_owned()));
    }
    if (to - from) / step >= COUNT_MAX {
        return Err(ValuesError::TooMany(part.to_owned()));
    }
    Ok((0..=(to - from) / step).map(move |index| from + index * step))
}

fn number(text: &str) -> Result<u64, ValuesError> {
    let digits = text.trim().replace('_', "");
    digits.parse().map_err(|_| ValuesError::NotANumber(text.trim().to_owned()))
}

/// The counts of an option; none if the option is not given.
pub(crate) fn optional(name: &str, numbers: Option<&Numbers>) -> Result<Vec<u32>, Failure> {
    numbers.map_or(Ok(Vec::new()), |numbers| counts(name, numbers))
}

/// Refuse the values of an option if one of them is given twice. Its runs would count twice.
pub(crate) fn once<T: PartialEq>(option: &str, values: &[T]) -> Result<(), Failure> {
    if has_repeated(values) { Err(twice(option)) } else { Ok(()) }
}

/// The failure of an option with a value that is given twice.
pub(crate) fn twice(option: &str) -> Failure {
    Failure::Message(format!("{option}: a value is given twice"))
}

/// Check counts: each must be at least 1 and fit in 32 bits, and none is given twice.
pub(crate) fn counts(name: &str, numbers: &Numbers) -> Result<Vec<u32>, Failure> {
    once(&format!("--{name}"), &numbers.0)?;
    let count = |&value: &u64| match u32::try_from(value) {
        Ok(count @ 1..) => Ok(count),
        _ => Err(Failure::Message(format!("--{name} {value}: must be from 1 to {}", u32::MAX))),
    };
    numbers.0.iter().map(count).collect()
}

/// Refuse a value of an option that is greater than `most`. `what` names in the error what has that
/// size.
pub(crate) fn at_most(option: &str, given: u32, what: &str, most: u32) -> Result<(), Failure> {
    if given <= most {
        return Ok(());
    }
    Err(Failure::Message(format!("--{option} {given}: more than {what} of {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_mix() {
        let cases = [
            ("600", vec![600]),
            ("150, 300", vec![150, 300]),
            ("100..500:200", vec![100, 300, 500]),
            ("1,5..7,1_000", vec![1, 5, 6, 7, 1000]),
            ("100..450:100", vec![100, 200, 300, 400]),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn nonsense_is_named() {
        let cases = [
            ("", ValuesError::NotANumber(String::new())),
            ("ten", ValuesError::NotANumber("ten".to_owned())),
            ("5..1", ValuesError::Range("5..1".to_owned())),
            ("1..9:0", ValuesError::Range("1..9:0".to_owned())),
            ("-3", ValuesError::NotANumber("-3".to_owned())),
            ("0..9999999", ValuesError::TooMany("0..9999999".to_owned())),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
