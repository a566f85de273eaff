//! SQL scripts as recordings: each statement is a call, and all of them use one database.

use flysch_sqlite::calls::{About, Call, Entry};
use flysch_sqlite::is_complete;

use super::{Origin, Recording};
use crate::program::Start;

/// The name of a script's database, if the user gives none.
const DATABASE: &str = "script.db";
/// The flags of `sqlite3_open_v2` for read, write and create.
const READ_WRITE_CREATE: i32 = 6;

pub(super) fn parse(name: String, bytes: &[u8]) -> Result<Recording, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is neither a recording nor SQL".to_owned())?;
    if text.contains('\0') {
        return Err("it is neither a recording nor SQL".to_owned());
    }
    let open = Call::Open {
        connection: 1,
        folder: "/".to_owned(),
        name: DATABASE.to_owned(),
        flags: READ_WRITE_CREATE,
        vfs: String::new(),
    };
    let (mut entries, mut lines) = (vec![Entry::new(1, open)], vec![1]);
    for (line, sql) in statements(text)? {
        entries.push(Entry::new(1, Call::Execute { connection: 1, sql: sql.as_str().into() }));
        lines.push(line);
    }
    entries.push(Entry::new(1, Call::Close { connection: 1, version: 1 }));
    lines.push(text.lines().count());
    let database = Start { name: DATABASE.to_owned(), path: DATABASE.to_owned(), content: None };
    Ok(Recording {
        name,
        origin: Origin::default(),
        about: About::default(),
        databases: vec![database],
        cannot: Vec::new(),
        entries,
        lines: Some(lines),
    })
}

/// The statements of a text, each with the line at which it begins. SQLite's parser finds their
/// ends.
fn statements(text: &str) -> Result<Vec<(usize, String)>, String> {
    let (mut all, mut current, mut begin) = (Vec::new(), String::new(), 1);
    for (number, line) in (1..).zip(text.lines()) {
        if after_comments(&current).is_empty() {
            if line.starts_with('.') {
                let word = line.split_whitespace().next().unwrap_or(line);
                return Err(format!("line {number}: {word} is a command of the shell, no SQL"));
            }
            if current.trim().is_empty() {
                (current, begin) = (String::new(), number);
            }
        }
        for part in line.split_inclusive(';') {
            current.push_str(part);
            if part.ends_with(';') && is_complete(&current) {
                all.push((first_line(begin, &current), std::mem::take(&mut current)));
                begin = number;
            }
        }
        current.push('\n');
    }
    if !after_comments(&current).is_empty() {
        all.push((first_line(begin, &current), current));
    }
    Ok(all)
}

/// The line of a text's first word of SQL, if the text begins at line `begin`.
fn first_line(begin: usize, text: &str) -> usize {
    let comments = &text[..text.len() - after_comments(text).len()];
    begin + comments.matches('\n').count()
}

/// A text from its first word of SQL on, or from a comment that does not end. Empty if it contains
/// nothing but comments.
pub(super) fn after_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = if text.starts_with("--") {
            Some(text.find('\n').unwrap_or(text.len()))
        } else {
            let comment = text.strip_prefix("/*").and_then(|rest| rest.find("*/"));
            comment.map(|at| at + "/**/".len())
        };
        let Some(end) = end else { return text };
        text = &text[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_sqlite_says() {
        let text = "-- a comment; with more\nCREATE TABLE t(a); INSERT INTO t VALUES('x;y');\n\
            CREATE TRIGGER r AFTER INSERT ON t BEGIN\n  DELETE FROM t; SELECT 1;\nEND;\n\n\
            SELECT 1\n";
        let found = statements(text).unwrap();
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 2, 3, 7], "{found:?}");
        assert!(found[2].1.trim_end().ends_with("END;"), "{found:?}");
        let text =
            "CREATE TABLE t(x); -- c1\n\n/* a;\n.b */\nSELCT 1; /* c\n */ SELECT 2;\n/* d */";
        let lines: Vec<usize> = statements(text).unwrap().iter().map(|it| it.0).collect();
        assert_eq!(lines, [1, 5, 6]);
        assert_eq!(
            statements(".mode csv").unwrap_err(),
            "line 1: .mode is a command of the shell, no SQL"
        );
    }
}
