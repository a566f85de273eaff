//! The micro-benchmark of Boukhobza et al. (ERTS 2014), Algorithm 1: one kind of request, repeated
//! in one transaction, on a table of an integer key and a random string.

use std::fmt;
use std::str::FromStr;

use flysch_chip::Prng;
use flysch_chip::nearest::nearest;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// Insert records with ascending keys.
    Insert,
    /// Select records by key, ascending.
    Select,
    /// Join two equal tables over their keys: one statement for all requests.
    Join,
    /// Replace the string of records, by ascending key.
    Update,
}

/// The characters that the random strings are made of: they decide what compression gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// Any byte but 0 and the apostrophe: 254 values.
    Bytes,
    /// The 64 characters of Base64.
    Base64,
    /// Decimal digits.
    Digits,
    /// One letter, repeated: as compressible as can be.
    Constant,
}

/// A name that stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChoice {
    /// What was to be named.
    pub what: &'static str,
    /// The name given.
    pub given: String,
    /// The names that are known.
    pub known: Vec<String>,
}

impl UnknownChoice {
    /// Say that `given` is none of `known`.
    pub fn new(what: &'static str, given: &str, known: &[&str]) -> Self {
        let known = known.iter().map(|&name| name.to_owned()).collect();
        Self { what, given: given.to_owned(), known }
    }
}

impl fmt::Display for UnknownChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} '{}'", self.what, self.given)?;
        if let Some(near) = nearest(&self.given, self.known.iter().map(String::as_str)) {
            write!(f, "; did you mean '{near}'?")?;
        }
        write!(f, " (known: {})", self.known.join(", "))
    }
}

impl std::error::Error for UnknownChoice {}

impl Workload {
    /// Every workload.
    pub const ALL: [Self; 4] = [Self::Insert, Self::Select, Self::Join, Self::Update];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Select => "select",
            Self::Join => "join",
            Self::Update => "update",
        }
    }

    /// Tables it needs.
    pub const fn tables(self) -> u32 {
        match self {
            Self::Join => 2,
            Self::Insert | Self::Select | Self::Update => 1,
        }
    }

    /// Whether the tables are filled before the measured interval.
    pub const fn is_filled(self) -> bool {
        !matches!(self, Self::Insert)
    }

    /// How many statements make `requests` requests.
    pub const fn statements(self, requests: u32) -> u32 {
        match self {
            Self::Join => 1,
            Self::Insert | Self::Select | Self::Update => requests,
        }
    }

    /// The text of statement `number`, counted from 1, of a run of `requests`.
    pub fn statement(self, number: u32, requests: u32, strings: &mut RandomStrings) -> Vec<u8> {
        match self {
            Self::Insert => insert("table1", number, strings),
            Self::Select => format!("SELECT val FROM table1 WHERE id = {number};").into_bytes(),
            Self::Update => {
                let mut sql = b"UPDATE table1 SET val = '".to_vec();
                strings.append(&mut sql);
                sql.extend(format!("' WHERE id = {number};").bytes());
                sql
            }
            Self::Join => format!(
                "SELECT table2.val FROM table1, table2 \
                 WHERE table1.id = table2.id AND table2.id <= {requests};"
            )
            .into_bytes(),
        }
    }
}

/// The text that makes a table.
pub fn schema(table: &str) -> String {
    format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, val TEXT);")
}

/// The text that inserts record `id`.
pub fn insert(table: &str, id: u32, strings: &mut RandomStrings) -> Vec<u8> {
    let mut sql = format!("INSERT INTO {table} VALUES ({id}, '").into_bytes();
    strings.append(&mut sql);
    sql.extend(b"');");
    sql
}

impl FromStr for Workload {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|workload| workload.name() == name);
        found.ok_or_else(|| UnknownChoice::new("workload", name, &Self::ALL.map(Self::name)))
    }
}

impl Alphabet {
    /// Every alphabet.
    pub const ALL: [Self; 4] = [Self::Bytes, Self::Base64, Self::Digits, Self::Constant];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Base64 => "base64",
            Self::Digits => "digits",
            Self::Constant => "constant",
        }
    }

    fn characters(self) -> Vec<u8> {
        match self {
            Self::Bytes => (1..=u8::MAX).filter(|&byte| byte != b'\'').collect(),
            Self::Base64 => {
                let letters = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9');
                letters.chain(*b"+/").collect()
            }
            Self::Digits => (b'0'..=b'9').collect(),
            Self::Constant => b"x".to_vec(),
        }
    }
}

impl FromStr for Alphabet {
    type Err = UnknownChoice;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|alphabet| alphabet.name() == name);
        found.ok_or_else(|| UnknownChoice::new("alphabet", name, &Self::ALL.map(Self::name)))
    }
}

/// A seeded source of strings of one length.
#[derive(Clone, Debug)]
pub struct RandomStrings {
    characters: Vec<u8>,
    len: u32,
    prng: Prng,
}

impl RandomStrings {
    /// Draw strings of `len` characters of `alphabet`.
    pub fn new(alphabet: Alphabet, len: u32, seed: u64) -> Self {
        Self { characters: alphabet.characters(), len, prng: Prng::new(seed) }
    }

    /// Append one string to `text`.
    ///
    /// # Panics
    /// Never: an alphabet has fewer than 256 characters.
    pub fn append(&mut self, text: &mut Vec<u8>) {
        let count = self.characters.len() as u64;
        for _ in 0..self.len {
            let drawn = self.prng.below(count);
            text.push(self.characters[usize::try_from(drawn).expect("below 256")]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_those_of_the_paper() {
        let mut strings = RandomStrings::new(Alphabet::Constant, 3, 1);
        let cases = [
            (Workload::Insert, "INSERT INTO table1 VALUES (7, 'xxx');"),
            (Workload::Select, "SELECT val FROM table1 WHERE id = 7;"),
            (Workload::Update, "UPDATE table1 SET val = 'xxx' WHERE id = 7;"),
        ];
        for (workload, text) in cases {
            assert_eq!(workload.statement(7, 10, &mut strings), text.as_bytes());
            assert_eq!(workload.name().parse(), Ok(workload));
        }
    }

    #[test]
    fn strings_never_end_their_literal() {
        let mut text = Vec::new();
        RandomStrings::new(Alphabet::Bytes, 20_000, 3).append(&mut text);
        assert!(!text.contains(&0) && !text.contains(&b'\''));
        assert!((1..=255).filter(|&byte| byte != b'\'').all(|byte| text.contains(&byte)));
    }
}
