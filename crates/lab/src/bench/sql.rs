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
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let words = part.chunk_by(|a, b| is_word(a) && is_word(b));
            text.tokens += words.filter(|word| !word[0].is_ascii_whitespace()).count() as u64;
        }
        text
    }
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
