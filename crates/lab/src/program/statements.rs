//! Which statements ran, how often and how long.

use std::collections::BTreeMap;

use flysch_sqlite::remote::{Began, Ended, StatementId};

use super::normal::normalised;

/// The most different statements. What comes later is counted together.
const TEXTS_MAX: usize = 200;
/// Texts whose normal form is kept, so that most need not be parsed again.
const KNOWN_MAX: usize = 4096;
const OTHERS: &str = "(other statements)";
/// What SQLite does while no statement runs: it opens, compiles and closes.
pub(super) const OUTSIDE: &str = "(outside statements)";

/// The place of a text in the list of texts.
pub(super) type Text = usize;

#[derive(Default)]
pub(super) struct Statements {
    texts: Vec<String>,
    places: BTreeMap<String, Text>,
    known: BTreeMap<Vec<u8>, Text>,
    running: BTreeMap<StatementId, (Text, u64)>,
    counts: Vec<u64>,
    /// Response time of each execution, nanoseconds.
    times_ns: Vec<u64>,
}

impl Statements {
    pub(super) fn begin(&mut self, began: &Began<'_>, now_ns: u64) -> Text {
        let text = self.text(began.text);
        self.counts[text] += 1;
        self.running.insert(began.id, (text, now_ns));
        text
    }

    /// The statement has ended. Returns its text, if it was known to run.
    pub(super) fn end(&mut self, ended: &Ended, now_ns: u64) -> Option<Text> {
        let (text, began_ns) = self.running.remove(&ended.id)?;
        self.times_ns.push(now_ns - began_ns);
        Some(text)
    }

    /// The label of what runs.
    pub(super) fn label(&self, id: StatementId) -> &str {
        let running = self.running.get(&id);
        running.map_or(OUTSIDE, |(text, _)| self.texts[*text].as_str())
    }

    /// How often each text was executed.
    pub(super) fn executions(&self) -> BTreeMap<String, u64> {
        self.texts.iter().cloned().zip(self.counts.iter().copied()).collect()
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
            self.texts.len() - 1
        });
        if self.known.len() < KNOWN_MAX {
            self.known.insert(sql.to_vec(), text);
        }
        text
    }
}
