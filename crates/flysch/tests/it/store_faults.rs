//! The index store where reads fail, and where it has to learn again what a mount forgot.

use std::collections::BTreeMap;

use flysch::store::{Entry, IndexPlan, Order, Probe, Range, Solo, Store, StoreError};
use flysch_chip::{FaultPlan, Prng};
use flysch_nand::Geometry;

use super::store_defects::{Counted, entry, geometry, on_counted, plan};

/// What a range gives from end to end, and whether each code leads to its newest entry.
fn check_all(solo: &mut Solo<'_, Counted>, wanted: &BTreeMap<u64, u32>, story: &str) {
    let mut range: Range = Range::new(0, 0, u64::MAX >> 40);
    let mut found = Vec::new();
    while let Some(entry) = solo.next_of(&mut range).unwrap() {
        found.push((entry.code, entry.pointer));
    }
    assert_eq!(found.len(), wanted.len(), "{story}");
    assert!(found.into_iter().eq(wanted.iter().map(|(&code, &at)| (code, at))), "{story}");
    for (&code, &pointer) in wanted {
        let mut probe = Probe::new(solo.store().config(), 0, code);
        let entry = solo.next(&mut probe).unwrap();
        assert_eq!(entry.map(|entry| entry.pointer), Some(pointer), "code {code}, {story}");
    }
}

/// A read that fails stops a merge. It goes on behind the last page that it wrote, so that nothing
/// is there twice or in the wrong order.
#[test]
fn a_merge_that_a_read_stopped_goes_on_where_it_was() {
    for (order, ppm) in [(Order::Hash, 50_000), (Order::Hash, 200_000), (Order::Key, 100_000)] {
        let faults = FaultPlan {
            seed: 5,
            read_errors_ppm: ppm,
            read_error_bits_max: 500,
            ..FaultPlan::default()
        };
        let geometry = Geometry { block_count: 400, ..geometry(512) };
        let plan = IndexPlan { order, is_updated: true, ..plan() };
        on_counted(plan, 6000, (geometry, faults), |solo| {
            let (mut wanted, mut stopped) = (BTreeMap::new(), 0);
            for number in 0..7_000 {
                let entry = entry(number % 3_500);
                let entry = Entry { pointer: number, ..entry };
                while let Err(error) = solo.insert(&entry) {
                    assert!(matches!(error, StoreError::Media(_)), "{error}");
                    stopped += 1;
                }
                wanted.insert(entry.code, entry.pointer);
            }
            solo.nand_mut().device.arm(FaultPlan::default());
            let story = format!("{order:?}, {ppm}, {stopped} calls stopped");
            assert!(stopped > 20, "{story}");
            check_all(solo, &wanted, &story);
            solo.settle().unwrap();
            check_all(solo, &wanted, &story);
        });
    }
}

/// After a mount the filters of recent runs are learnt anew, a few units at a time. However many
/// units a run has, its filter holds the codes of all of them.
#[test]
fn filters_that_are_learnt_anew_hold_all_codes() {
    for (page_size, seed) in [(512, 1), (512, 2), (512, 3), (2048, 4)] {
        on_counted(plan(), 9000, (geometry(page_size), FaultPlan::default()), |solo| {
            let mut state = vec![0; Store::state_size_max(solo.store().config())];
            let (mut wanted, mut prng) = (BTreeMap::new(), Prng::new(seed));
            for number in 0..3_000 {
                let entry = entry(number);
                solo.insert(&entry).unwrap();
                wanted.insert(entry.code, entry.pointer);
                if prng.below(120) == 0 {
                    solo.flush().unwrap();
                    solo.remount(&mut state).unwrap();
                    solo.settle().unwrap();
                    check_all(solo, &wanted, &format!("{number} entries, {page_size} a page"));
                }
            }
        });
    }
}
