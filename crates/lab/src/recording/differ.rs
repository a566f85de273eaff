//! Finds where two runs of the same calls differ: in their results, or in what they wrote.

use flysch_sqlite::calls::{Call, Entry};
use serde::Serialize;

use super::Recording;

/// A call that had another result, or changed files in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The number of the call, counted from 1.
    pub call: usize,
    /// A description of the call.
    pub what: String,
    pub recorded_code: i32,
    pub code: i32,
    /// Number of writes, truncations and syncs.
    pub recorded_changes: u32,
    pub changes: u32,
}

/// Compare the calls of a recording with those of a replay.
pub fn differences(recording: &Recording, replayed: &[Entry]) -> Vec<Difference> {
    let pairs = recording.entries.iter().zip(replayed).enumerate();
    let differing = pairs.filter(|(_, (one, other))| {
        // When a process ends, its files are closed. SQLite is not involved, so the result does not
        // count.
        let is_end = one.call == Call::End;
        !is_end && (one.code != other.code || one.changes != other.changes)
    });
    differing
        .map(|(call, (one, other))| Difference {
            call: call + 1,
            what: recording.describe(call),
            recorded_code: one.code,
            code: other.code,
            recorded_changes: one.changes.count,
            changes: other.changes.count,
        })
        .collect()
}
