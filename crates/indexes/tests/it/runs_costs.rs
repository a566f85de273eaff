//! What an index of runs costs: exact counts, duplicates, deletions; what it refuses.

use flysch_chip::{Chip, Clock, EventKind, Part, Recorder, Tracer};
use flysch_indexes::flash::Flash;
use flysch_indexes::runs::{Output, Pace, Runs, RunsConfig};
use flysch_indexes::{ConfigError, IndexError};
use flysch_nand::Geometry;

use crate::world::{chip, pointers};

fn geometry() -> Geometry {
    Part::named("gemalto-vfl").unwrap().geometry
}

/// Reads to find all pointers of a key that has `copies` of them among 20,000 entries, and those of
/// its neighbours that have one.
fn reads_of_duplicates(copies: u32) -> (u64, u64) {
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "lookup");
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry())];
    let device = Tracer::new(chip(geometry()).fork(clock), recorder.clone());
    let mut flash = Flash::mount(device, &mut table).unwrap();
    let config = RunsConfig::for_keys(20_000, 12_600, &geometry()).unwrap();
    let mut ram = vec![0; config.ram_size(&geometry())];
    let mut runs = Runs::create(&mut flash, config, &mut ram).unwrap();
    for number in 0..20_000_u32 {
        let key = if number < copies { 0 } else { number };
        runs.insert(&mut flash, &key.to_le_bytes(), number).unwrap();
    }
    runs.settle(&mut flash).unwrap();
    let before = recorder.count(EventKind::Read);
    assert_eq!(pointers(&mut runs, &mut flash, 0).unwrap().len() as u32, copies);
    let of_key = recorder.count(EventKind::Read) - before;
    let before = recorder.count(EventKind::Read);
    for key in 19_000..20_000 {
        assert_eq!(pointers(&mut runs, &mut flash, key).unwrap(), [key]);
    }
    (of_key, recorder.count(EventKind::Read) - before)
}

/// Pointers are given 16 at a time, and each time their unit is read. So many equal hashes push the
/// entries behind them out of their places; at a fill of 92 % the way back is long, and each lookup
/// behind them leaps: seven reads more.
#[test]
fn duplicates_cost_a_read_for_sixteen_and_their_neighbours_a_leap() {
    let costs = [1, 16, 300, 4_000].map(reads_of_duplicates);
    assert_eq!(costs.map(|(of_key, _)| of_key), [1, 2, 21, 283]);
    assert_eq!(costs.map(|(_, of_others)| of_others), [5063, 5064, 5458, 12_099]);
}

#[test]
fn what_cannot_work_is_refused_with_what_would() {
    let geometry = geometry();
    let small = |ram| RunsConfig::for_keys(10_000, ram, &geometry);
    let Err(ConfigError::RamTooSmall { needed, .. }) = small(500) else {
        panic!("500 bytes are too few")
    };
    assert!(small(needed).is_ok(), "{:?}", small(needed));
    let config = small(4_000).unwrap();
    assert_eq!((config.output, config.pace), (Output::Sector, Pace::Spread));
    let create = |config: RunsConfig, geometry: Geometry, ram: usize| {
        let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
        let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
        let mut ram = vec![0; ram];
        Runs::create(&mut flash, config, &mut ram).map(|_| ())
    };
    let needed = config.ram_size(&geometry);
    let refused = |error: ConfigError| Err(IndexError::Config(error));
    assert_eq!(
        create(config, geometry, needed - 1),
        refused(ConfigError::RamTooSmall { needed, given: needed - 1 })
    );
    let once = Geometry { partial_programs: 1, in_order: true, ..geometry };
    let partial = ConfigError::PartialPrograms { needed: 4, allowed: 1 };
    assert_eq!(create(config, once, needed), refused(partial));
    let page = RunsConfig { output: Output::Page, ..config };
    assert_eq!(create(page, once, 1 << 14), Ok(()));
    let deep = RunsConfig { levels: 7, ..page };
    let too_large = ConfigError::TooLarge { parameter: "levels", max: 6, given: 7 };
    assert_eq!(create(deep, geometry, 1 << 14), refused(too_large));
    let missing = {
        let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
        let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
        Runs::mount(&mut flash, page, &mut vec![0; 1 << 14]).map(|_| ())
    };
    assert_eq!(missing, Err(IndexError::Missing));
}
