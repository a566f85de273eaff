//! Chooses the target of a merge: the first level that is large enough for everything above it.

use super::config::RunsConfig;
use super::run::{LEVEL, Run};
use flysch::store::log2;

/// The level into which all recent runs are merged, together with all levels above it, after `keys`
/// insertions.
///
/// With `k` levels, level `i` may hold up to `recents * (keys / recents)^((i + 1) / k)` entries. So
/// every level is larger than the one above by the same factor, for any number of keys.
pub(super) fn target_level(runs: &[Run], config: &RunsConfig, keys: u32) -> u8 {
    let recent = runs.iter().filter(|run| run.is_recent());
    let mut total: u32 = recent.map(|run| run.count).sum();
    let recents = log2(config.recents_max.max(1));
    let growth = log2(keys.max(1)).saturating_sub(recents);
    for level in 0..config.levels - 1 {
        let here = runs.iter().filter(|run| run.place == LEVEL + level);
        total += here.map(|run| run.count).sum::<u32>();
        let share = growth * (u32::from(level) + 1) / u32::from(config.levels);
        if log2(total) <= recents + share {
            return level;
        }
    }
    config.levels - 1
}
