//! Wear after a hundred overwrites of half of a partition, beside data that never change.

use std::sync::Arc;

use flysch_lab::grid::Grid;
use flysch_lab::platform::Platform;
use flysch_lab::run::Wear;
use flysch_lab::stack::{Engine, Main, Stack};
use flysch_lab::workload::Workload;

/// Wear on a partition of 100 blocks, a fifth of which other files take.
fn wear(main: Main, ubi_wear_threshold: u64) -> Wear {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let stack = Stack { engine: Engine::File, main, journals: None };
    let mut grid = Grid::new(Workload::Overwrite, stack, platform);
    grid.partition_blocks = vec![100];
    grid.requests = vec![100];
    grid.aged_fills = vec![20];
    grid.layers.ubi_wear_thresholds = vec![ubi_wear_threshold];
    let run = grid.scenarios()[0].run().unwrap();
    assert_eq!(run.bytes, 100 * 50 * 128 * 1024);
    run.wear
}

/// Without a bound for JFFS2 and YAFFS2, which promise none, but for what spreads at all.
#[test]
fn wear_is_as_level_as_each_stack_promises() {
    let threshold = 16;
    let [jffs2, yaffs2, ubifs, ftl, level] = [
        wear(Main::Jffs2, 4096),
        wear(Main::Yaffs2, 4096),
        wear(Main::Ubifs, 4096),
        wear(Main::Ftl, 4096),
        wear(Main::Ubifs, threshold),
    ];
    for wear in [jffs2, yaffs2, ubifs, ftl, level] {
        assert!(wear.mean_erase_count > 30.0, "{wear:?}");
        assert!(wear.max_over_mean >= 1.0, "{wear:?}");
    }
    assert!(ftl.max_over_mean <= 1.10, "{ftl:?}");
    let spread = |wear: Wear| u64::from(wear.max_erase_count - wear.min_erase_count);
    assert!(spread(ubifs) <= 4096, "{ubifs:?}");
    // The kernel lets free blocks differ by twice the threshold (`WL_FREE_MAX_DIFF`).
    assert!(spread(level) <= 2 * threshold + 3, "{level:?}");
    assert!(spread(level) < spread(ubifs), "{level:?} {ubifs:?}");
}
