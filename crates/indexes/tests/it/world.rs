//! Small chips, and what an index ought to know.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_indexes::IndexError;
use flysch_indexes::flash::{Flash, FlashError};
use flysch_indexes::runs::{Output, Pace, Runs, RunsConfig};
use flysch_nand::{Geometry, Nand};

/// A chip of 96 blocks of eight pages of 1 KiB.
pub(crate) fn small_geometry() -> Geometry {
    let part = Part::named("gemalto-vfl").unwrap();
    Geometry { page_size: 1024, pages_per_block: 8, block_count: 96, ..part.geometry }
}

pub(crate) fn chip(geometry: Geometry) -> Chip {
    let part = Part { geometry, ..Part::named("gemalto-vfl").unwrap() };
    Chip::new(Arc::new(part), Clock::new(), 1)
}

/// Runs so small that a few hundred entries reach the last level.
pub(crate) fn small_config(pace: Pace, output: Output, filter_bits: u8) -> RunsConfig {
    RunsConfig {
        first_area: 16,
        seed: 5,
        hash_bits: 28,
        pointer_bits: 16,
        levels: 2,
        filter_bits,
        fan: 2,
        recents_max: 120,
        fill_percent: 90,
        memtable_size: 30 * 6,
        bloom_size: 64,
        window_size: 32 * 20,
        blocks_max: 80,
        pace,
        // A record of a sector would not hold enough runs.
        output,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Insert(u32, u32),
    Delete(u32, u32),
}

/// Inserts, a fifth of them of keys that are there already, and deletes of what was inserted.
pub(crate) fn operations(seed: u64, count: usize) -> Vec<Op> {
    let mut prng = Prng::new(seed);
    let mut live: Vec<(u32, u32)> = Vec::new();
    let mut ops = Vec::new();
    for pointer in 0..count as u32 {
        let draw = prng.below(10);
        if draw < 2 && !live.is_empty() {
            let (key, pointer) = live.swap_remove(prng.below(live.len() as u64) as usize);
            ops.push(Op::Delete(key, pointer));
            continue;
        }
        let key = if draw < 4 { prng.below(40) as u32 } else { prng.next() as u32 >> 1 };
        live.push((key, pointer));
        ops.push(Op::Insert(key, pointer));
    }
    ops
}

/// What is live after some operations.
pub(crate) fn model(ops: &[Op]) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut map: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for op in ops {
        match *op {
            Op::Insert(key, pointer) => {
                map.entry(key).or_default().insert(pointer);
            }
            Op::Delete(key, pointer) => {
                map.get_mut(&key).unwrap().remove(&pointer);
            }
        }
    }
    map
}

pub(crate) fn apply<N: Nand>(
    runs: &mut Runs<'_>,
    flash: &mut Flash<'_, N>,
    op: Op,
) -> Result<(), IndexError> {
    match op {
        Op::Insert(key, pointer) => runs.insert(flash, &key.to_le_bytes(), pointer),
        Op::Delete(key, pointer) => runs.delete(flash, &key.to_le_bytes(), pointer),
    }
}

/// The pointers of a key, in the order they are given.
pub(crate) fn pointers<N: Nand>(
    runs: &mut Runs<'_>,
    flash: &mut Flash<'_, N>,
    key: u32,
) -> Result<Vec<u32>, IndexError> {
    let mut found = Vec::new();
    runs.lookup(flash, &key.to_le_bytes(), |_, pointer| {
        found.push(pointer);
        Ok::<_, IndexError>(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Panic unless the index knows what the model knows, and nothing else.
pub(crate) fn compare<N: Nand>(
    runs: &mut Runs<'_>,
    flash: &mut Flash<'_, N>,
    model: &BTreeMap<u32, BTreeSet<u32>>,
    story: &str,
) -> Result<(), IndexError> {
    for (key, wanted) in model {
        let mut found = pointers(runs, flash, *key)?;
        found.sort_unstable();
        assert!(found.iter().eq(wanted), "key {key}: {found:?}, not {wanted:?}; {story}");
    }
    for absent in (1_u32 << 31..).take(20) {
        assert_eq!(pointers(runs, flash, absent)?, [], "absent key; {story}");
    }
    Ok(())
}

pub(crate) const LOST: IndexError = IndexError::Flash(FlashError::PowerLost);
