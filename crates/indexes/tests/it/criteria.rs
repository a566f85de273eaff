//! Queries of several criteria: right answers, and that a summary is read only where it matters.

use std::ops::{ControlFlow, RangeInclusive};

use flysch_chip::{Chip, Clock, EventKind, Prng, Recorder, Tracer};
use flysch_indexes::IndexError;
use flysch_indexes::bitmap::{Bases, BitmapConfig, BitmapIndex, Criterion, Encoding};
use flysch_indexes::criteria::{Equal, select};
use flysch_indexes::flash::Flash;
use flysch_indexes::pbfilter::{FlushUnit, PbConfig, PbFilter};
use flysch_nand::Geometry;

use crate::world::{chip, small_geometry};

type Device = Tracer<Chip>;

const ROWS: u32 = 9_000;
const CITIES: u64 = 700;
const DOCTORS: u64 = 40;
const AGES: u64 = 100;

fn geometry() -> Geometry {
    Geometry { block_count: 900, ..small_geometry() }
}

fn draw(attribute: u64, row: u32, values: u64) -> u32 {
    Prng::new(attribute << 40 ^ u64::from(row)).below(values) as u32
}

fn city(row: u32) -> [u8; 8] {
    u64::from(draw(1, row, CITIES)).to_le_bytes()
}

fn doctor(row: u32) -> [u8; 8] {
    u64::from(draw(2, row, DOCTORS)).to_le_bytes()
}

fn age(row: u32) -> u32 {
    draw(3, row, AGES)
}

fn equality(first_area: u8) -> PbConfig {
    PbConfig {
        first_area,
        flush: FlushUnit::Page,
        blocks_max: 200,
        ..PbConfig::published(8, ROWS, &geometry())
    }
}

/// Indexes on city, doctor and age, over the same rows.
struct Indexes<'ram> {
    flash: Flash<'ram, Device>,
    recorder: Recorder,
    cities: PbFilter<'ram>,
    doctors: PbFilter<'ram>,
    ages: BitmapIndex<'ram>,
}

fn with_indexes(rows: u32, look: impl FnOnce(&mut Indexes<'_>)) {
    let geometry = geometry();
    let recorder = Recorder::new(Clock::new(), "query");
    let device = Tracer::new(chip(geometry).fork(recorder.clock().clone()), recorder.clone());
    let mut table = vec![0; Flash::<Device>::ram_size(&geometry)];
    let mut flash = Flash::mount(device, &mut table).unwrap();
    let (bases, encoding) = (Bases::balanced(AGES as u16), Encoding::Range);
    let bitmaps = BitmapConfig { first_area: 32, bases, encoding, group_pages: 1, blocks_max: 40 };
    let (one, other) = (equality(16), equality(20));
    let mut rams = [vec![0; one.ram_size(&geometry)], vec![0; other.ram_size(&geometry)]];
    let mut bitmap_ram = vec![0; bitmaps.ram_size(geometry.page_size as usize)];
    let [city_ram, doctor_ram] = &mut rams;
    let cities = PbFilter::create(&mut flash, one, city_ram).unwrap();
    let doctors = PbFilter::create(&mut flash, other, doctor_ram).unwrap();
    let ages = BitmapIndex::create(&mut flash, bitmaps, &mut bitmap_ram).unwrap();
    let mut indexes = Indexes { flash, recorder, cities, doctors, ages };
    for row in 0..rows {
        let Indexes { flash, cities, doctors, ages, .. } = &mut indexes;
        cities.insert(flash, &city(row), row).unwrap();
        doctors.insert(flash, &doctor(row), row).unwrap();
        ages.append(flash, age(row)).unwrap();
    }
    look(&mut indexes);
}

impl Indexes<'_> {
    /// The rows of a city, of a doctor where one is given, of ages where some are; and the reads.
    fn query(
        &mut self,
        city: &[u8],
        doctor: Option<&[u8]>,
        ages: Option<RangeInclusive<u32>>,
    ) -> (Vec<u32>, u64) {
        let before = self.recorder.count(EventKind::Read);
        let mut found = Vec::new();
        let mut equalities = vec![Equal { index: &mut self.cities, key: city }];
        equalities.extend(doctor.map(|key| Equal { index: &mut self.doctors, key }));
        let mut ranges: Vec<Criterion<'_, '_>> =
            ages.map(|values| Criterion { index: &mut self.ages, values }).into_iter().collect();
        select(&mut self.flash, &mut equalities, &mut ranges, |_, row| {
            found.push(row);
            Ok::<_, IndexError>(ControlFlow::Continue(()))
        })
        .unwrap();
        (found, self.recorder.count(EventKind::Read) - before)
    }
}

