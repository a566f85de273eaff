//! Wear after many overwrites of half of a partition that also holds data that never changes.

use std::sync::Arc;

use flysch_lab::bench::grid::Grid;
use flysch_lab::bench::run::Wear;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_lab::workload::Workload;

/// The wear of the partition after this many overwrites. Files that never change fill the first
/// `aged_fill` percent of it.
fn wear(main: Main, blocks: u32, aged_fill: u32, requests: u32, ubi_threshold: u64) -> Wear {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let stack = Stack { engine: Engine::File, main, journals: None };
    let mut grid = Grid::new(Workload::Overwrite, stack, platform);
    grid.axes.partition_blocks = vec![blocks];
    grid.axes.requests = vec![requests];
    grid.axes.aged_fills = vec![aged_fill];
    grid.axes.ubi_wear_thresholds = vec![ubi_threshold];
    let run = grid.scenarios()[0].run().unwrap();
    assert_eq!(run.bytes, u64::from(requests) * u64::from(blocks) / 2 * 128 * 1024);
    assert!(run.wear.mean_erase_count > 30.0, "{:?}", run.wear);
    assert!(run.wear.max_over_mean >= 1.0, "{:?}", run.wear);
    run.wear
}

#[test]
fn a_translation_layer_wears_evenly() {
    let wear = wear(Main::Ftl, 40, 20, 100, 4096);
    assert!(wear.max_over_mean <= 1.10, "{wear:?}");
}

/// JFFS2 and YAFFS2 promise no bound, so this only checks that their figures are reported.
#[test]
fn file_systems_without_wear_levelling_tell_their_wear() {
    for main in [Main::Jffs2, Main::Yaffs2] {
        wear(main, 40, 20, 100, 4096);
    }
}

/// The kernel lets erase counts of free blocks differ by twice the threshold (`WL_FREE_MAX_DIFF`).
#[test]
fn ubi_keeps_erase_counts_within_its_threshold() {
    let threshold = 4;
    let [level, left] = [threshold, 4096].map(|bound| wear(Main::Ubifs, 136, 2, 50, bound));
    let spread = |wear: &Wear| u64::from(wear.max_erase_count - wear.min_erase_count);
    assert!(spread(&level) <= 2 * threshold + 3, "{level:?}");
    assert!(spread(&level) < spread(&left), "{level:?} {left:?}");
}
