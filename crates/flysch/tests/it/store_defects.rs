//! Histories on which the index before this one failed, on the store: none of them comes back.

use std::sync::Arc;

use flysch::media::Partition;
use flysch::store::{
    Entry, IndexPlan, Order, Probe, Range, Rows, Solo, Store, StoreConfig, StoreError, TOMBSTONE,
};
use flysch_chip::{Chip, Clock, Part};
use flysch_nand::Geometry;

const BLOCKS: u32 = 96;

fn geometry(page_size: u32) -> Geometry {
    let part = Part::named("w25n01gv").unwrap();
    Geometry { page_size, pages_per_block: 8, block_count: BLOCKS, ..part.geometry }
}

fn plan() -> IndexPlan {
    IndexPlan { levels: 3, capacity: 10_000, ..IndexPlan::default() }
}

fn on_chip(plan: IndexPlan, ram: usize, history: impl FnOnce(&mut Solo<'_, Chip>)) {
    let geometry = geometry(1024);
    let config = StoreConfig::plan(ram, &[plan], &geometry, BLOCKS).unwrap();
    let partition = Partition { first: 0, count: BLOCKS };
    let mut memory = vec![0; Solo::<Chip>::carved(&config, partition)];
    let part = Part { geometry, ..Part::named("w25n01gv").unwrap() };
    let chip = Chip::new(Arc::new(part), Clock::new(), 1);
    history(&mut Solo::new(chip, partition, config, &mut memory));
}

fn entry(number: u32) -> Entry {
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
        on_chip(plan(), 5000, |solo| {
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
    on_chip(plan(), 5000, |solo| {
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
        on_chip(IndexPlan { rows: Rows::Many, ..plan() }, 5000, |solo| {
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
                let (mut range, mut found) = (Range::<40>::descending(0, 0, 70), Vec::new());
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
    on_chip(plan, 5000, |solo| {
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
            let (mut range, mut found) = (Range::<40>::descending(0, least, greatest), Vec::new());
            while let Some(entry) = solo.next_of(&mut range).unwrap() {
                found.push((entry.code, entry.pointer));
            }
            assert_eq!(found.len(), wanted, "codes {least} to {greatest}");
            assert!(found.is_sorted_by(|one, other| one > other), "each once, in order");
        }
    });
}
