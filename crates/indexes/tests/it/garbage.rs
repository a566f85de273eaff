//! Chips full of anything: mounting and looking up gives an answer or an error, never a panic.

use std::ops::ControlFlow;

use flysch_chip::{Chip, Hooked, Hooks, Prng};
use flysch_indexes::IndexError;
use flysch_indexes::bitmap::{Bases, BitmapConfig, BitmapIndex, Encoding};
use flysch_indexes::flash::{Flash, Tag};
use flysch_indexes::pbfilter::{FlushUnit, PbConfig, PbFilter};
use flysch_indexes::runs::{Output, Pace, Runs};
use flysch_indexes::zone::{ZoneConfig, ZoneMap};
use flysch_nand::{Nand, PageAddr};

use crate::world::{apply, chip, operations, pointers, small_config, small_geometry};

/// A chip on which some reads give other bytes than were programmed.
type Liar = Hooked<Chip, Lies>;

struct Lies {
    prng: Prng,
    /// Reads in a thousand that lie.
    per_mille: u64,
}

impl Hooks for Lies {
    fn after_read(&mut self, _: PageAddr, bytes: &mut [u8]) {
        if self.prng.below(1000) < self.per_mille && !bytes.is_empty() {
            let place = self.prng.below(bytes.len() as u64) as usize;
            match self.prng.below(3) {
                0 => bytes[place] ^= 1 << self.prng.below(8),
                1 => self.prng.fill(&mut bytes[place..]),
                _ => bytes[..=place].fill(0),
            }
        }
    }
}

/// A chip that does not lie yet.
const fn liar(device: Chip, prng: Prng) -> Liar {
    Hooked { device, hooks: Lies { prng, per_mille: 0 } }
}

