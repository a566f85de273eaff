//! Bitmap indexes and zone maps: right answers, and what they cost.

use std::ops::{ControlFlow, RangeInclusive};

use flysch_chip::{Clock, EventKind, Prng, Recorder, Tracer};
use flysch_indexes::IndexError;
use flysch_indexes::bitmap::{Bases, BitmapConfig, BitmapIndex, Criterion, Encoding};
use flysch_indexes::flash::Flash;
use flysch_indexes::zone::{ZoneConfig, ZoneMap};

use crate::world::{chip, small_geometry};

const ROWS: u32 = 5_000;

fn value(seed: u64, row: u32, values: u64) -> u32 {
    Prng::new(seed ^ u64::from(row) << 20).below(values) as u32
}

fn config(first_area: u8, bases: Bases, encoding: Encoding) -> BitmapConfig {
    let slots = bases.bitmap_count(encoding).next_power_of_two();
    // Chunks of 32 bytes: 256 rows a group.
    let group_pages = (slots / 32).max(1) as u8;
    BitmapConfig { first_area, bases, encoding, group_pages, blocks_max: 60 }
}

fn check(bases: Bases, encoding: Encoding, values: u64) {
    let geometry = flysch_nand::Geometry { block_count: 400, ..small_geometry() };
    let config = BitmapConfig { blocks_max: 300, ..config(16, bases, encoding) };
    let mut table = [0; 64];
    let mut flash = Flash::mount(chip(geometry), &mut table).unwrap();
    let mut ram = vec![0; config.ram_size(1024)];
    let mut index = BitmapIndex::create(&mut flash, config, &mut ram).unwrap();
    let mut prng = Prng::new(values);
    for row in 0..ROWS {
        index.append(&mut flash, value(1, row, values)).unwrap();
        if row % 1_300 != 77 {
            continue;
        }
        for _ in 0..12 {
            let (one, other) = (prng.below(values) as u32, prng.below(values) as u32);
            let range = one.min(other)..=one.max(other);
            for range in [range, one..=one, 0..=other] {
                let wanted: Vec<u32> =
                    (0..=row).filter(|&row| range.contains(&value(1, row, values))).collect();
                let found = rows(&mut index, &mut flash, &range, &mut []);
                assert_eq!(found, wanted, "{range:?} of {bases:?}, {encoding:?}");
            }
        }
    }
    let flushed = index.flushed();
    let mut flash = Flash::mount(flash.into_nand(), &mut table).unwrap();
    let mut index = BitmapIndex::mount(&mut flash, config, &mut ram).unwrap();
    assert_eq!(index.flushed(), flushed);
    let found = rows(&mut index, &mut flash, &(1..=1), &mut []);
    assert!(found.iter().copied().eq((0..flushed).filter(|&row| value(1, row, values) == 1)));
}

fn rows<N: flysch_nand::Nand>(
    index: &mut BitmapIndex<'_>,
    flash: &mut Flash<'_, N>,
    range: &RangeInclusive<u32>,
    others: &mut [Criterion<'_, '_>],
) -> Vec<u32> {
    let mut found = Vec::new();
    index
        .lookup(flash, range, others, |_, row| {
            found.push(row);
            Ok::<_, IndexError>(ControlFlow::Continue(()))
        })
        .unwrap();
    found
}

#[test]
fn every_decomposition_finds_the_rows() {
    for encoding in [Encoding::Equality, Encoding::Range] {
        check(Bases::time_optimal(60), encoding, 60);
        check(Bases::space_optimal(256), encoding, 256);
        check(Bases::balanced(256), encoding, 256);
        check(Bases::new(&[3, 10, 5]), encoding, 150);
    }
}