#[test]
fn rows_meet_every_criterion() {
    for rows in [0, 50, 777, ROWS] {
        with_indexes(rows, |indexes| {
            for seed in 0..60 {
                let (here, by) = (city(seed * 131), doctor(seed * 17));
                let (low, high) = (seed % 70, seed % 70 + seed % 30);
                let is_here = |row: &u32| city(*row) == here;
                let is_by = |row: &u32| doctor(*row) == by;
                let is_old = |row: &u32| (low..=high).contains(&age(*row));
                let all = || (0..rows).filter(is_here);
                let (found, _) = indexes.query(&here, None, None);
                assert!(found.into_iter().eq(all()), "{rows} rows, seed {seed}");
                let (found, _) = indexes.query(&here, Some(&by), None);
                assert!(found.into_iter().eq(all().filter(is_by)), "{rows} rows, seed {seed}");
                let (found, _) = indexes.query(&here, None, Some(low..=high));
                assert!(found.into_iter().eq(all().filter(is_old)), "{rows} rows, seed {seed}");
                let (found, _) = indexes.query(&here, Some(&by), Some(low..=high));
                let wanted = all().filter(is_by).filter(is_old);
                assert!(found.into_iter().eq(wanted), "{rows} rows, seed {seed}");
            }
        });
    }
}

/// A criterion costs only where those before it leave something. Keys that no row has: the others
/// are hardly asked; an empty range: no page of keys is read but those of the summary's lookup.
#[test]
fn what_is_ruled_out_is_not_read() {
    with_indexes(ROWS, |indexes| {
        let nowhere = u64::MAX.to_le_bytes();
        let (mut alone, mut with_doctor) = (0, 0);
        for seed in 0..40 {
            let mut absent = nowhere;
            absent[0] = seed;
            alone += indexes.query(&absent, None, None).1;
            with_doctor += indexes.query(&absent, Some(&doctor(0)), None).1;
        }
        assert!(with_doctor < alone + 40 * 9, "{with_doctor} reads beside {alone}");
        let (of_city, reads) = indexes.query(&city(0), None, None);
        assert!(!of_city.is_empty());
        let (none, ruled_out) = indexes.query(&city(0), None, Some(AGES as u32..=AGES as u32 + 9));
        assert_eq!(none, []);
        let pages: std::collections::BTreeSet<u32> = of_city.iter().map(|row| row / 85).collect();
        assert!(ruled_out + pages.len() as u64 <= reads + 1, "{ruled_out} of {reads} reads");
    });
}

/// Predefined: one index over the concatenation answers with the reads of a single lookup.
#[test]
fn a_concatenated_summary_is_one_lookup() {
    let geometry = geometry();
    let both = |row| [city(row), doctor(row)].concat();
    let recorder = Recorder::new(Clock::new(), "query");
    let device = Tracer::new(chip(geometry).fork(recorder.clock().clone()), recorder.clone());
    let mut table = vec![0; Flash::<Device>::ram_size(&geometry)];
    let mut flash = Flash::mount(device, &mut table).unwrap();
    let config = PbConfig { key_size: 16, blocks_max: 400, ..equality(16) };
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
    (0..ROWS).for_each(|row| index.insert(&mut flash, &both(row), row).unwrap());
    let (mut concatenated, mut ad_hoc) = (0, 0);
    with_indexes(ROWS, |indexes| {
        for row in (0..ROWS).step_by(311) {
            let before = recorder.count(EventKind::Read);
            let mut found = Vec::new();
            index
                .lookup(&mut flash, &both(row), |_, pointer| {
                    found.push(pointer);
                    Ok::<_, IndexError>(ControlFlow::Continue(()))
                })
                .unwrap();
            concatenated += recorder.count(EventKind::Read) - before;
            found.sort_unstable();
            let (wanted, reads) = indexes.query(&city(row), Some(&doctor(row)), None);
            assert_eq!(found, wanted);
            ad_hoc += reads;
        }
    });
    assert!(concatenated * 3 < ad_hoc * 2, "{concatenated} reads, ad hoc {ad_hoc}");
}