#[test]
fn runs_on_garbage_answer_or_refuse() {
    let geometry = small_geometry();
    let mut refused = 0;
    for seed in 0..300 {
        let config = small_config(Pace::Spread, Output::Page, if seed % 3 == 0 { 6 } else { 0 });
        let mut table = vec![0; Flash::<Liar>::ram_size(&geometry)];
        let mut ram = vec![0; config.ram_size(&geometry)];
        let liar = liar(chip(geometry), Prng::new(seed));
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let mut runs = Runs::create(&mut flash, config, &mut ram).unwrap();
        for op in operations(seed, 500) {
            apply(&mut runs, &mut flash, op).unwrap();
        }
        flash.nand_mut().hooks.per_mille = 1 + seed;
        for key in 0..60 {
            refused += u32::from(pointers(&mut runs, &mut flash, key).is_err());
        }
        // What merges read may be garbage as well.
        let mut more = operations(seed + 1000, 400).into_iter();
        refused += u32::from(more.any(|op| apply(&mut runs, &mut flash, op).is_err()));
        let liar = flash.into_nand();
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        match Runs::mount(&mut flash, config, &mut ram) {
            Err(_) => refused += 1,
            Ok(mut runs) => {
                for key in 0..60 {
                    refused += u32::from(pointers(&mut runs, &mut flash, key).is_err());
                }
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

#[test]
fn pbfilter_on_garbage_answers_or_refuses() {
    let geometry = small_geometry();
    let config = PbConfig {
        flush: FlushUnit::Page,
        blocks_max: 90,
        ..PbConfig::published(12, 2_000, &geometry)
    };
    for seed in 0..60 {
        let mut table = vec![0; Flash::<Liar>::ram_size(&geometry)];
        let mut ram = vec![0; config.ram_size(&geometry)];
        let liar = liar(chip(geometry), Prng::new(seed));
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let mut index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
        for number in 0..3_000_u32 {
            let mut key = [0; 12];
            key[..4].copy_from_slice(&number.to_le_bytes());
            index.insert(&mut flash, &key, number).unwrap();
        }
        flash.nand_mut().hooks.per_mille = 1 + seed * 5;
        let liar = flash.into_nand();
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let Ok(mut index) = PbFilter::mount(&mut flash, config, &mut ram) else { continue };
        for number in 0..40_u8 {
            let stop = |_: &mut Flash<'_, Liar>, _| Ok::<_, IndexError>(ControlFlow::Continue(()));
            let outcome = index.lookup(&mut flash, &[number; 12], stop);
            assert!(matches!(outcome, Ok(()) | Err(IndexError::Flash(_))), "{outcome:?}");
        }
    }
}

#[test]
fn zones_and_bitmaps_on_garbage_answer_or_refuse() {
    let geometry = small_geometry();
    let zones = ZoneConfig { first_area: 16, summaries: 4, blocks_max: 40 };
    let (bases, encoding) = (Bases::balanced(100), Encoding::Range);
    let bitmaps = BitmapConfig { first_area: 17, bases, encoding, group_pages: 1, blocks_max: 40 };
    for seed in 0..150 {
        let mut table = vec![0; Flash::<Liar>::ram_size(&geometry)];
        let mut zone_ram = vec![0; zones.ram_size(1024)];
        let mut bitmap_ram = vec![0; bitmaps.ram_size(1024)];
        let liar = liar(chip(geometry), Prng::new(seed));
        let mut flash = Flash::mount(liar, &mut table).unwrap();
        let mut map = ZoneMap::create(&mut flash, zones, &mut zone_ram).unwrap();
        let mut index = BitmapIndex::create(&mut flash, bitmaps, &mut bitmap_ram).unwrap();
        for row in 0..3_000_u32 {
            map.append(&mut flash, u64::from(row)..=u64::from(row) + 5).unwrap();
            index.append(&mut flash, row % 100).unwrap();
        }
        flash.nand_mut().hooks.per_mille = 1 + seed * 3;
        let mut flash = Flash::mount(flash.into_nand(), &mut table).unwrap();
        let go_on = |_: &mut Flash<'_, Liar>, _| Ok::<_, IndexError>(ControlFlow::Continue(()));
        if let Ok(mut map) = ZoneMap::mount(&mut flash, zones, &mut zone_ram) {
            for key in (0..3_000).step_by(101) {
                let outcome = map.lookup(&mut flash, &(key..=key + 9), go_on);
                assert!(matches!(outcome, Ok(()) | Err(IndexError::Flash(_))), "{outcome:?}");
            }
        }
        if let Ok(mut index) = BitmapIndex::mount(&mut flash, bitmaps, &mut bitmap_ram) {
            for value in 0..100 {
                let outcome = index.lookup(&mut flash, &(value / 2..=value), &mut [], go_on);
                assert!(matches!(outcome, Ok(()) | Err(IndexError::Flash(_))), "{outcome:?}");
            }
        }
    }
}

const BITMAP: u8 = 20;
const ZONE: u8 = 21;

fn bitmap_config() -> BitmapConfig {
    BitmapConfig {
        first_area: BITMAP,
        bases: Bases::balanced(64),
        encoding: Encoding::Range,
        group_pages: 1,
        blocks_max: 60,
    }
}

const ZONES: ZoneConfig = ZoneConfig { first_area: ZONE, summaries: 8, blocks_max: 40 };

/// Mount both and ask; give how often that was refused.
fn ask_bitmap_and_zones(flash: &mut Flash<'_, Liar>) -> u32 {
    let mut refused = 0;
    let mut ram = vec![0; bitmap_config().ram_size(1024)];
    let go_on = |_: &mut Flash<'_, Liar>, _| Ok::<_, IndexError>(ControlFlow::Continue(()));
    match BitmapIndex::mount(flash, bitmap_config(), &mut ram) {
        Err(_) => refused += 1,
        Ok(mut index) => {
            let outcome = index.lookup(flash, &(3..=40), &mut [], go_on);
            assert!(matches!(outcome, Ok(()) | Err(IndexError::Flash(_))), "{outcome:?}");
            refused += u32::from(outcome.is_err());
        }
    }
    let mut ram = vec![0; ZONES.ram_size(1024)];
    match ZoneMap::mount(flash, ZONES, &mut ram) {
        Err(_) => refused += 1,
        Ok(mut map) => {
            let outcome = map.lookup(flash, &(0..=u64::MAX), go_on);
            assert!(matches!(outcome, Ok(()) | Err(IndexError::Flash(_))), "{outcome:?}");
            refused += u32::from(outcome.is_err());
        }
    }
    refused
}

/// A chip of pages of anything, most with tags that are well formed and say anything.
fn forged(seed: u64) -> Liar {
    let geometry = small_geometry();
    let mut prng = Prng::new(seed);
    let mut chip = chip(geometry);
    let areas = [16, 17, 18, 19, BITMAP, ZONE, 22, 48, 49, 50];
    for page in (0..geometry.page_count()).map(PageAddr) {
        if prng.below(8) == 0 {
            continue;
        }
        let mut data = [0; 1024];
        prng.fill(&mut data);
        let mut oob = [0xFF; 22];
        prng.fill(&mut oob[1..]);
        if prng.below(10) > 0 {
            let (logical_max, note_shift) = (1 << (1 + prng.below(31)), prng.below(64));
            oob = Tag {
                area: areas[prng.below(areas.len() as u64) as usize],
                copy: prng.below(4) as u8,
                logical: prng.below(logical_max) as u32,
                note: prng.next() >> note_shift,
                data_crc: prng.next() as u32,
            }
            .emit();
        }
        chip.program(page, 0, &data, &oob).unwrap();
    }
    liar(chip, prng)
}

#[test]
fn any_pages_are_mounted_or_refused() {
    let geometry = small_geometry();
    let runs_config = small_config(Pace::Spread, Output::Page, 6);
    let pbfilter = PbConfig {
        flush: FlushUnit::Page,
        blocks_max: 90,
        ..PbConfig::published(12, 2_000, &geometry)
    };
    let mut answered = 0;
    for seed in 0..150 {
        let mut table = vec![0; Flash::<Liar>::ram_size(&geometry)];
        let mut flash = Flash::mount(forged(seed), &mut table).unwrap();
        let mut ram = vec![0; runs_config.ram_size(&geometry)];
        if let Ok(mut runs) = Runs::mount(&mut flash, runs_config, &mut ram) {
            answered += (0..20).filter(|&key| pointers(&mut runs, &mut flash, key).is_ok()).count();
        }
        let mut flash = Flash::mount(flash.into_nand(), &mut table).unwrap();
        let mut ram = vec![0; pbfilter.ram_size(&geometry)];
        if let Ok(mut index) = PbFilter::mount(&mut flash, pbfilter, &mut ram) {
            let stop = |_: &mut Flash<'_, Liar>, _| Ok::<_, IndexError>(ControlFlow::Continue(()));
            answered += usize::from(index.lookup(&mut flash, &[7; 12], stop).is_ok());
        }
        let mut flash = Flash::mount(flash.into_nand(), &mut table).unwrap();
        answered += 2 - ask_bitmap_and_zones(&mut flash) as usize;
    }
    assert!(answered > 0, "some garbage is an empty index");
}