/// Chan and Ioannidis: `A <= v` reads a bitmap of the least digit unless that is the greatest, and
/// of each other digit one unless it is the greatest and one unless it is 0. Here `v` runs from 1
/// to 255, over 1,024 rows: four groups, but one where chunks are four times as long. The bitmaps
/// kept are the paper's 255, 8 and 30.
#[test]
fn ranges_read_as_many_bitmaps_as_the_formula_says() {
    let cases = [
        (Bases::time_optimal(256), 255, 254 * 4),
        (Bases::space_optimal(256), 8, 1912),
        (Bases::balanced(256), 30, 718 * 4),
    ];
    for (bases, kept, read) in cases {
        assert_eq!(bases.bitmap_count(Encoding::Range), kept);
        let geometry = small_geometry();
        let recorder = Recorder::new(Clock::new(), "query");
        let device = Tracer::new(chip(geometry).fork(recorder.clock().clone()), recorder.clone());
        let config = config(16, bases, Encoding::Range);
        let mut table = [0; 64];
        let mut flash = Flash::mount(device, &mut table).unwrap();
        let mut ram = vec![0; config.ram_size(1024)];
        let mut index = BitmapIndex::create(&mut flash, config, &mut ram).unwrap();
        (0..1024).for_each(|row| index.append(&mut flash, row % 256).unwrap());
        let before = recorder.count(EventKind::Read);
        for high in 1..256 {
            assert_eq!(
                rows(&mut index, &mut flash, &(0..=high), &mut []).len() as u32,
                4 * high + 4
            );
        }
        assert_eq!(recorder.count(EventKind::Read) - before, read, "{bases:?}");
    }
}

#[test]
fn criteria_are_met_together() {
    let mut table = [0; 64];
    let mut flash = Flash::mount(chip(small_geometry()), &mut table).unwrap();
    let config = config(16, Bases::balanced(100), Encoding::Range);
    let mut rams = [(); 2].map(|()| vec![0; config.ram_size(1024)]);
    let [age_ram, weight_ram] = &mut rams;
    let mut age = BitmapIndex::create(&mut flash, config, age_ram).unwrap();
    let other = BitmapConfig { first_area: 17, ..config };
    let mut weight = BitmapIndex::create(&mut flash, other, weight_ram).unwrap();
    for row in 0..ROWS {
        age.append(&mut flash, value(1, row, 100)).unwrap();
        weight.append(&mut flash, value(2, row, 100)).unwrap();
    }
    let meets = |row: &u32| {
        (15..=18).contains(&value(1, *row, 100)) && (80..=99).contains(&value(2, *row, 100))
    };
    let mut others = [Criterion { index: &mut weight, values: 80..=99 }];
    let found = rows(&mut age, &mut flash, &(15..=18), &mut others);
    assert!(found.iter().copied().eq((0..ROWS).filter(meets)));
    for row in (0..ROWS).step_by(113) {
        let wanted = value(1, row, 100) > 60;
        assert_eq!(age.holds(&mut flash, row, &(61..=99)), Ok(wanted), "row {row}");
    }
}

#[test]
fn an_ascending_key_costs_one_zone_page() {
    let geometry = small_geometry();
    let recorder = Recorder::new(Clock::new(), "zones");
    let device = Tracer::new(chip(geometry).fork(recorder.clock().clone()), recorder.clone());
    let mut table = [0; 64];
    let mut flash = Flash::mount(device, &mut table).unwrap();
    for summaries in [80, 3] {
        let config = ZoneConfig { first_area: 20, summaries, blocks_max: 40 };
        let mut ram = vec![0; config.ram_size(1024)];
        let mut map = ZoneMap::create(&mut flash, config, &mut ram).unwrap();
        for page in 0..ROWS {
            let first = u64::from(page) * 20;
            map.append(&mut flash, first..=first + 19).unwrap();
        }
        let reads = zone_reads(&mut map, &mut flash, &recorder);
        assert_eq!(reads, if summaries == 80 { 1 } else { 32 }, "{summaries} summaries");
        let flushed = map.flushed();
        let copy = flash.nand().device().clone();
        let mut table = [0; 64];
        let mut ram = vec![0; config.ram_size(1024)];
        let mut again = Flash::mount(copy, &mut table).unwrap();
        let map = ZoneMap::mount(&mut again, config, &mut ram).unwrap();
        assert_eq!(map.flushed(), flushed);
    }
}

/// Reads of the dearest lookup of a key that is on one page.
fn zone_reads(
    map: &mut ZoneMap<'_>,
    flash: &mut Flash<'_, Tracer<flysch_chip::Chip>>,
    recorder: &Recorder,
) -> u64 {
    let mut most = 0;
    for key in (0..u64::from(ROWS) * 20).step_by(317) {
        let before = recorder.count(EventKind::Read);
        let mut found = Vec::new();
        map.lookup(flash, &(key..=key), |_, page| {
            found.push(page);
            Ok::<_, IndexError>(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(found, [key as u32 / 20], "key {key}");
        most = most.max(recorder.count(EventKind::Read) - before);
    }
    most
}
