//! Charges the cost of a commit to the statements of its transaction.
//!
//! A COMMIT writes what the statements of its transaction changed. The cost of writing a page is
//! charged to the statements that changed pages of the same table or index. A statement changed a
//! table if pages of it went to the rollback journal while the statement ran. Without such a
//! journal, as with a write-ahead log, a statement is taken to have changed the table that it
//! names. What belongs to no table is charged to all statements equally.

use std::collections::BTreeMap;
use std::ops::Range;

use flysch_chip::{Cargo, Origin, TableName, TaskId, Trace};

use super::statements::Text;

/// A process and a connection of it.
pub(super) type Connection = (u32, u64);

/// The statements of a transaction that is open, and what they changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Transaction {
    statements: BTreeMap<Text, u64>,
    /// How many pages of a table went to the journal during a statement. The key is the statement's
    /// text and the table's label.
    journaled: BTreeMap<(Text, u32), u64>,
}

/// A commit: the statement that made it, the events while it ran, and the transaction.
struct Commit {
    text: Text,
    events: Range<usize>,
    transaction: Transaction,
}

#[derive(Default)]
pub(super) struct Transactions {
    open: BTreeMap<Connection, Transaction>,
    commits: Vec<Commit>,
}

impl Transactions {
    /// Note that a statement begins in an open transaction.
    pub(super) fn note(&mut self, connection: Connection, text: Text) {
        *self.open.entry(connection).or_default().statements.entry(text).or_default() += 1;
    }

    /// Note that pages of these tables went to the journal while a statement ran.
    pub(super) fn journal(&mut self, connection: Connection, text: Text, tables: &[u32]) {
        if let Some(transaction) = self.open.get_mut(&connection) {
            for table in tables {
                *transaction.journaled.entry((text, *table)).or_default() += 1;
            }
        }
    }

    /// Note that the statement `text` ended the transaction of a connection.
    pub(super) fn end(
        &mut self,
        connection: Connection,
        text: Text,
        is_commit: bool,
        events: Range<usize>,
    ) {
        let Some(mut transaction) = self.open.remove(&connection) else { return };
        transaction.statements.remove(&text);
        if is_commit && !transaction.statements.is_empty() && !events.is_empty() {
            self.commits.push(Commit { text, events, transaction });
        }
    }

    /// For each event of a commit, the statements that it is charged to.
    pub(super) fn payers(&self, trace: &Trace, texts: &[String]) -> Cargo {
        let mut of: BTreeMap<usize, Vec<(Text, u32)>> = BTreeMap::new();
        for commit in &self.commits {
            let payers = Payers { transaction: &commit.transaction, texts, trace };
            for place in commit.events.clone() {
                let Some(event) = trace.events.get(place) else { continue };
                let runner = trace.causes.label(trace.causes.outermost(event.cause));
                if event.task == TaskId(0) && texts.get(commit.text).is_some_and(|it| it == runner)
                {
                    of.insert(place, payers.of(trace.blame.of_tables.of(place)));
                }
            }
        }
        let mut cargo = Cargo::default();
        for place in 0..trace.events.len() {
            let shares = of.remove(&place).unwrap_or_default().into_iter();
            cargo.push(shares.map(|(text, weight)| {
                (Origin(u32::try_from(text).expect("few statements")), weight)
            }));
        }
        cargo
    }
}

/// Divides the events of a commit among the statements of its transaction.
struct Payers<'a> {
    transaction: &'a Transaction,
    texts: &'a [String],
    trace: &'a Trace,
}

/// The weight of one byte. It is large, so that fractions of a byte are not lost.
const WEIGHT: u64 = 1000;

impl Payers<'_> {
    /// The statements that an event is charged to, with their weights. `tables` are the tables
    /// whose bytes the event concerns.
    fn of(&self, tables: &[(Origin, u32)]) -> Vec<(Text, u32)> {
        let mut sums: BTreeMap<Text, u64> = BTreeMap::new();
        let nothing = [(None, 1)];
        let some: Vec<(Option<u32>, u32)> =
            tables.iter().map(|(table, bytes)| (Some(table.0), *bytes)).collect();
        for (table, bytes) in if some.is_empty() { &nothing[..] } else { &some } {
            let shares =
                self.of_table(table.and_then(|it| self.trace.blame.tables.get(it as usize)));
            let all: u64 = shares.values().sum();
            for (text, weight) in shares {
                *sums.entry(text).or_default() += u64::from(*bytes) * WEIGHT * weight / all;
            }
        }
        let narrow = |weight: u64| u32::try_from(weight).unwrap_or(u32::MAX);
        sums.into_iter().map(|(text, weight)| (text, narrow(weight))).collect()
    }

    /// The statements that changed a table or index, with weights. All of the transaction's, if it
    /// is not known which.
    fn of_table(&self, table: Option<&TableName>) -> BTreeMap<Text, u64> {
        let mut shares: BTreeMap<Text, u64> = BTreeMap::new();
        if let Some(table) = table.filter(|table| !table.name.is_empty()) {
            for ((text, place), pages) in &self.transaction.journaled {
                let other = self.trace.blame.tables.get(*place as usize);
                if other.is_some_and(|it| (&it.kind, &it.name) == (&table.kind, &table.name)) {
                    *shares.entry(*text).or_default() += pages;
                }
            }
            if shares.is_empty() {
                let changes = |text: &Text| target(&self.texts[*text]) == Some(&table.table);
                let all = self.transaction.statements.iter();
                let changing = all.filter(|(text, _)| changes(text));
                shares.extend(changing.map(|(text, count)| (*text, *count)));
            }
        }
        if shares.is_empty() {
            shares.extend(self.transaction.statements.keys().map(|text| (*text, 1)));
        }
        shares
    }
}

/// Whether a statement ends a transaction by a commit.
pub(super) fn is_commit(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or("");
    ["COMMIT", "END", "RELEASE"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The name of the table that a statement changes. None if it changes none.
fn target(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let verb = words.next()?.to_ascii_uppercase();
    let is = |word: &&str, known: &str| word.eq_ignore_ascii_case(known);
    let name = match verb.as_str() {
        "INSERT" | "REPLACE" => words.skip_while(|word| !is(word, "INTO")).nth(1)?,
        "DELETE" => words.skip_while(|word| !is(word, "FROM")).nth(1)?,
        "UPDATE" => match words.next()? {
            or if is(&or, "OR") => words.nth(1)?,
            name => name,
        },
        _ => return None,
    };
    let name = name.split('(').next().unwrap_or(name);
    let name = name.rsplit('.').next().unwrap_or(name);
    Some(name.trim_matches(['"', '`', '[', ']']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_the_table_that_it_changes() {
        let cases = [
            ("INSERT INTO t(a, b) values (?, ...)", Some("t")),
            ("insert or replace into main.\"t\" values (?)", Some("t")),
            ("UPDATE OR IGNORE t SET a = ?", Some("t")),
            ("UPDATE t SET a = ?", Some("t")),
            ("DELETE FROM [t] WHERE a = ?", Some("t")),
            ("SELECT * FROM t", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(target(text), wanted, "{text}");
        }
    }
}
