//! What lookups read in an index of keys that do not lie evenly.

use flysch::store::{Entry, IndexPlan, Order, Probe, Solo, Store};
use flysch_chip::{Counts, FaultPlan, Prng};
use flysch_nand::Geometry;

use super::store_defects::{Counted, geometry, on_counted, plan};

const KEYS: u32 = 30_000;

/// A key among most of which lie near zero, and few far away.
fn key(number: u32) -> u64 {
    u64::from(number).pow(4)
}

/// The numbers of all keys, in any order.
fn shuffled(seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..KEYS).collect();
    Prng::new(seed).shuffle(&mut numbers);
    numbers
}

/// Put the keys. The store is mounted anew after each so many.
fn load(solo: &mut Solo<'_, Counted>, lives: usize) {
    let mut state = vec![0; Store::state_size_max(solo.store().config())];
    for (done, number) in shuffled(3).into_iter().enumerate() {
        let entry = Entry { code: key(number), pointer: number, ..Entry::default() };
        solo.insert(&entry).unwrap();
        if done % lives == lives - 1 {
            solo.flush().unwrap();
            solo.remount(&mut state).unwrap();
        }
    }
    solo.flush().unwrap();
    solo.settle().unwrap();
}

/// Mean reads of the index for a lookup of a key.
fn reads_of_lookups(solo: &mut Solo<'_, Counted>) -> f64 {
    solo.nand_mut().hooks = Counts::default();
    for number in shuffled(4) {
        let mut probe = Probe::new(solo.store().config(), 0, key(number));
        assert_eq!(solo.next(&mut probe).unwrap().map(|entry| entry.pointer), Some(number));
    }
    let reads = solo.nand_mut().hooks.0[0];
    f64::from(u32::try_from(reads).unwrap()) / f64::from(KEYS)
}

/// The fences of a level are chosen by its splitters, and by splitters that a mount brought back:
/// 2.0 reads, 3.4 without them.
#[test]
fn keys_that_lie_unevenly_take_few_reads() {
    let plan = IndexPlan { order: Order::Key, capacity: KEYS, ..plan() };
    let geometry = Geometry { block_count: 400, ..geometry(1024) };
    for (lives, wanted) in [(usize::MAX, 2.4), (700, 2.9)] {
        on_counted(plan, 8000, (geometry, FaultPlan::default()), |solo| {
            load(solo, lives);
            let mean = reads_of_lookups(solo);
            assert!(mean < wanted, "{mean} reads, mounted each {lives}");
        });
    }
}
