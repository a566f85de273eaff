//! Which statements ran, how often, and how long.

use std::collections::BTreeMap;

use flysch_sqlite::remote::{Began, Ended, StatementId};

use super::normal::normalised;
use crate::contents::Writes;

/// The most different statements. Further ones are counted together.
const TEXTS_MAX: usize = 200;
/// How many texts are remembered with their normal form, so that most need not be parsed again.
const KNOWN_MAX: usize = 4096;
const OTHERS: &str = "(other statements)";
/// The label of what SQLite does while no statement runs: it opens files, compiles statements and
/// closes files.
pub(super) const OUTSIDE: &str = "(outside statements)";

/// The index of a normalised text in the list of texts.
pub(super) type Text = usize;

/// A statement that is running.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) text: Text,
    pub(super) connection: u64,
    /// Whether a transaction was open when it began.
    pub(super) in_transaction: bool,
    pub(super) began_ns: u64,
    /// Number of events when it began.
    pub(super) events: usize,
}

#[derive(Default)]
pub(super) struct Statements {
    writes: Vec<Writes>,
    texts: Vec<String>,
    places: BTreeMap<String, Text>,
    known: BTreeMap<Vec<u8>, Text>,
    running: BTreeMap<StatementId, Running>,
    counts: Vec<u64>,
    /// Response time of each execution, nanoseconds.
    times_ns: Vec<u64>,
}

impl Statements {
    pub(super) fn begin(&mut self, began: &Began<'_>, now_ns: u64, events: usize) -> Text {
        let text = self.text(began.text);
        self.counts[text] += 1;
        let Began { id, connection, in_transaction, .. } = *began;
        let running = Running { text, connection, in_transaction, began_ns: now_ns, events };
        self.running.insert(id, running);
        text
    }

    /// Note that a statement has ended. None if its begin was not seen.
    pub(super) fn end(&mut self, ended: &Ended, now_ns: u64) -> Option<Running> {
        let running = self.running.remove(&ended.id)?;
        self.times_ns.push(now_ns - running.began_ns);
        Some(running)
    }

    /// The text of a running statement, for its scope.
    pub(super) fn label(&self, id: StatementId) -> &str {
        self.running(id).map_or(OUTSIDE, |running| self.texts[running.text].as_str())
    }

    pub(super) fn running(&self, id: StatementId) -> Option<&Running> {
        self.running.get(&id)
    }

    /// Add what a running statement wrote to files.
    pub(super) fn add_writes(&mut self, id: StatementId, more: Writes) {
        if let Some(text) = self.running(id).map(|running| running.text) {
            self.writes[text].bytes += more.bytes;
            self.writes[text].syncs += more.syncs;
        }
    }

    /// Bytes written and syncs of each text.
    pub(super) fn writes(&self) -> &[Writes] {
        &self.writes
    }

    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Number of executions of each text.
    pub(super) fn executions(&self) -> &[u64] {
        &self.counts
    }

    pub(super) fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    fn text(&mut self, sql: &[u8]) -> Text {
        if let Some(text) = self.known.get(sql) {
            return *text;
        }
        let normal = normalised(&String::from_utf8_lossy(sql));
        let is_new = !self.places.contains_key(&normal);
        let normal =
            if is_new && self.texts.len() >= TEXTS_MAX { OTHERS.to_owned() } else { normal };
        let text = *self.places.entry(normal.clone()).or_insert_with(|| {
            self.texts.push(normal);
            self.counts.push(0);
            self.writes.push(Writes::default());
            self.texts.len() - 1
        });
        if self.known.len() < KNOWN_MAX {
            self.known.insert(sql.to_vec(), text);
        }
        text
    }
}
