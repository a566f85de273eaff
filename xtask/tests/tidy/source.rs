//! A Rust file, split into code, literals and comments.
//!
//! 1. `code`, `text` and the file itself have the same lines and columns: what does not belong is
//!    replaced by spaces, never removed.
//! 2. `code` has no comments and no content of literals. `text` has no comments.

/// What a character is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Code,
    Literal,
    Comment,
    Doc,
}

/// What a line begins with, apart from white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Blank,
    Code,
    Comment,
    Doc,
}

pub(crate) struct Line {
    pub(crate) kind: Kind,
    /// The line as it is in the file.
    pub(crate) whole: String,
    /// The line's code without literals.
    pub(crate) code: String,
    /// The line's code and literals.
    pub(crate) text: String,
    /// Comments of all kinds, with their slashes.
    pub(crate) comment: String,
    /// Whether the line is compiled for tests only.
    pub(crate) is_test: bool,
}

pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) lines: Vec<Line>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let classes = classify(text);
        let mut lines = Vec::new();
        let mut start = 0;
        for whole in text.lines() {
            let count = whole.chars().count();
            lines.push(Line::new(whole, &classes[start..start + count]));
            start += count + 1;
        }
        let mut source = Self { path: path.into(), lines };
        source.mark_tests();
        source
    }

    /// The code of the whole file. Literals and comments are spaces.
    pub(crate) fn code(&self) -> String {
        self.join(|line| &line.code)
    }

    /// The whole file. Comments are spaces.
    pub(crate) fn text(&self) -> String {
        self.join(|line| &line.text)
    }

    fn join(&self, part: impl Fn(&Line) -> &str) -> String {
        self.lines.iter().map(part).collect::<Vec<&str>>().join("\n")
    }

    /// Whether the whole file is for tests: it is in a folder `tests`, or it is the test module of
    /// its folder.
    pub(crate) fn is_test_file(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    fn mark_tests(&mut self) {
        if self.is_test_file() {
            self.lines.iter_mut().for_each(|line| line.is_test = true);
            return;
        }
        let code = self.code();
        for (at, _) in code.match_indices("#[cfg(test)]") {
            let end = item_end(&code, at);
            let (first, last) = (line_index(&code, at), line_index(&code, end));
            self.lines[first..=last].iter_mut().for_each(|line| line.is_test = true);
        }
    }
}

impl Line {
    fn new(whole: &str, classes: &[Class]) -> Self {
        let only = |wanted: &[Class]| -> String {
            let keep = |(letter, class): (char, &Class)| {
                if wanted.contains(class) { letter } else { ' ' }
            };
            whole.chars().zip(classes).map(keep).collect()
        };
        let mut seen = whole.chars().zip(classes).filter(|(letter, _)| !letter.is_whitespace());
        let kind = match seen.next() {
            None => Kind::Blank,
            Some((_, Class::Comment)) => Kind::Comment,
            Some((_, Class::Doc)) => Kind::Doc,
            Some((_, Class::Code | Class::Literal)) => Kind::Code,
        };
        Self {
            kind,
            whole: whole.into(),
            code: only(&[Class::Code]),
            text: only(&[Class::Code, Class::Literal]),
            comment: only(&[Class::Comment, Class::Doc]),
            is_test: false,
        }
    }
}

/// The number of the line, from zero, that contains byte `at`.
pub(crate) fn line_index(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count()
}

/// The byte after the bracket that closes the one at byte `open`.
pub(crate) fn bracket_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, letter) in code[open..].char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return open + offset + 1;
        }
    }
    code.len()
}

/// The last byte of the item whose attribute starts at byte `start`: its closing brace, or its
/// semicolon if it has no body.
pub(crate) fn item_end(code: &str, start: usize) -> usize {
    let mut at = start;
    while let Some(offset) = code[at..].find(['(', '[', '{', ';']) {
        let found = at + offset;
        match code.as_bytes()[found] {
            b';' => return found,
            b'{' => return bracket_end(code, found) - 1,
            _ => at = bracket_end(code, found),
        }
    }
    code.len()
}

