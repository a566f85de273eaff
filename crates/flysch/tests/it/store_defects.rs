//! Histories on which the index before this one failed, on the store: none of them comes back.

use std::sync::Arc;

use flysch::media::Partition;
use flysch::row::HashKey;
use flysch::store::{
    Entry, IndexPlan, Order, Probe, Range, Rows, Solo, Store, StoreConfig, StoreError, TOMBSTONE,
};
use flysch_chip::{Chip, Clock, Counts, FaultInjector, FaultPlan, Hooked, Part, Prng};
use flysch_nand::Geometry;

const BLOCKS: u32 = 96;

pub(crate) fn geometry(page_size: u32) -> Geometry {
    let part = Part::named("w25n01gv").unwrap();
    Geometry { page_size, pages_per_block: 8, block_count: BLOCKS, ..part.geometry }
}

pub(crate) fn plan() -> IndexPlan {
    IndexPlan { levels: 3, capacity: 10_000, ..IndexPlan::default() }
}

fn chip(geometry: Geometry) -> Chip {
    let part = Part { geometry, ..Part::named("w25n01gv").unwrap() };
    Chip::new(Arc::new(part), Clock::new(), 1)
}

fn on_chip(plan: IndexPlan, ram: usize, history: impl FnOnce(&mut Solo<'_, Chip>)) {
    let geometry = geometry(1024);
    let config = StoreConfig::plan(ram, &[plan], &geometry, BLOCKS).unwrap();
    let partition = Partition { first: 0, count: BLOCKS };
    let mut memory = vec![0; Solo::<Chip>::carved(&config, partition)];
    history(&mut Solo::new(chip(geometry), partition, config, &mut memory));
}

/// A chip whose operations are counted.
pub(crate) type Counted = Hooked<FaultInjector, Counts>;

pub(crate) fn on_counted(
    plan: IndexPlan,
    ram: usize,
    (geometry, faults): (Geometry, FaultPlan),
    history: impl FnOnce(&mut Solo<'_, Counted>),
) {
    let config = StoreConfig::plan(ram, &[plan], &geometry, geometry.block_count).unwrap();
    let partition = Partition { first: 0, count: geometry.block_count };
    let mut memory = vec![0; Solo::<Counted>::carved(&config, partition)];
    let mut device = FaultInjector::new(chip(geometry));
    device.arm(faults);
    let counted = Hooked { device, hooks: Counts::default() };
    history(&mut Solo::new(counted, partition, config, &mut memory));
}

/// The most reads, programs and erases of an insert.
fn worst_insert(solo: &mut Solo<'_, Counted>, entries: impl Iterator<Item = Entry>) -> [u64; 3] {
    let mut worst = [0; 3];
    for entry in entries {
        solo.nand_mut().hooks = Counts::default();
        solo.insert(&entry).unwrap();
        for (most, count) in worst.iter_mut().zip(solo.nand_mut().hooks.0) {
            *most = (*most).max(count);
        }
    }
    worst
}

pub(crate) fn entry(number: u32) -> Entry {
    let code = u64::from(number.wrapping_mul(0x9E37_79B1) >> 12);
    Entry { index: 0, code, pointer: number % 8000, flags: 0 }
}

fn found(solo: &mut Solo<'_, Chip>, code: u64) -> Option<Entry> {
    let mut probe = Probe::new(solo.store().config(), 0, code);
    solo.next(&mut probe).unwrap()
}

/// D1: a flush after every insert or every second one filled the table of runs.
#[test]
fn a_flush_after_every_insert_does_no_harm() {
    for every in [1, 2] {
        on_chip(plan(), 5600, |solo| {
            for number in 0..4000 {
                solo.insert(&entry(number)).unwrap();
                if number % every == 0 {
                    solo.flush().unwrap();
                }
            }
            assert_eq!(found(solo, entry(17).code), Some(entry(17)));
        });
    }
}

/// D2: an insert after one that was refused panicked.
#[test]
fn a_full_memory_table_refuses_again_and_again() {
    on_chip(plan(), 5600, |solo| {
        let mut number = 0;
        while solo.store_mut().put(&entry(number)).is_ok() {
            number += 1;
        }
        for _ in 0..3 {
            assert_eq!(solo.store_mut().put(&entry(number)), Err(StoreError::MemtableFull));
        }
        solo.store_mut().commit();
        solo.flush().unwrap();
        assert_eq!(solo.store_mut().put(&entry(number)), Ok(()));
        assert_eq!(found(solo, entry(3).code), Some(entry(3)));
    });
}

/// D3: levels grew with the operations ever done, not with what is live.
#[test]
fn replacements_for_ever_keep_the_size() {
    on_chip(IndexPlan { is_updated: true, ..plan() }, 6000, |solo| {
        let mut most = [0; 2];
        for round in 0..40 {
            for number in 0..1500 {
                let pointer = (round * 1500 + number) % 8000;
                solo.insert(&Entry { pointer, ..entry(number) }).unwrap();
                let half = usize::from(round >= 20);
                most[half] = most[half].max(solo.store().run_count().1);
            }
        }
        assert!(most[1] <= most[0] + 4, "{most:?} pages");
        assert_eq!(found(solo, entry(9).code).unwrap().pointer, (39 * 1500 + 9) % 8000);
    });
}

/// D4: many rows a key made runs outgrow their plan, and every probe leapt.
#[test]
fn many_rows_a_key_take_less_than_as_many_keys() {
    let mut pages = Vec::new();
    for codes in [4000, 800, 40] {
        on_chip(IndexPlan { rows: Rows::Many, ..plan() }, 5600, |solo| {
            for number in 0..4000 {
                let code = entry(number % codes).code;
                solo.insert(&Entry { code, ..entry(number) }).unwrap();
            }
            solo.flush().unwrap();
            solo.settle().unwrap();
            pages.push(solo.store().run_count().1);
        });
    }
    assert!(pages[1] <= pages[0] && pages[2] < pages[1], "{pages:?}");
}

/// D5 and D6: most sizes of RAM were refused, and more of it was not used or did harm.
#[test]
fn every_size_of_ram_is_used() {
    for page_size in [512, 1024, 2048, 4096, 16_384] {
        for capacity in [1000, 100_000, 5_000_000, 10_000_000] {
            for order in [Order::Hash, Order::Key] {
                let plans = [IndexPlan { order, capacity, ..plan() }; 2];
                let mut last = 0;
                for ram in (6144..65_536).step_by(517) {
                    let config = StoreConfig::plan(ram, &plans, &geometry(page_size), 1024);
                    let config = config.unwrap_or_else(|error| panic!("{ram}: {error:?}"));
                    assert!(config.ram() <= ram && config.ram() + 16 >= ram, "{ram}");
                    assert_eq!(config.ram(), size_of::<Store<'_>>() + config.carved());
                    assert!(config.memtable_size + config.bloom_size >= last, "{ram}");
                    last = config.memtable_size + config.bloom_size;
                }
            }
        }
    }
}

/// A tombstone in any run made cursors give what was replaced, once the store had changed.
#[test]
fn cursors_pass_over_what_was_replaced_while_the_store_changes() {
    on_chip(IndexPlan { order: Order::Key, is_updated: true, ..plan() }, 6000, |solo| {
        let entry = |code, pointer, flags| Entry { index: 0, code, pointer, flags };
        let [last, dead, old] = [entry(u64::MAX, 60, 0), entry(7, 61, TOMBSTONE), entry(5, 90, 0)];
        for new in [entry(5, 30, 0), entry(5, 99, 0)] {
            for entry in [old, last] {
                solo.insert(&entry).unwrap();
            }
            solo.flush().unwrap();
            for entry in [new, dead] {
                solo.insert(&entry).unwrap();
            }
            solo.flush().unwrap();
            let ways: [(Range, _); 2] = [
                (Range::new(0, 0, u64::MAX), [new, dead, last]),
                (Range::descending(0, 0, u64::MAX), [last, dead, new]),
            ];
            for (mut range, wanted) in ways {
                let mut found = Vec::new();
                while let Some(entry) = solo.next_of(&mut range).unwrap() {
                    found.push(entry);
                    assert!(found.len() < 9, "the cursor ends: {found:?}");
                    // Whatever is committed may have replaced what is held.
                    solo.store_mut().commit();
                }
                assert_eq!(found, wanted);
            }
        }
    });
}

/// The entry with the least code at the first place of the flash was taken for the end of a cursor
/// that descends: it was never given.
#[test]
fn the_least_key_at_the_first_place_is_given_descending() {
    for rows in [Rows::One, Rows::Many] {
        on_chip(IndexPlan { order: Order::Key, rows, ..plan() }, 6000, |solo| {
            let entry = |code, pointer| Entry { index: 0, code, pointer, flags: 0 };
            for number in 0..60 {
                solo.insert(&entry(number, number as u32)).unwrap();
            }
            for is_flushed in [false, true] {
                if is_flushed {
                    solo.flush().unwrap();
                }
                let (mut range, mut found) = (<Range>::descending(0, 0, 70), Vec::new());
                while let Some(entry) = solo.next_of(&mut range).unwrap() {
                    found.push(entry.code);
                }
                assert!(found.into_iter().eq((0..60).rev()), "{rows:?}, flushed {is_flushed}");
            }
        });
    }
}

/// A level of hashes of which too many are equal is packed. It was to have fences then, for which
/// an index of hashes keeps no memory: the merge panicked.
#[test]
fn a_level_of_equal_hashes_is_packed_without_fences() {
    let plan = IndexPlan { capacity: 2, is_updated: true, ..plan() };
    on_chip(plan, 5600, |solo| {
        let entry = |number: u32| Entry {
            index: 0,
            code: u64::from(number % 3),
            pointer: number % 8000,
            flags: flysch::store::SHARED,
        };
        for number in 0..2000 {
            solo.insert(&entry(number)).unwrap();
        }
        solo.flush().unwrap();
        solo.settle().unwrap();
        assert!(solo.store().run_count().0 > 0);
        assert_eq!(found(solo, 2).map(|entry| entry.pointer % 3), Some(2));
    });
}

/// A filter that was learnt but for its last unit denied what was there. Here merged runs of every
/// length are learnt, and asked for each code.
#[test]
fn filters_of_merged_runs_deny_nothing_that_is_there() {
    for count in (150..1500).step_by(45) {
        on_chip(plan(), 9000, |solo| {
            for number in 0..count {
                solo.insert(&entry(number)).unwrap();
                if number % 40 == 39 {
                    solo.flush().unwrap();
                }
            }
            solo.settle().unwrap();
            for number in 0..count {
                let code = entry(number).code;
                assert!(found(solo, code).is_some(), "entry {number} of {count}");
            }
        });
    }
}

/// A cursor that descends from a code whose rows lie on several units gives all of them.
#[test]
fn a_code_of_many_units_is_given_whole_descending() {
    on_chip(IndexPlan { rows: Rows::Many, order: Order::Key, ..plan() }, 6000, |solo| {
        for number in 0..3000 {
            let code = if number % 3 == 0 { 5 } else { 900 + u64::from(number % 3) };
            solo.insert(&Entry { index: 0, code, pointer: number, flags: 0 }).unwrap();
        }
        solo.flush().unwrap();
        solo.settle().unwrap();
        for (least, greatest, wanted) in [(5, 5, 1000), (0, 5, 1000), (0, 901, 2000)] {
            let (mut range, mut found) = (<Range>::descending(0, least, greatest), Vec::new());
            while let Some(entry) = solo.next_of(&mut range).unwrap() {
                found.push((entry.code, entry.pointer));
            }
            assert_eq!(found.len(), wanted, "codes {least} to {greatest}");
            assert!(found.is_sorted_by(|one, other| one > other), "each once, in order");
        }
    });
}

/// Numbers whose hashes under the key of `seed` begin with the same bits: what someone sends who
/// takes that seed for the device's.
fn colliding(seed: u64, count: usize) -> Vec<u64> {
    let hash = HashKey::from_seed(seed);
    let is_like = |number: &u64| hashed(hash, *number) >> 54 == 77;
    (0..).filter(is_like).take(count).collect()
}

fn hashed(key: HashKey, number: u64) -> u64 {
    let mut hash = key.start();
    hash.write(&number.to_le_bytes());
    hash.finish()
}

/// Mean reads of an index for lookups of keys, on a device of this seed.
fn reads_of(numbers: &[u64], seed: u64) -> f64 {
    let plan = plan();
    let key = HashKey::from_seed(seed);
    let code = |number: u64| hashed(key, number) >> (64 - plan.code_bits());
    let mut reads = 0;
    on_counted(plan, 6000, (geometry(1024), FaultPlan::default()), |solo| {
        for (pointer, &number) in (0..8000).zip(numbers) {
            solo.insert(&Entry { code: code(number), pointer, ..Entry::default() }).unwrap();
        }
        solo.nand_mut().hooks = Counts::default();
        for &number in numbers {
            let mut probe = Probe::new(solo.store().config(), 0, code(number));
            assert!(solo.next(&mut probe).unwrap().is_some());
        }
        reads = solo.nand_mut().hooks.0[0];
    });
    f64::from(u32::try_from(reads).unwrap()) / f64::from(numbers.len() as u32)
}

/// D7: the seed was 0 unless someone thought of it. Now it has to be given, and keys that were made
/// to collide under another seed cost what any keys cost; under that seed they cost more.
#[test]
fn d7_keys_made_to_collide_need_the_seed() {
    let any: Vec<u64> = (0..3000).collect();
    let hostile = colliding(0, 3000);
    let [usual, attacked, known] =
        [reads_of(&any, 9), reads_of(&hostile, 9), reads_of(&hostile, 0)];
    assert!(attacked < usual * 1.1, "{attacked} reads, {usual} as a rule");
    assert!(known > usual * 1.5, "{known} reads where the seed is known, {usual} as a rule");
}

/// The worst insert of some thousand rows with up to `values` codes, and the reads it may have.
fn worst_of(plan: IndexPlan, page_size: u32, values: u64) -> ([u64; 3], u32) {
    let geometry = Geometry { block_count: 256, ..geometry(page_size) };
    let mut outcome = ([0; 3], 0);
    on_counted(plan, 14_000, (geometry, FaultPlan::default()), |solo| {
        let mut prng = Prng::new(8);
        let mask = (1_u64 << plan.code_bits().min(63)) - 1;
        let pointers = 1 << solo.store().config().pointer_bits();
        let mut entry = |number: u32| {
            let code = match plan.order {
                Order::Hash => prng.next() % values,
                // Stretches of neighbours, anywhere.
                Order::Key => (prng.below(1 << 20) << 24) + u64::from(number % 64),
            };
            Entry { code: code & mask, pointer: number % pointers, ..Entry::default() }
        };
        let entries: Vec<Entry> = (0..8000).map(&mut entry).collect();
        let reads_max = solo.store().config().reads_max();
        outcome = (worst_insert(solo, entries.into_iter()), reads_max);
    });
    outcome
}

/// D8: the longest insert depended on data and chip. Here its bound is what the call says, on every
/// page size and in every order of keys, of one row and of many.
#[test]
fn d8_no_insert_does_more_than_a_slice() {
    let kinds = [
        (Order::Hash, Rows::One, u64::MAX),
        (Order::Key, Rows::One, u64::MAX),
        (Order::Hash, Rows::Many, u64::MAX),
        (Order::Hash, Rows::Many, 10),
    ];
    for page_size in [512, 1024, 2048, 4096] {
        for (order, rows, values) in kinds {
            let (worst, reads_max) =
                worst_of(IndexPlan { order, rows, ..plan() }, page_size, values);
            let story = format!("{page_size} bytes a page, {order:?}, {rows:?}, {values}");
            assert!(worst[0] <= u64::from(reads_max), "{worst:?}: {story}");
            assert!(worst[1] <= 3 && worst[2] <= 1, "{worst:?}: {story}");
        }
    }
}

/// F6, the row of the findings that has no number: with program failures the worst insert took 562
/// reads. Here each failure costs one program more, and at most an erase.
#[test]
fn f6_program_failures_keep_an_insert_bounded() {
    let faults = FaultPlan { seed: 3, program_failures_ppm: 200_000, ..FaultPlan::default() };
    let geometry = Geometry { block_count: 400, ..geometry(1024) };
    on_counted(plan(), 6000, (geometry, faults), |solo| {
        let reads_max = solo.store().config().reads_max();
        let worst = worst_insert(solo, (0..7900).map(entry));
        assert!(worst[0] <= u64::from(reads_max) + 8, "{worst:?}");
        assert!(worst[1] > 2, "some programs failed: {worst:?}");
        assert!(worst[1] <= 2 * 4 && worst[2] <= 2 * 4, "{worst:?}");
    });
}

/// F4: with a short hash, a fan of 2, four levels and hundreds of rows a key, a lookup missed some
/// of them while a large merge was under way. Here all are there at every step of every merge.
#[test]
fn f4_no_row_is_missed_while_merges_are_under_way() {
    let plan = IndexPlan { rows: Rows::Many, levels: 4, capacity: 2, ..IndexPlan::default() };
    let geometry = Geometry { block_count: 4000, ..geometry(1024) };
    on_counted(plan, 5200, (geometry, FaultPlan::default()), |solo| {
        let mut prng = Prng::new(4);
        let mut pointers = vec![std::collections::BTreeSet::new(); 5];
        let mut lookups_in_merges = 0;
        for number in 0..12_000_u32 {
            let key = prng.below(5) as usize;
            let code = [3, 4, 5, 90, 127][key];
            let pointer = number.wrapping_mul(0x9E37_79B1) >> 15;
            solo.insert(&Entry { code, pointer, ..Entry::default() }).unwrap();
            pointers[key].insert(pointer);
            let is_due = solo.store().is_due();
            if number % if is_due { 5 } else { 997 } != 0 {
                continue;
            }
            lookups_in_merges += u32::from(is_due);
            for (wanted, code) in pointers.iter().zip([3, 4, 5, 90, 127]) {
                let mut probe = Probe::new(solo.store().config(), 0, code);
                let mut found = Vec::new();
                while let Some(entry) = solo.next(&mut probe).unwrap() {
                    found.push(entry.pointer);
                }
                assert!(found.iter().eq(wanted), "code {code} after {number}");
            }
        }
        assert!(lookups_in_merges > 20, "{lookups_in_merges} lookups while a merge is under way");
    });
}

/// The Bloom filter of a run that a small merge wrote is filled some units at a time. Whatever
/// their number, no entry of the last one is missed once the filter counts as filled.
#[test]
fn filters_are_filled_to_the_last_unit() {
    // Eight runs are merged, to more units than are read at a time.
    for every in (170..230).step_by(4) {
        on_chip(plan(), 24_000, |solo| {
            for number in 0..7_500 {
                solo.insert(&entry(number)).unwrap();
                if number % every == 0 {
                    solo.flush().unwrap();
                }
                if number < 5_000 || number % 50 > 0 {
                    continue;
                }
                let greatest = (number - 1_400..number).filter(|each| entry(*each).code > 0xF_0000);
                for each in greatest {
                    assert_eq!(found(solo, entry(each).code), Some(entry(each)), "{every}");
                }
            }
        });
    }
}

/// D11: parts whose pages have 16 bytes of OOB or fewer were refused, and pages of 8 KB needed more
/// than 14 KB. The store asks for no OOB at all.
#[test]
fn d11_parts_of_any_oob_carry_the_store() {
    for (page_size, oob_size) in [(512, 16), (512, 4), (2048, 64), (8192, 16)] {
        let geometry = Geometry {
            page_size,
            oob_size,
            sectors_per_page: page_size / 512,
            ..geometry(page_size)
        };
        let ram = 14_336 - page_size as usize - 512;
        on_counted(plan(), ram, (geometry, FaultPlan::default()), |solo| {
            let pointers = 1 << solo.store().config().pointer_bits();
            let entry = |number| Entry { pointer: number % pointers, ..entry(number) };
            worst_insert(solo, (0..7000).map(entry));
            let mut probe = Probe::new(solo.store().config(), 0, entry(17).code);
            assert_eq!(solo.next(&mut probe), Ok(Some(entry(17))), "{page_size} + {oob_size}");
        });
    }
}
