//! The micro-benchmark of Boukhobza et al. (ERTS 2014), Algorithm 1: one kind of request is
//! repeated in one transaction, on a table with an integer key and a random string. A further kind
//! makes each request a transaction of its own, which shows the cost of a journal.

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use super::strings::RandomStrings;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Micro {
    /// Insert records with ascending keys.
    Insert,
    /// Select records by ascending keys.
    Select,
    /// Join two tables with equal content by their keys. A single statement does this.
    Join,
    /// Replace the string of each record, by ascending keys.
    Update,
    /// Replace the string of random records, each in a transaction of its own.
    Commit,
}

named!(Micro);

impl Micro {
    /// The kinds of request in Algorithm 1.
    pub const OF_ALGORITHM_1: [Self; 4] = [Self::Insert, Self::Select, Self::Join, Self::Update];

    /// Number of tables that it needs.
    pub const fn tables(self) -> u32 {
        match self {
            Self::Join => 2,
            Self::Insert | Self::Select | Self::Update | Self::Commit => 1,
        }
    }

    /// Whether the tables are filled before the measured interval.
    pub const fn is_filled(self) -> bool {
        !matches!(self, Self::Insert)
    }

    /// Whether it only reads.
    pub const fn is_reading(self) -> bool {
        matches!(self, Self::Select | Self::Join)
    }

    /// A kind of request that finds the same tables with the same content.
    pub(crate) const fn beginning(self) -> Self {
        match self {
            Self::Insert | Self::Join => self,
            Self::Select | Self::Update | Self::Commit => Self::Select,
        }
    }

    /// The number of statements that `requests` requests consist of.
    pub const fn statements(self, requests: u32) -> u32 {
        match self {
            Self::Join => 1,
            Self::Insert | Self::Select | Self::Update | Self::Commit => requests,
        }
    }

    /// Whether all requests are in the same transaction.
    pub const fn is_one_transaction(self) -> bool {
        !matches!(self, Self::Commit)
    }

    /// The SQL of statement `number`, counted from 1, in a run of `requests` requests.
    pub fn statement(self, number: u32, requests: u32, strings: &mut RandomStrings) -> Vec<u8> {
        match self {
            Self::Insert => insert("table1", number, strings),
            Self::Select => format!("SELECT val FROM table1 WHERE id = {number};").into_bytes(),
            Self::Update | Self::Commit => {
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

/// The SQL that makes a table.
pub fn schema(table: &str) -> String {
    format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, val TEXT);")
}

/// The SQL that inserts record `id`.
pub fn insert(table: &str, id: u32, strings: &mut RandomStrings) -> Vec<u8> {
    let mut sql = format!("INSERT INTO {table} VALUES ({id}, '").into_bytes();
    strings.append(&mut sql);
    sql.extend(b"');");
    sql
}

#[cfg(test)]
mod tests {
    use super::super::strings::Alphabet;
    use super::*;

    #[test]
    fn statements_are_those_of_the_paper() {
        let mut strings = RandomStrings::new(Alphabet::Constant, 3, 1);
        let cases = [
            (Micro::Insert, "INSERT INTO table1 VALUES (7, 'xxx');"),
            (Micro::Select, "SELECT val FROM table1 WHERE id = 7;"),
            (Micro::Update, "UPDATE table1 SET val = 'xxx' WHERE id = 7;"),
        ];
        for (workload, text) in cases {
            assert_eq!(workload.statement(7, 10, &mut strings), text.as_bytes());
        }
    }
}
