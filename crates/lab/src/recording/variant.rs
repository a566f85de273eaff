//! Settings that replace those of a recording. They are set by PRAGMAs when a database is opened,
//! and the program's own PRAGMAs that set them are disabled. Transactions may also be joined.

use flysch_sqlite::{JournalMode, Synchronous};

use super::script::after_comments;

/// What a replay changes compared with the recording. By default, nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    pub journal_mode: Option<JournalMode>,
    pub synchronous: Option<Synchronous>,
    pub page_size: Option<u32>,
    pub cache_size: Option<i32>,
    /// How many transactions are joined into one. 0 and 1 leave them apart.
    pub group: u32,
}

impl Variant {
    /// The SQL to execute when a connection was opened.
    pub(super) fn at_open(&self) -> String {
        let set = |name: &str, value: Option<String>| {
            value.map(|value| format!("PRAGMA {name}={value};")).unwrap_or_default()
        };
        [
            set("page_size", self.page_size.map(|it| it.to_string())),
            set("cache_size", self.cache_size.map(|it| it.to_string())),
            set("journal_mode", self.journal_mode.map(|it| it.to_string())),
            set("synchronous", self.synchronous.map(|it| it.to_string())),
        ]
        .concat()
    }

    /// The statement to execute instead of the program's. None if it stays. A PRAGMA that sets a
    /// replaced setting becomes one that only reads it.
    pub(super) fn of_statement(&self, sql: &[u8]) -> Option<Vec<u8>> {
        let (schema_and_name, value) = pragma(sql)?;
        let sets = value.starts_with(['=', '(']);
        let is_replaced = match setting(schema_and_name).as_str() {
            "journal_mode" => self.journal_mode.is_some(),
            "synchronous" => self.synchronous.is_some(),
            "page_size" => self.page_size.is_some(),
            "cache_size" => self.cache_size.is_some(),
            _ => false,
        };
        (sets && is_replaced).then(|| format!("PRAGMA {schema_and_name}").into_bytes())
    }
}

/// Whether a statement is a PRAGMA that asks for a write-ahead log.
pub(super) fn asks_for_log(sql: &[u8]) -> bool {
    pragma(sql).is_some_and(|(name, value)| {
        let mut words = value.split(|letter: char| !letter.is_alphanumeric());
        let value = words.find(|word| !word.is_empty()).unwrap_or_default();
        setting(name) == "journal_mode" && value.eq_ignore_ascii_case("wal")
    })
}

/// The name of a PRAGMA, with its schema, and what follows it. None for other statements.
fn pragma(sql: &[u8]) -> Option<(&str, &str)> {
    let text = after_comments(str::from_utf8(sql).ok()?);
    let rest = text.get(..6).filter(|word| word.eq_ignore_ascii_case("pragma"))?;
    let rest = text[rest.len()..].trim();
    let name_end = rest.find(|letter: char| !is_name(letter)).unwrap_or(rest.len());
    let (name, value) = rest.split_at(name_end);
    Some((name, value.trim_start()))
}

/// The name of a setting, without its schema.
fn setting(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase()
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pragma_that_is_replaced_only_asks() {
        let variant = Variant { journal_mode: Some(JournalMode::Wal), ..Variant::default() };
        let of = |sql: &str| {
            variant.of_statement(sql.as_bytes()).map(|it| String::from_utf8(it).unwrap())
        };
        assert_eq!(of("pragma journal_mode = delete").as_deref(), Some("PRAGMA journal_mode"));
        assert_eq!(
            of("PRAGMA main.journal_mode(OFF);").as_deref(),
            Some("PRAGMA main.journal_mode")
        );
        assert_eq!(of("PRAGMA journal_mode"), None);
        assert_eq!(of("PRAGMA synchronous=OFF"), None);
        assert_eq!(of("SELECT 1"), None);
        assert!(asks_for_log(b"-- a log\nPRAGMA main.journal_mode = 'WAL';"));
        assert!(asks_for_log(b"pragma journal_mode(wal)"));
        for other in ["PRAGMA journal_mode", "PRAGMA journal_mode=delete", "SELECT 'wal'"] {
            assert!(!asks_for_log(other.as_bytes()), "{other}");
        }
        assert_eq!(variant.at_open(), "PRAGMA journal_mode=wal;");
    }
}
