//! The power fails at every operation of an index of runs, and again while it recovers.

use std::collections::BTreeSet;
use std::panic::catch_unwind;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Hooked, Hooks, Prng};
use flysch_indexes::IndexError;
use flysch_indexes::flash::Flash;
use flysch_indexes::runs::{Output, Pace, Runs, RunsConfig};
use flysch_nand::{Geometry, Nand, PageAddr};

use crate::world::{
    LOST, Op, apply, chip, compare, model, operations, small_config, small_geometry,
};

/// A chip, and where `is_on` is set one that says yes to commit records and drops them: to the
/// index that is the same as letting blocks go before the record is written.
type Variant = Hooked<FaultInjector, Forgetting>;

struct Forgetting {
    is_on: bool,
    dropped: BTreeSet<PageAddr>,
}

impl Hooks for Forgetting {
    fn before_program(&mut self, page: PageAddr, _: &[u8], oob: &[u8]) -> bool {
        let is_log = oob.get(1) == Some(&LOG_AREA);
        let drops = self.is_on && (is_log || oob.is_empty() && self.dropped.contains(&page));
        if drops {
            self.dropped.insert(page);
        } else {
            self.dropped.remove(&page);
        }
        !drops
    }
}

/// The area of commit records, as [`small_config`] numbers it.
const LOG_AREA: u8 = 16;

/// Operations between two checkpoints.
const STRETCH: usize = 90;

/// What is done, and what is known of it.
#[derive(Clone, Copy)]
struct Plan<'a> {
    config: RunsConfig,
    ops: &'a [Op],
    seed: u64,
    forgets: bool,
}

/// Mount, repeat what is not on flash, go on up to the last operation; then compare where the
/// history was cut.
fn go_on<N: Nand>(
    flash: &mut Flash<'_, N>,
    plan: Plan<'_>,
    ram: &mut [u8],
    flushed: &mut u32,
    story: &str,
) -> Result<(), IndexError> {
    let mut runs = Runs::mount(flash, plan.config, ram)?;
    assert!(runs.flushed() >= *flushed, "{} of {flushed} kept; {story}", runs.flushed());
    for op in &plan.ops[runs.flushed() as usize..] {
        *flushed = runs.flushed();
        apply(&mut runs, flash, *op)?;
    }
    if !story.is_empty() {
        compare(&mut runs, flash, &model(plan.ops), story)?;
    }
    Ok(())
}

/// One history: cut at `cut_at`, then at operations drawn from the seed, then not any more. Give
/// the number of cuts.
fn trial(start: &Chip, plan: Plan<'_>, cut_at: u64) -> u64 {
    let Plan { config, ops, seed, forgets } = plan;
    let RunsConfig { pace, output, filter_bits, .. } = config;
    let story = format!(
        "seed {seed}, {pace:?}, {output:?}, filter {filter_bits}, {} operations, cut at {cut_at}",
        ops.len()
    );
    let geometry = start.geometry();
    let hooks = Forgetting { is_on: forgets, dropped: BTreeSet::new() };
    let mut device = Variant { device: FaultInjector::new(start.fork(Clock::new())), hooks };
    let mut prng = Prng::new(seed ^ cut_at);
    let mut table = vec![0; Flash::<Variant>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flushed = 0;
    let mut cuts = 0;
    let mut next = Some(cut_at);
    loop {
        device.device.arm(FaultPlan { seed: prng.next(), cut_at: next, ..FaultPlan::default() });
        let mut flash = Flash::mount(device, &mut table).expect("cuts come after the marks");
        let shown = if cuts > 0 { story.as_str() } else { "" };
        let outcome = go_on(&mut flash, plan, &mut ram, &mut flushed, shown);
        device = flash.into_nand();
        match outcome {
            Ok(()) => return cuts,
            Err(error) => assert_eq!(error, LOST, "{story}"),
        }
        device.device.power_up();
        cuts += 1;
        next = (cuts < 3).then(|| MARKS + prng.below(700));
    }
}

/// The marks of all blocks are read first: no cut there changes anything.
const MARKS: u64 = 28;

/// Cut at every `step`th operation of so many stretches; give the number of cuts.
fn check(config: RunsConfig, seed: u64, step: u64) -> u64 {
    // So few blocks that each is soon taken again.
    let few = Geometry { block_count: MARKS as u32, ..small_geometry() };
    let geometry = match config.output {
        Output::Page => few,
        Output::Sector => Geometry { page_size: 4096, ..few },
    };
    let ops = operations(seed, STRETCH * STRETCHES);
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
    Runs::create(&mut flash, config, &mut ram).unwrap();
    let mut start = flash.into_nand();
    let mut total = 0;
    for stretch in 1..=STRETCHES {
        let plan = Plan { config, ops: &ops[..STRETCH * stretch], seed, forgets: false };
        let mut cut_at = MARKS + seed % step;
        loop {
            let cuts = trial(&start, plan, cut_at);
            total += cuts;
            if cuts == 0 {
                break;
            }
            cut_at += step;
        }
        let mut flash = Flash::mount(start, &mut table).unwrap();
        go_on(&mut flash, plan, &mut ram, &mut 0, "").unwrap();
        start = flash.into_nand();
    }
    total
}

const STRETCHES: usize = 12;

#[test]
fn no_cut_loses_a_key() {
    let mut cuts = 0;
    cuts += check(small_config(Pace::Spread, Output::Page, 0), 1, 2);
    cuts += check(small_config(Pace::Synchronous, Output::Page, 0), 2, 2);
    cuts += check(small_config(Pace::Spread, Output::Sector, 0), 3, 3);
    cuts += check(small_config(Pace::Spread, Output::Page, 6), 4, 3);
    assert!(cuts >= 10_000, "{cuts}");
}

/// Histories long enough that each block is taken several times, cut late.
fn long_histories(forgets: bool) {
    let config = small_config(Pace::Spread, Output::Page, 0);
    let geometry = Geometry { block_count: MARKS as u32, ..small_geometry() };
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
    Runs::create(&mut flash, config, &mut ram).unwrap();
    let start = flash.into_nand();
    let ops = operations(5, 4_000);
    let plan = Plan { config, ops: &ops, seed: 5, forgets };
    let cuts: u64 = (100..1_500).step_by(19).map(|cut_at| trial(&start, plan, cut_at)).sum();
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn an_index_that_lets_go_too_early_is_caught() {
    long_histories(false);
    let outcome = catch_unwind(|| long_histories(true));
    assert!(outcome.is_err(), "dropped commit records went unnoticed");
}
