//! Power cuts at every operation, and again during recovery. Completed writes must stay, and the
//! write under way must be old or new.

use flysch_chip::{Change, Changes, Chip, Clock, Ending, FaultInjector, FaultPlan, Prng, Shared};
use flysch_linux::block_device::BlockError;
use flysch_linux::ftl::{FtlError, FtlOptions};

use super::{Device, LOG_BLOCK, MAPPINGS, Model, PAGE_MAP, attach, chip, shape};

/// Number of writes in a run.
const WRITES: u32 = 12;

/// Run until the writes are done or power is lost. Returns whether it was lost.
fn run(device: &Device, shape: FtlOptions, model: &mut Model, prng: &mut Prng) -> bool {
    let outcome = attach(device, shape).map_err(|error| match error {
        FtlError::PowerLost => BlockError::PowerLost,
        other => panic!("mount: {other}"),
    });
    let outcome = outcome.and_then(|mut ftl| {
        model.check(&mut *ftl)?;
        (0..WRITES).try_for_each(|_| model.write(&mut *ftl, prng))
    });
    match outcome {
        Ok(()) => false,
        Err(BlockError::PowerLost) => true,
        Err(other) => panic!("{other}"),
    }
}

/// A chip after many writes, and the model of what it holds.
fn aged(shape: FtlOptions, writes: u32) -> (Chip, Model) {
    aged_with(4, shape, writes)
}

fn aged_with(pages: u32, shape: FtlOptions, writes: u32) -> (Chip, Model) {
    let device = Shared::new(FaultInjector::new(chip(shape.block_count, pages)));
    let mut ftl = attach(&device, shape).unwrap();
    let mut model = Model::of(&*ftl);
    let mut prng = Prng::new(u64::from(writes));
    for _ in 0..writes {
        model.write(&mut *ftl, &mut prng).unwrap();
    }
    let chip = device.borrow().chip().fork(Clock::new());
    (chip, model)
}

/// Cut power at operation `cut_at`, then some more times at random, and then not again.
fn check(start: &(Chip, Model), shape: FtlOptions, cut_at: u64, ending: Ending) -> bool {
    let device = Shared::new(FaultInjector::new(start.0.fork(Clock::new())));
    let mut model = start.1.clone();
    let mut prng = Prng::new(3);
    let mut chance = Prng::new(cut_at);
    let plan = |cut_at, ending| FaultPlan { seed: 5, cut_at, ending, ..FaultPlan::default() };
    device.borrow_mut().arm(plan(Some(cut_at), Some(ending)));
    let is_cut = run(&device, shape, &mut model, &mut prng);
    for _ in 0..4 {
        device.borrow_mut().power_up();
        device.borrow_mut().arm(plan(Some(chance.below(260)), None));
        run(&device, shape, &mut model, &mut prng);
    }
    device.borrow_mut().power_up();
    device.borrow_mut().arm(FaultPlan::default());
    assert!(!run(&device, shape, &mut model, &mut prng), "no cut is planned");
    is_cut
}

#[test]
fn no_cut_loses_what_was_written() {
    for (mapping, writes) in MAPPINGS.into_iter().flat_map(|m| [(m, 0), (m, 100), (m, 233)]) {
        let shape = shape(14, 512, mapping);
        let start = aged(shape, writes);
        for ending in Ending::ALL {
            let mut cut_at = 0;
            while check(&start, shape, cut_at, ending) {
                cut_at += 1;
            }
            assert!(cut_at > 50, "{mapping:?}: {cut_at} operations only");
        }
    }
}

