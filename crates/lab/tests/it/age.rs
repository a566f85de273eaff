//! Tests of the age of a device and of the options of layers: the stack must get what was asked
//! for.

use std::sync::Arc;

use flysch_lab::bench::RunError;
use flysch_lab::bench::grid::{Axes, Grid, run_all};
use flysch_lab::bench::run::Run;
use flysch_lab::machine::age::AgeError;
use flysch_lab::machine::layers::FtlKind;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Journals, Stack};
use flysch_lab::workload::Micro;
use flysch_lab::{Maker, Profile};

const ON_FLASH: [Stack; 4] = [Stack::JFFS2, Stack::YAFFS2, Stack::UBIFS, Stack::FTL];

fn grid(stack: Stack) -> Grid {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let mut grid = Grid::new(Micro::Update, stack, platform);
    grid.axes.partition_blocks = vec![100];
    grid.axes.requests = vec![300];
    grid.axes.fills = vec![500];
    grid
}

fn runs(grid: &Grid) -> Vec<Run> {
    run_all(&grid.scenarios(), || ()).into_iter().map(Result::unwrap).collect()
}

/// On a device that is nearly full and holds dead data, garbage is collected during the interval.
#[test]
fn an_aged_device_costs_more() {
    for stack in ON_FLASH {
        let mut grid = grid(stack);
        // UBIFS reserves a larger part of such a small partition for itself.
        let fill = if stack == Stack::UBIFS { 32 } else { 60 };
        grid.axes.aged_fills = vec![0, fill];
        grid.axes.aged_invalids = vec![0, 35];
        let [new, _, _, old] = &runs(&grid)[..] else { panic!("four runs") };
        let title = stack.name();
        assert_eq!(old.inputs.parameters["aged-fill"], fill.into(), "{title}");
        assert_eq!(old.inputs.parameters["aged-invalid"], 35.into(), "{title}");
        let operations = |run: &Run| {
            run.operations.page_reads + run.operations.page_programs + run.operations.block_erases
        };
        let (young, aged) = (operations(new), operations(old));
        assert!(aged * 10 > young * 11, "{title}: {young} operations, aged {aged}");
        assert!(old.time_ns > new.time_ns, "{title}");
        assert_eq!(runs(&grid)[3].erase_counts, old.erase_counts, "{title}: again the same");
    }
}

#[test]
fn worn_blocks_are_worn_by_seed_and_the_layers_know() {
    for stack in ON_FLASH {
        let mut grid = grid(stack);
        grid.axes.aged_erases = vec![500];
        grid.axes.seeds = vec![1, 2];
        let [first, second] = &runs(&grid)[..] else { panic!("two runs") };
        let title = stack.name();
        assert!(first.wear.max_erase_count > 450, "{title}");
        assert!(first.wear.min_erase_count < 50, "{title}");
        assert_ne!(first.erase_counts, second.erase_counts, "{title}");
    }
    // The translation layer levels existing wear; UBI does so above its threshold.
    let mut grid = grid(Stack::FTL);
    grid.axes.aged_erases = vec![0, 500];
    let [new, worn] = &runs(&grid)[..] else { panic!("two runs") };
    assert!(worn.operations.block_erases > new.operations.block_erases);
    let mut grid = self::grid(Stack::UBIFS);
    grid.axes.aged_invalids = vec![60];
    grid.axes.aged_erases = vec![500];
    grid.axes.ubi_wear_thresholds = vec![100, 4096];
    let [level, steep] = &runs(&grid)[..] else { panic!("two runs") };
    assert!(level.erase_counts.iter().sum::<u32>() > steep.erase_counts.iter().sum::<u32>());
}

#[test]
fn what_does_not_fit_is_said() {
    for stack in ON_FLASH {
        let mut grid = grid(stack);
        grid.axes.aged_fills = vec![100];
        let outcome = grid.scenarios()[0].run();
        let Err(RunError::Age(AgeError::Fill { percent, .. })) = outcome else {
            panic!("{}: {outcome:?}", stack.name())
        };
        grid.axes.aged_fills = vec![u32::try_from(percent).unwrap() - 15];
        assert_eq!(runs(&grid).len(), 1, "{}: some less than {percent} % leave room", stack.name());
    }
}

/// Each option changes the figures of its own stack, and does not multiply the runs of others.
#[test]
fn options_mean_something_to_their_stacks() {
    let plain = grid(Stack::JFFS2).axes;
    let axes = Axes {
        yaffs2_profiles: vec![Profile::Y2009, Profile::Today],
        ubifs_makers: vec![Maker::Mount, Maker::Mkfs],
        ftls: vec![FtlKind::Page, FtlKind::LogBlock],
        ftl_spares: vec![8, 30],
        aged_fills: vec![20],
        aged_invalids: vec![60],
        ..plain
    };
    for (stack, count) in [
        (Stack::JFFS2, 1),
        (Stack::YAFFS2, 2),
        (Stack::UBIFS, 2),
        (Stack::FTL, 4),
        (Stack::TMPFS, 1),
    ] {
        let mut grid = grid(stack);
        grid.axes = axes.clone();
        assert_eq!(grid.run_count(), count, "{}", stack.name());
        let runs = runs(&grid);
        let times: std::collections::BTreeSet<u64> = runs.iter().map(|run| run.time_ns).collect();
        assert_eq!(times.len() as u64, count, "{}: each is another run", stack.name());
    }
}

/// Checks the exact number of updates whose journal fits. A journal has a header of 512 bytes, then
/// for each update its page of 1024 bytes and 8 more. Of 128 KiB of PRAM, PRAMFS takes 512 bytes,
/// 256 inodes of 128 bytes, and one block for its bitmap. The journal's pointers take two blocks.
/// So the journal of 88 updates fits, and that of 89 does not.
#[test]
fn journals_get_as_much_pram_as_is_asked_for() {
    let mut grid = grid(Stack::YAFFS2.with(Journals::Pramfs));
    grid.axes.pram_sizes = vec![128];
    let blocks = ((128 << 10) - 512 - 256 * 128) / 2048;
    let updates = ((blocks - 2) * 2048 - 512) / (1024 + 8);
    let outcome = grid.scenarios()[0].run().map(drop).expect_err("it is full").to_string();
    let wanted = format!("at request {} of 300: SQLITE_FULL", updates + 1);
    assert!(outcome.contains(&wanted), "{outcome}");
    grid.axes.pram_sizes = vec![360, 1024];
    let runs = runs(&grid);
    let sizes = [0, 1].map(|place: usize| runs[place].inputs.parameters["pram-size"].to_string());
    assert_eq!(sizes, ["360", "1024"]);
    assert_eq!(runs[0].operations.page_programs, runs[1].operations.page_programs);
}
