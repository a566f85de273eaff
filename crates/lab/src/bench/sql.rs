//! The work of SQL: what is charged for a statement, from its text and from what SQLite counts.

use std::io::BufRead;

use flysch_linux::cpu::Unit;
use flysch_sqlite::Work;

use super::site::Site;

/// What compiling a text depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Text {
    /// Words, numbers, strings and signs.
    tokens: u64,
    /// Bytes outside of string literals.
    bytes: u64,
    /// Bytes inside of them, which are cheaper to parse.
    literal_bytes: u64,
}

impl Text {
    fn of(sql: &[u8]) -> Self {
        let mut text = Self::default();
        for (number, part) in parts(sql).enumerate() {
            let len = part.len() as u64;
            if number % 2 == 1 {
                text.tokens += 1;
                text.literal_bytes += len;
                continue;
            }
            text.bytes += len;
            text.tokens += tokens(part);
        }
        text
    }
}

/// What a byte is outside of string literals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    /// A part of a word or of a number.
    Word,
    /// A token of its own.
    Sign,
}

/// The classes of all bytes. Every statement's text is looked through by them.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Sign; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        classes[byte as usize] = match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' => Class::Word,
            _ if byte.is_ascii_whitespace() => Class::Space,
            _ => Class::Sign,
        };
        byte += 1;
    }
    classes
};

/// Number of words, numbers and signs in a text without string literals.
fn tokens(text: &[u8]) -> u64 {
    let mut before = Class::Space;
    let begins = |&byte: &u8| {
        let class = CLASSES[usize::from(byte)];
        let goes_on = class == Class::Word && before == Class::Word;
        before = class;
        u64::from(class != Class::Space && !goes_on)
    };
    text.iter().map(begins).sum()
}

/// What is between the quotes of a text. Literals are long, so quotes are looked for by the fast
/// search of the standard library for a byte, which only `BufRead` offers.
fn parts(sql: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut left = Some(sql);
    std::iter::from_fn(move || {
        let text = left?;
        let mut behind = text;
        let len = behind.skip_until(b'\'').expect("memory can be read");
        let quoted = text[..len].strip_suffix(b"'");
        left = quoted.map(|_| behind);
        Some(quoted.unwrap_or(text))
    })
}

/// Charge the CPU time that SQLite takes for `work`, and for compiling the text `sql`, which is
/// empty if the statement was compiled before.
pub(crate) fn charge(site: &dyn Site, work: &Work, sql: &[u8]) {
    // A real machine takes its own time. Looking at the text would be a part of it.
    if site.machine().is_none() {
        return;
    }
    let text = Text::of(sql);
    for (unit, number) in [
        (Unit::SqlStatement, work.statements),
        (Unit::SqlToken, text.tokens),
        (Unit::SqlByte, text.bytes),
        (Unit::SqlLiteral, text.literal_bytes),
        (Unit::SqlColumn, work.columns),
        (Unit::SqlRow, work.rows),
        (Unit::SqlStep, work.vm_steps),
        (Unit::SqlPage, work.pages),
        (Unit::SqlBound, work.bound),
        (Unit::SqlValue, work.values),
    ] {
        site.charge(unit, number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_tokens_and_literals() {
        let text = Text::of(b"INSERT INTO t_1 VALUES (-7, 'it''s', 'x');");
        // The quote within a string ends one part of it and begins another.
        assert_eq!(text, Text { tokens: 14, bytes: 32, literal_bytes: 4 });
        assert_eq!(Text::of(b""), Text::default());
    }
}
