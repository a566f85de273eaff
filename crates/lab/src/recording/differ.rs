//! Where two runs of the same calls differ: in their results, and in what they wrote.

use flysch_sqlite::calls::{Call, Entry};
use serde::Serialize;

use super::Recording;

/// A call that ended in another way, or wrote something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The place of the call, from 0.
    pub call: usize,
    /// The call, for people.
    pub what: String,
    pub recorded_code: i32,
    pub code: i32,
    /// Writes, truncations and syncs.
    pub recorded_changes: u32,
    pub changes: u32,
}

/// Compare the calls of a recording with those of a replay.
pub fn differences(recording: &Recording, replayed: &[Entry]) -> Vec<Difference> {
    let pairs = recording.entries.iter().zip(replayed).enumerate();
    let differing = pairs.filter(|(_, (one, other))| {
        // A process that ends closes its files, and SQLite is no more in it.
        let is_end = one.call == Call::End;
        !is_end && (one.code != other.code || one.changes != other.changes)
    });
    differing
        .map(|(call, (one, other))| Difference {
            call,
            what: recording.describe(call),
            recorded_code: one.code,
            code: other.code,
            recorded_changes: one.changes.count,
            changes: other.changes.count,
        })
        .collect()
}
