//! The power fails at every operation of an index of runs, and again while it recovers.

use flysch::flash::Flash;
use flysch::index::IndexError;
use flysch::index::runs::{Output, Pace, Runs, RunsConfig};
use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Prng};
use flysch_nand::Nand;

use crate::world::{
    LOST, Op, apply, chip, compare, model, operations, small_config, small_geometry,
};

/// Operations between two checkpoints.
const STRETCH: usize = 90;

/// Mount, repeat what is not on flash, go on up to the last of `ops`; tell what was on flash.
fn go_on<N: Nand>(
    flash: &mut Flash<'_, N>,
    config: RunsConfig,
    ram: &mut [u8],
    ops: &[Op],
    flushed: &mut u32,
    verify: bool,
    story: &str,
) -> Result<(), IndexError> {
    let mut runs = Runs::mount(flash, config, ram)?;
    assert!(runs.flushed() >= *flushed, "{} of {flushed} kept; {story}", runs.flushed());
    for op in &ops[runs.flushed() as usize..] {
        *flushed = runs.flushed();
        apply(&mut runs, flash, *op)?;
    }
    if verify {
        compare(&mut runs, flash, &model(ops), story)?;
    }
    Ok(())
}

/// One history: cut at `cut_at`, then at operations drawn from the seed, then not any more.
fn trial(start: &Chip, config: RunsConfig, ops: &[Op], cut_at: u64, seed: u64) -> (u64, bool) {
    let story = format!(
        "seed {seed}, {:?}, {:?}, {} ops, cut at {cut_at}",
        config.pace,
        config.output,
        ops.len()
    );
    let geometry = start.geometry();
    let mut device = FaultInjector::new(start.fork(Clock::new()));
    let mut prng = Prng::new(seed ^ cut_at);
    let mut table = vec![0; Flash::<FaultInjector>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flushed = 0;
    let mut cuts = 0;
    let mut next = Some(cut_at);
    loop {
        device.arm(FaultPlan { seed: prng.next(), cut_at: next, ..FaultPlan::default() });
        let mut flash = match Flash::mount(device, &mut table) {
            Ok(flash) => flash,
            Err(error) => {
                assert_eq!(IndexError::Flash(error), LOST);
                unreachable!("marks are read before the index is")
            }
        };
        let outcome = go_on(&mut flash, config, &mut ram, ops, &mut flushed, cuts > 0, &story);
        device = flash.into_nand();
        match outcome {
            Ok(()) => return (cuts, cuts > 0),
            Err(error) => assert_eq!(error, LOST, "{story}"),
        }
        device.power_up();
        cuts += 1;
        next = (cuts < 3).then(|| 96 + prng.below(700));
    }
}

fn check(
    pace: Pace,
    output: Output,
    filter_bits: u8,
    seed: u64,
    stretches: usize,
    step: u64,
) -> u64 {
    let config = small_config(pace, output, filter_bits);
    let geometry = match output {
        Output::Page => small_geometry(),
        Output::Sector => flysch_nand::Geometry { page_size: 4096, ..small_geometry() },
    };
    let ops = operations(seed, STRETCH * stretches);
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
    Runs::create(&mut flash, config, &mut ram).unwrap();
    let mut start = flash.into_nand();
    let mut total = 0;
    for stretch in 1..=stretches {
        let ops = &ops[..STRETCH * stretch];
        // The marks of all blocks are read first: no cut there changes anything.
        let mut cut_at = 96 + seed % step;
        loop {
            let (cuts, was_cut) = trial(&start, config, ops, cut_at, seed);
            total += cuts;
            if !was_cut {
                break;
            }
            cut_at += step;
        }
        let mut flash = Flash::mount(start, &mut table).unwrap();
        go_on(&mut flash, config, &mut ram, ops, &mut 0, false, "uncut").unwrap();
        start = flash.into_nand();
    }
    total
}

#[test]
fn no_cut_loses_a_key() {
    let mut cuts = 0;
    cuts += check(Pace::Spread, Output::Page, 0, 1, 12, 5);
    cuts += check(Pace::Synchronous, Output::Page, 0, 2, 12, 5);
    cuts += check(Pace::Spread, Output::Sector, 0, 3, 12, 7);
    cuts += check(Pace::Spread, Output::Page, 6, 4, 12, 7);
    assert!(cuts > 5_000, "{cuts}");
    println!("{cuts} cuts");
}
