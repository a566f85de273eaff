//! How far down a merge goes: the level whose capacity holds all that is above it.

use super::config::RunsConfig;
use super::run::{LEVEL, Run};
use flysch::store::log2;

/// The level into which everything recent is merged, with all levels above it, after `keys` keys.
///
/// With `k` levels level `i` holds up to `recents * (keys / recents)^((i + 1) / k)` entries, so
/// that every level is the same factor larger than the one above, whatever the number of keys.
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
