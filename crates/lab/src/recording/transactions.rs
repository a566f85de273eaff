//! Finds the calls that begin and end transactions, and joins several transactions into one.
//!
//! The first word of a statement decides its role. A statement that changes the database outside a
//! transaction is a transaction by itself.

use std::collections::BTreeMap;

use flysch_sqlite::calls::{Bytes, Call, ConnectionId, Entry};

/// The role of a call in transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Begin,
    Commit,
    Rollback,
    /// A statement that changes the database outside a transaction, so that it is one by itself.
    Alone,
    /// A call that cannot be in a transaction: PRAGMA, VACUUM, ATTACH, DETACH, or the end of a
    /// connection.
    Outside,
    /// Any other call.
    Inside,
}

/// The role of each call, with its connection.
pub(super) fn roles(entries: &[Entry]) -> Vec<(Role, ConnectionId)> {
    let mut compiled: BTreeMap<u32, (ConnectionId, String)> = BTreeMap::new();
    let mut open: BTreeMap<ConnectionId, bool> = BTreeMap::new();
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries {
        let (connection, word) = match &entry.call {
            Call::Prepare { connection, statement, sql, .. } => {
                compiled.insert(*statement, (*connection, first_word(sql)));
                (*connection, String::new())
            }
            Call::Execute { connection, sql } => (*connection, first_word(sql)),
            Call::Step { statement } => compiled.get(statement).cloned().unwrap_or_default(),
            Call::Close { connection, .. } => (*connection, "CLOSE".to_owned()),
            Call::Checkpoint { connection, .. } => (*connection, "PRAGMA".to_owned()),
            Call::Open { .. }
            | Call::Bind { .. }
            | Call::Clear { .. }
            | Call::Reset { .. }
            | Call::Finalize { .. }
            | Call::BusyTimeout { .. }
            | Call::AutoCheckpoint { .. }
            | Call::End => (0, String::new()),
        };
        let is_open = open.entry(connection).or_default();
        let role = match word.as_str() {
            "BEGIN" => Role::Begin,
            "COMMIT" | "END" => Role::Commit,
            "ROLLBACK" => Role::Rollback,
            "PRAGMA" | "VACUUM" | "ATTACH" | "DETACH" | "CLOSE" => Role::Outside,
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "CREATE" | "DROP" | "ALTER" | "WITH"
                if !*is_open =>
            {
                Role::Alone
            }
            _ => Role::Inside,
        };
        match role {
            Role::Begin => *is_open = true,
            Role::Commit | Role::Rollback => *is_open = false,
            Role::Alone | Role::Outside | Role::Inside => {}
        }
        all.push((role, connection));
    }
    all
}

/// The first word of a statement in upper case, after comments and empty lines.
fn first_word(sql: &Bytes) -> String {
    let text = sql.text();
    let mut lines = text.lines().map(str::trim_start);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with("--"));
    let line = line.unwrap_or_default();
    let end = line.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(line.len());
    line[..end].to_ascii_uppercase()
}

/// For each call of the recording, the calls to make so that each `group` transactions of a
/// connection become one. The list is empty for a BEGIN or COMMIT that is left out. A BEGIN or
/// COMMIT that is added comes before or after the recorded call.
pub(super) fn grouped(entries: &[Entry], group: u32) -> Vec<Vec<Entry>> {
    let mut counts: BTreeMap<ConnectionId, u32> = BTreeMap::new();
    let mut all = Vec::with_capacity(entries.len());
    for (entry, (role, connection)) in entries.iter().zip(roles(entries)) {
        let execute =
            |sql: &str| Entry::new(entry.process, Call::Execute { connection, sql: sql.into() });
        let (begin, commit) = (execute("BEGIN"), execute("COMMIT"));
        let own = entry.clone();
        let is_open = counts.contains_key(&connection);
        // Count a transaction, and return how many the group has now.
        let mut joined = || {
            let count = counts.entry(connection).or_default();
            *count += 1;
            *count
        };
        let calls = match role {
            Role::Begin if is_open => Vec::new(),
            Role::Begin => {
                counts.insert(connection, 0);
                vec![own]
            }
            Role::Commit if joined() < group => Vec::new(),
            Role::Commit | Role::Rollback => {
                counts.remove(&connection);
                vec![own]
            }
            Role::Alone => {
                let mut calls = if is_open { vec![own] } else { vec![begin, own] };
                if joined() >= group {
                    counts.remove(&connection);
                    calls.push(commit);
                }
                calls
            }
            Role::Outside if is_open => {
                counts.remove(&connection);
                vec![commit, own]
            }
            Role::Outside | Role::Inside => vec![own],
        };
        all.push(calls);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_made_one() {
        let texts =
            ["BEGIN", "INSERT", "COMMIT", "INSERT", "SELECT", "UPDATE", "PRAGMA x", "DELETE"];
        let call = |sql: &&str| Entry::new(1, Call::Execute { connection: 1, sql: (*sql).into() });
        let entries: Vec<Entry> = texts.iter().map(call).collect();
        let calls: Vec<String> = grouped(&entries, 3)
            .into_iter()
            .flatten()
            .map(|entry| match entry.call {
                Call::Execute { sql, .. } => sql.text(),
                other => panic!("{other:?}"),
            })
            .collect();
        let wanted = [
            "BEGIN", "INSERT", "INSERT", "SELECT", "UPDATE", "COMMIT", "PRAGMA x", "BEGIN",
            "DELETE",
        ];
        assert_eq!(calls, wanted);
    }
}