/// Even if many mounts are cut, the spare blocks do not run out.
#[test]
fn cuts_soon_after_each_other_use_nothing_up() {
    for mapping in [PAGE_MAP, LOG_BLOCK] {
        let shape = shape(14, 512, mapping);
        let (chip, mut model) = aged(shape, 300);
        let device = Shared::new(FaultInjector::new(chip));
        let mut prng = Prng::new(9);
        let mut chance = Prng::new(10);
        for seed in 0..400 {
            let cut_at = Some(90 + chance.below(60));
            device.borrow_mut().power_up();
            device.borrow_mut().arm(FaultPlan { seed, cut_at, ..FaultPlan::default() });
            run(&device, shape, &mut model, &mut prng);
        }
    }
}

/// Programs fail between the cuts. What a merge or a collection had copied to a block that then
/// failed is still where it came from.
#[test]
fn cuts_among_failures_lose_nothing() {
    for mapping in MAPPINGS {
        let shape = FtlOptions { spare_blocks: 16, ..shape(32, 512, mapping) };
        for seed in 0..60 {
            let device = Shared::new(FaultInjector::new(chip(32, 4)));
            let mut model = Model::of(&*attach(&device, shape).unwrap());
            let mut prng = Prng::new(seed);
            for life in 0..8 {
                let plan = FaultPlan {
                    seed: 10 * seed + life,
                    cut_at: Some(150 + prng.below(200)),
                    program_failures_ppm: 12_000,
                    ..FaultPlan::default()
                };
                device.borrow_mut().arm(plan);
                run(&device, shape, &mut model, &mut prng);
                device.borrow_mut().power_up();
            }
        }
    }
}

/// Mounts are cut again and again, each a little earlier than the one before: none of them leaves a
/// block in use.
#[test]
fn mounts_cut_ever_earlier_use_nothing_up() {
    for (mapping, writes) in MAPPINGS.into_iter().flat_map(|it| [60, 150, 240].map(|n| (it, n))) {
        let shape = shape(14, 512, mapping);
        let (chip, mut model) = aged_with(16, shape, writes);
        let device = Shared::new(FaultInjector::new(chip));
        let mut prng = Prng::new(9);
        for cut in (3..60).rev() {
            let (cut_at_change, ending) = (Some(cut), Some(Ending::Complete));
            device.borrow_mut().arm(FaultPlan { cut_at_change, ending, ..FaultPlan::default() });
            run(&device, shape, &mut model, &mut prng);
            device.borrow_mut().power_up();
        }
        device.borrow_mut().arm(FaultPlan::default());
        assert!(!run(&device, shape, &mut model, &mut prng), "{mapping:?}: no cut is planned");
    }
}

/// A program fails, and the power goes a little later: at each program, and each of the changes
/// behind it.
#[test]
fn a_cut_behind_a_failed_program_loses_nothing() {
    for (mapping, writes) in [(LOG_BLOCK, 100), (LOG_BLOCK, 233), (PAGE_MAP, 233)] {
        let shape = shape(14, 512, mapping);
        let start = aged(shape, writes);
        let whole = Shared::new(FaultInjector::new(start.0.fork(Clock::new())));
        let changes = Changes::default();
        whole.borrow_mut().keep_changes(changes.clone());
        run(&whole, shape, &mut start.1.clone(), &mut Prng::new(3));
        let programs = (0..).zip(changes.take()).filter_map(|(at, change)| match change {
            Change::Program { page, .. } => Some((at, page)),
            _ => None,
        });
        for (at, page) in programs {
            for cut in at + 1..at + 8 {
                let device = Shared::new(FaultInjector::new(start.0.fork(Clock::new())));
                let mut model = start.1.clone();
                let mut prng = Prng::new(3);
                let plan = FaultPlan {
                    cut_at_change: Some(cut),
                    ending: Some(Ending::Complete),
                    failing_pages: [page].into(),
                    ..FaultPlan::default()
                };
                device.borrow_mut().arm(plan);
                run(&device, shape, &mut model, &mut prng);
                device.borrow_mut().power_up();
                device.borrow_mut().arm(FaultPlan::default());
                assert!(!run(&device, shape, &mut model, &mut prng), "no cut is planned");
            }
        }
    }
}