/// Whether `letter` may be part of an identifier.
pub(crate) fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The identifiers and numbers of `text`, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_word_letter(letter)).filter(|word| !word.is_empty())
}

fn classify(text: &str) -> Vec<Class> {
    let letters: Vec<char> = text.chars().collect();
    let mut classes = Vec::with_capacity(letters.len());
    while classes.len() < letters.len() {
        let at = classes.len();
        let after_word = at > 0 && is_word_letter(letters[at - 1]);
        let (len, class) = token(&letters[at..], after_word);
        classes.resize(at + len.min(letters.len() - at), class);
    }
    classes
}

/// The length and the class of the first token in `rest`. `after_word` says that a letter precedes
/// it, so that an `r` does not open a raw string.
fn token(rest: &[char], after_word: bool) -> (usize, Class) {
    let starts = |prefix: &str| prefix.chars().eq(rest.iter().copied().take(prefix.len()));
    if starts("//") {
        let is_doc = starts("//!") || (starts("///") && !starts("////"));
        let len = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
        return (len, if is_doc { Class::Doc } else { Class::Comment });
    }
    if starts("/*") {
        let is_doc = starts("/*!") || (starts("/**") && !starts("/**/"));
        return (block_len(rest), if is_doc { Class::Doc } else { Class::Comment });
    }
    if starts("\"") {
        return (string_len(rest), Class::Literal);
    }
    if let Some(len) = raw_string_len(rest).filter(|_| !after_word) {
        return (len, Class::Literal);
    }
    match rest {
        ['\'', '\\', _, tail @ ..] => {
            let close = tail.iter().position(|letter| *letter == '\'').unwrap_or(0);
            (close + 4, Class::Literal)
        }
        ['\'', _, '\'', ..] => (3, Class::Literal),
        _ => (1, Class::Code),
    }
}

fn block_len(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_len(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a raw string or raw byte string, if `rest` begins with one.
fn raw_string_len(rest: &[char]) -> Option<usize> {
    let prefix = match rest {
        ['r', ..] => 1,
        ['b' | 'c', 'r', ..] => 2,
        _ => return None,
    };
    let hashes = rest[prefix..].iter().take_while(|letter| **letter == '#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let closes = |at: &usize| {
        rest[*at] == '"' && rest[at + 1..].iter().take_while(|h| **h == '#').count() >= hashes
    };
    let close = (open + 1..rest.len()).find(closes);
    Some(close.map_or(rest.len(), |at| at + 1 + hashes))
}

#[test]
fn comments_and_literals_are_told_from_code() {
    let check = |line: &str, code: &str, text: &str| {
        let source = Source::new("a.rs", line);
        assert_eq!(source.code().trim_end(), code, "code of {line}");
        assert_eq!(source.text().trim_end(), text, "text of {line}");
    };
    check("let a = 1; // one", "let a = 1;", "let a = 1;");
    check("f(\"// no\", 'x')", "f(       ,    )", "f(\"// no\", 'x')");
    check("f('\"', b)", "f(   , b)", "f('\"', b)");
    check("f('\\'', '\\u{7f}')", "f(    ,         )", "f('\\'', '\\u{7f}')");
    check("f(r#\"a\"b\"#)", "f(        )", "f(r#\"a\"b\"#)");
    check("f(&'a str, 'b')", "f(&'a str,    )", "f(&'a str, 'b')");
    check("a /* b /* c */ d */ e", "a                   e", "a                   e");
    check("\"a\\\"b\" + c", "       + c", "\"a\\\"b\" + c");
}

#[test]
fn test_items_are_marked() {
    let text = "fn a() {}\n#[cfg(test)]\nmod t {\n    fn b() {}\n}\nfn c() {}\n\
                #[cfg(test)]\nmod tests;\nfn d() {}\n";
    let source = Source::new("a.rs", text);
    let marked: Vec<bool> = source.lines.iter().map(|line| line.is_test).collect();
    assert_eq!(marked, [false, true, true, true, true, false, true, true, false]);
}
