//! The text of a statement without its values. Executions that differ only in values are counted as
//! one statement.
//!
//! Literals and parameters become `?`. A list of them becomes `?, ...`, and rows of values after
//! the first are left out. Comments and white space do not matter.

/// The longest text in bytes. It is below the limit for names in a trace.
const SIZE_MAX: usize = 240;

/// A statement without its values: `(empty)` if nothing is left.
pub fn normalised(sql: &str) -> String {
    let mut words = words(sql);
    if words.last().is_some_and(|word| word == ";") {
        words.pop();
    }
    let words = without_rows(&without_lists(&words));
    let mut text = String::new();
    for word in &words {
        if !text.is_empty() && is_apart(&text, word) {
            text.push(' ');
        }
        text.push_str(word);
    }
    if text.len() > SIZE_MAX {
        let end = (0..=SIZE_MAX).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

/// Whether to put a space before `word`. There is none around `>`, because traces separate scopes
/// by " > ".
fn is_apart(text: &str, word: &str) -> bool {
    let after = !text.ends_with(['(', '.', '>']);
    after && !matches!(word, "," | ")" | "." | ";" | "(" | ">" | ">=" | ">>")
        || (word == "(" && text.ends_with(|end: char| end == ',' || end.is_lowercase()))
}

fn words(sql: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (size, word) = next(rest, first);
        rest = &rest[size..];
        words.extend(word);
    }
    words
}

/// The size of the first token of `rest`, and the word to write for it. None for white space and
/// comments.
fn next(rest: &str, first: char) -> (usize, Option<String>) {
    let value = |size| (size, Some("?".to_owned()));
    match first {
        _ if first.is_whitespace() || first.is_control() => (first.len_utf8(), None),
        '-' if rest.starts_with("--") => (rest.find('\n').unwrap_or(rest.len()), None),
        '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |at| at + 2), None),
        '\'' => value(quoted_size(rest, '\'')),
        'x' | 'X' if rest[1..].starts_with('\'') => value(1 + quoted_size(&rest[1..], '\'')),
        '"' | '`' => named(rest, quoted_size(rest, first)),
        '[' => named(rest, rest.find(']').map_or(rest.len(), |at| at + 1)),
        '0'..='9' => value(size_while(rest, |letter| letter.is_alphanumeric() || letter == '.')),
        '?' | ':' | '@' | '$' => {
            value(1 + size_while(&rest[1..], |letter| letter.is_alphanumeric() || letter == '_'))
        }
        _ if is_letter(first) => {
            let size = size_while(rest, is_letter);
            (size, Some(rest[..size].to_owned()))
        }
        '<' | '>' | '=' | '!' | '|' => {
            let size = size_while(rest, |letter| "<>=!|".contains(letter));
            (size, Some(rest[..size].to_owned()))
        }
        other => (other.len_utf8(), Some(other.to_string())),
    }
}

fn named(rest: &str, size: usize) -> (usize, Option<String>) {
    let name = rest[..size].chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    (size, Some(name.collect()))
}

fn is_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn size_while(text: &str, holds: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !holds(letter)).unwrap_or(text.len())
}

/// The size of a quoted part with both quotes. A doubled quote stands for one.
fn quoted_size(text: &str, quote: char) -> usize {
    let mut at = 1;
    loop {
        let Some(end) = text[at..].find(quote) else { return text.len() };
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
}

/// Replace a list of values by its first value and `...`.
fn without_lists(words: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut place = 0;
    while place < words.len() {
        kept.push(words[place].clone());
        let mut end = place + 1;
        while words[place] == "?" && words[end..].starts_with(&[",".to_owned(), "?".to_owned()]) {
            end += 2;
        }
        if end > place + 1 {
            kept.extend([",", "..."].map(str::to_owned));
        }
        place = end;
    }
    kept
}

/// Leave out each row of values that is equal to the previous row.
fn without_rows(words: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut place = 0;
    while place < words.len() {
        let row = row_at(&words[place..]);
        kept.extend_from_slice(&words[place..place + row.max(1)]);
        let begin = place;
        place += row.max(1);
        while row > 0
            && words.get(place).is_some_and(|word| word == ",")
            && words[place + 1..].starts_with(&words[begin..begin + row])
        {
            place += row + 1;
        }
    }
    kept
}

/// The number of words in the row of values, in brackets, that `words` begins with. 0 if it does
/// not begin with one.
fn row_at(words: &[String]) -> usize {
    let is_value = |word: &String| matches!(word.as_str(), "?" | "," | "..." | "NULL" | "null");
    if words.first().is_none_or(|word| word != "(") {
        return 0;
    }
    let inside = words[1..].iter().take_while(|word| is_value(word)).count();
    if words.get(inside + 1).is_some_and(|word| word == ")") { inside + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_out() {
        let cases = [
            (
                "SELECT  a\n FROM t WHERE b = 'it''s' AND c>-1.5e3;",
                "SELECT a FROM t WHERE b = ? AND c>- ?",
            ),
            ("insert into t values (1, x'ff', :name), (2,?,@b)", "insert into t values (?, ...)"),
            (
                "SELECT * FROM \"a b\" WHERE x IN (1,2,3) -- why",
                "SELECT * FROM \"a b\" WHERE x IN(?, ...)",
            ),
            ("UPDATE t SET a=?1,b=?2 WHERE id=7", "UPDATE t SET a = ?, b = ? WHERE id = ?"),
            ("/* only this */ ", "(empty)"),
            ("BEGIN;", "BEGIN"),
        ];
        for (sql, wanted) in cases {
            assert_eq!(normalised(sql), wanted);
        }
        let long = normalised(&format!("SELECT {}", "abcdefgh, ".repeat(100)));
        assert!(long.len() <= SIZE_MAX + 3 && long.ends_with("..."), "{long}");
    }

    #[test]
    fn any_text_has_an_end() {
        for sql in ["'", "x'", "\"abc", "[abc", "/*", "--", "?", "a.b > c >= 'd", "((((", "é'ü"] {
            let text = normalised(sql);
            assert!(!text.contains(" > "), "{text}");
        }
    }
}
