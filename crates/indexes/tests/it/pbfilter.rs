//! `PBFilter`: the counts of its closed form, against a map, under power cuts; what it refuses.

use std::ops::ControlFlow;

use flysch_chip::{Chip, Clock, EventKind, FaultInjector, FaultPlan, Part, Prng, Recorder, Tracer};
use flysch_indexes::flash::{Flash, FlashError};
use flysch_indexes::pbfilter::{Deletions, FlushUnit, PbConfig, PbFilter};
use flysch_indexes::{ConfigError, IndexError};
use flysch_nand::{Geometry, Nand};

use crate::world::{LOST, chip, small_geometry};

fn config(geometry: &Geometry, flush: FlushUnit) -> PbConfig {
    PbConfig { flush, ..PbConfig::published(12, 20_000, geometry) }
}

fn key(number: u32) -> [u8; 12] {
    let mut key = [0; 12];
    Prng::new(u64::from(number)).fill(&mut key);
    key
}

fn find<N: Nand>(
    index: &mut PbFilter<'_>,
    flash: &mut Flash<'_, N>,
    number: u32,
) -> Result<Vec<u32>, IndexError> {
    let mut found = Vec::new();
    index.lookup(flash, &key(number), |_, pointer| {
        found.push(pointer);
        Ok::<_, IndexError>(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Programs, sectors counted as quarters, and reads of 100,000 insertions: 781 key pages, 97
/// flushes of four sectors, and six sets of 16, 32, 64, 64, 128 and 128 pages.
#[test]
fn a_load_costs_what_the_closed_form_says() {
    let part = Part::named("gemalto-vfl").unwrap();
    let geometry = part.geometry;
    for (flush, programs) in [(FlushUnit::Sector, 781 + 97 * 4 + 432), (FlushUnit::Page, 1309)] {
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "load");
        let chip = FaultInjector::new(chip(geometry).fork(clock));
        let mut table = vec![0; Flash::<FaultInjector>::ram_size(&geometry)];
        let device = Tracer::new(chip, recorder.clone());
        let mut flash = Flash::mount(device, &mut table).unwrap();
        let config = PbConfig { blocks_max: 200, ..config(&geometry, flush) };
        let mut ram = vec![0; config.ram_size(&geometry)];
        let mut index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
        let before = [EventKind::Program, EventKind::Read].map(|kind| recorder.count(kind));
        for number in 0..100_000 {
            index.insert(&mut flash, &key(number), number).unwrap();
        }
        assert_eq!(recorder.count(EventKind::Program) - before[0], programs, "{flush:?}");
        assert_eq!(recorder.count(EventKind::Read) - before[1], 400, "{flush:?}");
    }
}

#[test]
fn every_key_is_found_and_no_other() {
    let geometry = Geometry { block_count: 400, ..small_geometry() };
    for flush in [FlushUnit::Sector, FlushUnit::Page] {
        let config = config(&geometry, flush);
        let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
        let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
        let mut ram = vec![0; config.ram_size(&geometry)];
        let mut index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
        for number in 0..20_000 {
            // Every fourth key comes twice.
            index.insert(&mut flash, &key(number - number % 4 / 3), number).unwrap();
            if number % 2_777 == 0 {
                check_keys(&mut index, &mut flash, number + 1);
            }
        }
        let flushed = index.flushed();
        let device = flash.into_nand();
        let mut flash = Flash::mount(device, &mut table).unwrap();
        let mut index = PbFilter::mount(&mut flash, config, &mut ram).unwrap();
        assert_eq!(index.flushed(), flushed, "{flush:?}");
        check_keys(&mut index, &mut flash, flushed);
    }
}

fn check_keys<N: Nand>(index: &mut PbFilter<'_>, flash: &mut Flash<'_, N>, count: u32) {
    for number in (0..count).step_by(41) {
        let wanted: Vec<u32> = match number % 4 {
            3 => vec![],
            2 if number + 1 < count => vec![number, number + 1],
            _ => vec![number],
        };
        let mut found = find(index, flash, number).unwrap();
        found.sort_unstable();
        assert_eq!(found, wanted, "key {number} of {count}");
    }
    assert_eq!(find(index, flash, 1 << 30).unwrap(), []);
}

#[test]
fn no_cut_loses_a_key() {
    let geometry = Geometry { block_count: 128, ..small_geometry() };
    for flush in [FlushUnit::Sector, FlushUnit::Page] {
        let config = PbConfig { blocks_max: 120, ..config(&geometry, flush) };
        let mut cuts = 0;
        for seed in 0..250 {
            cuts += history(geometry, config, seed);
        }
        assert!(cuts > 500, "{cuts}");
    }
}

/// Load 5,000 keys while the power fails now and then; tell how often it did.
fn history(geometry: Geometry, config: PbConfig, seed: u64) -> u32 {
    let mut prng = Prng::new(seed);
    let mut device = FaultInjector::new(chip(geometry));
    let mut table = vec![0; Flash::<FaultInjector>::ram_size(&geometry)];
    let mut ram = vec![0; config.ram_size(&geometry)];
    let (mut cuts, mut flushed) = (0, 0);
    loop {
        let cut_at = (cuts < 6).then(|| 128 + prng.below(900));
        device.arm(FaultPlan { seed: prng.next(), cut_at, ..FaultPlan::default() });
        let mut flash = Flash::mount(device, &mut table).unwrap();
        let outcome = load(&mut flash, config, &mut ram, &mut flushed);
        device = flash.into_nand();
        match outcome {
            Ok(()) => return cuts,
            Err(error) => assert_eq!(error, LOST, "seed {seed}"),
        }
        device.power_up();
        cuts += 1;
    }
}

fn load<N: Nand>(
    flash: &mut Flash<'_, N>,
    config: PbConfig,
    ram: &mut [u8],
    flushed: &mut u32,
) -> Result<(), IndexError> {
    let mut index = PbFilter::mount(flash, config, ram)?;
    assert!(index.flushed() >= *flushed, "{} of {flushed} kept", index.flushed());
    for number in index.flushed()..5_000 {
        *flushed = index.flushed();
        index.insert(flash, &key(number), number)?;
    }
    for number in (0..5_000).step_by(97) {
        assert_eq!(find(&mut index, flash, number)?, [number], "key {number}");
    }
    Ok(())
}

#[test]
fn deletions_are_remembered() {
    let geometry = small_geometry();
    let keys = PbConfig { blocks_max: 60, ..config(&geometry, FlushUnit::Page) };
    let config = Deletions::config(keys);
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
    let mut ram = vec![0; config.ram_size(&geometry)];
    let index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
    let mut deletions = Deletions::new(index);
    (0..4_000).for_each(|pointer| deletions.delete(&mut flash, pointer * 3).unwrap());
    for pointer in 0..600 {
        assert_eq!(deletions.contains(&mut flash, pointer), Ok(pointer % 3 == 0), "{pointer}");
    }
}

#[test]
fn what_cannot_work_is_refused_with_what_would() {
    let geometry = small_geometry();
    let check = |geometry: Geometry, config: PbConfig, ram: usize| {
        let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
        let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
        let mut ram = vec![0; ram];
        PbFilter::create(&mut flash, config, &mut ram).map(|_| ())
    };
    let sector = config(&geometry, FlushUnit::Sector);
    let needed = sector.ram_size(&geometry);
    let refused = |error: ConfigError| Err(IndexError::Config(error));
    assert_eq!(check(geometry, sector, needed), Ok(()));
    let too_small = ConfigError::RamTooSmall { needed, given: needed - 1 };
    assert_eq!(check(geometry, sector, needed - 1), refused(too_small));
    let once = Geometry { partial_programs: 1, ..geometry };
    let partial = ConfigError::PartialPrograms { needed: 4, allowed: 1 };
    assert_eq!(check(once, sector, needed), refused(partial));
    let in_order = Geometry { in_order: true, ..geometry };
    assert_eq!(check(in_order, sector, needed), refused(ConfigError::ProgramOrder));
    let page = config(&geometry, FlushUnit::Page);
    let ordered = Geometry { in_order: true, partial_programs: 1, ..geometry };
    assert_eq!(check(ordered, page, page.ram_size(&geometry)), Ok(()));
    let long = PbConfig { key_size: 250, ..sector };
    let too_large = ConfigError::TooLarge { parameter: "key_size", max: 128, given: 250 };
    assert_eq!(check(geometry, long, 1 << 20), refused(too_large));
    let text = IndexError::Config(too_small).to_string();
    assert_eq!(text, format!("{} bytes of RAM are too few: {needed} would be enough", needed - 1));
    assert_eq!(LOST, IndexError::Flash(FlashError::PowerLost));
}
