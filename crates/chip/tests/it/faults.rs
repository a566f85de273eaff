//! Faults other than power cuts: failing programs and erases, bit errors, bad blocks, wear.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part, Wear};
use flysch_nand::{BlockAddr, Ecc, EraseError, Nand, PageAddr, ProgramError, ReadError};

use crate::{PAGE_SIZE, SECTOR_SIZE, pattern, small_chip, small_injector, small_part};

const ALWAYS: u32 = 1_000_000;
const PAGE: PageAddr = PageAddr(9);
const BLOCK: BlockAddr = BlockAddr(1);

fn injector(plan: FaultPlan) -> FaultInjector {
    let mut device = small_injector();
    device.arm(plan);
    device
}

fn program(device: &mut FaultInjector, page: PageAddr) -> Result<(), ProgramError> {
    device.program(page, 0, &pattern(page, PAGE_SIZE), &[])
}

#[test]
fn a_block_that_fails_can_be_retired() {
    let plans = [
        FaultPlan { program_failures_ppm: ALWAYS, ..FaultPlan::default() },
        FaultPlan { failing_pages: BTreeSet::from([PAGE]), ..FaultPlan::default() },
        FaultPlan { grown_bad_blocks: BTreeMap::from([(BLOCK, 0)]), ..FaultPlan::default() },
    ];
    for plan in plans {
        let mut device = injector(plan);
        assert_eq!(program(&mut device, PAGE), Err(ProgramError::Failed(PAGE)));
        assert_eq!(*device.failures(), BTreeMap::from([(BLOCK, 1)]));
        device.mark_bad(BLOCK).unwrap();
        assert_eq!(device.is_bad(BLOCK), Ok(true));
    }
    let erasing = FaultPlan { erase_failures_ppm: ALWAYS, ..FaultPlan::default() };
    let mut device = injector(erasing);
    assert_eq!(device.erase(BLOCK), Err(EraseError::Failed(BLOCK)));
    assert_eq!(*device.failures(), BTreeMap::from([(BLOCK, 1)]));
    device.mark_bad(BLOCK).unwrap();
    assert_eq!(device.chip().wear().bad_block_count, 1);
}

/// A program that fails may take the sectors of its page along that were programmed before, or
/// leave them.
#[test]
fn a_failed_program_may_take_earlier_sectors_along() {
    let data = pattern(PAGE, PAGE_SIZE);
    let mut lost = 0;
    for seed in 0..100 {
        let mut device = small_injector();
        device.program(PAGE, 0, &data[..SECTOR_SIZE], &[]).unwrap();
        device.arm(FaultPlan { seed, program_failures_ppm: ALWAYS, ..FaultPlan::default() });
        let column = u32::try_from(SECTOR_SIZE).unwrap();
        let outcome = device.program(PAGE, column, &data[SECTOR_SIZE..], &[]);
        assert_eq!(outcome, Err(ProgramError::Failed(PAGE)));
        let mut first = [0; SECTOR_SIZE];
        match device.read(PAGE, 0, &mut first) {
            Ok(_) => assert_eq!(first, data[..SECTOR_SIZE], "seed {seed}"),
            Err(_) => lost += 1,
        }
    }
    assert!((20..80).contains(&lost), "{lost} of 100 are lost");
}

#[test]
fn a_block_goes_bad_at_its_time() {
    let grown_bad_blocks = BTreeMap::from([(BLOCK, 2)]);
    let mut device = injector(FaultPlan { grown_bad_blocks, ..FaultPlan::default() });
    program(&mut device, PAGE).unwrap();
    device.erase(BLOCK).unwrap();
    assert_eq!(program(&mut device, PAGE), Err(ProgramError::Failed(PAGE)));
    assert_eq!(device.erase(BLOCK), Err(EraseError::Failed(BLOCK)));
    device.erase(BlockAddr(2)).unwrap();
}

#[test]
fn rates_are_kept() {
    let plan = FaultPlan { erase_failures_ppm: 250_000, seed: 5, ..FaultPlan::default() };
    let mut device = injector(plan);
    let failures = (0..2_000).filter(|_| device.erase(BLOCK).is_err()).count();
    assert!((420..580).contains(&failures), "{failures} of 2000");

    let chip = Chip::new(Arc::new(Part::builtin("nandsim").unwrap()), Clock::new(), 1);
    let device = FaultInjector::with_factory_bad_rate(chip, 20_000, 3);
    let bad = device.chip().wear().bad_block_count;
    assert!((20..65).contains(&bad), "{bad} of 2048 blocks");
}

#[test]
fn factory_bad_blocks_are_marked_and_take_no_time() {
    let clock = Clock::new();
    let bad = [BlockAddr(2), BlockAddr(5)];
    let mut device = FaultInjector::with_factory_bad_blocks(small_chip(&clock), bad);
    assert_eq!(clock.now_ns(), 0);
    for block in (0..8).map(BlockAddr) {
        assert_eq!(device.is_bad(block), Ok(bad.contains(&block)));
    }
    let mut mark = [0xFF];
    device.read(PageAddr(16), 2048, &mut mark).unwrap();
    assert_eq!(mark, [0]);
}

#[test]
fn bit_errors_are_corrected_up_to_the_strength() {
    // The part corrects 1 bit in 256 bytes, which is 2 in a sector.
    for (errors, wanted) in [
        (0, Ok(Ecc::Clean)),
        (1, Ok(Ecc::Corrected(1))),
        (2, Ok(Ecc::Corrected(2))),
        (3, Err(ReadError::Uncorrectable(PAGE))),
        (u16::MAX, Err(ReadError::Uncorrectable(PAGE))),
    ] {
        let flawed_pages = BTreeMap::from([(PAGE, errors)]);
        let mut device = injector(FaultPlan { flawed_pages, ..FaultPlan::default() });
        program(&mut device, PAGE).unwrap();
        let mut bytes = [0; PAGE_SIZE];
        assert_eq!(device.read(PAGE, 0, &mut bytes), wanted);
        assert_eq!(bytes[..] == pattern(PAGE, PAGE_SIZE)[..], wanted.is_ok(), "{errors} errors");
        assert_eq!(bytes[SECTOR_SIZE..], pattern(PAGE, PAGE_SIZE)[SECTOR_SIZE..]);
        assert_eq!(device.read(PAGE, 2048, &mut [0; 8]), Ok(Ecc::Clean), "OOB has no ECC");
        assert_eq!(device.read(PageAddr(10), 0, &mut bytes), Ok(Ecc::Clean));
    }
}

#[test]
fn raw_bytes_are_the_same_at_every_read() {
    let flawed_pages = BTreeMap::from([(PAGE, 9)]);
    let mut device = injector(FaultPlan { flawed_pages, ..FaultPlan::default() });
    program(&mut device, PAGE).unwrap();
    let mut whole = [0; PAGE_SIZE];
    device.read(PAGE, 0, &mut whole).unwrap_err();
    let (start, end) = (100, 400);
    let mut part = [0; 300];
    device.read(PAGE, 100, &mut part).unwrap_err();
    assert_eq!(part, whole[start..end]);
}

#[test]
fn random_bit_errors_are_gone_at_the_next_read() {
    let read_errors_ppm = 500_000;
    let plan = FaultPlan { read_errors_ppm, read_error_bits_max: 4, ..FaultPlan::default() };
    let mut device = injector(plan);
    program(&mut device, PAGE).unwrap();
    let reads: Vec<_> = (0..400).map(|_| device.read(PAGE, 0, &mut [0; PAGE_SIZE])).collect();
    for wanted in [
        Ok(Ecc::Clean),
        Ok(Ecc::Corrected(1)),
        Ok(Ecc::Corrected(2)),
        Err(ReadError::Uncorrectable(PAGE)),
    ] {
        let count = reads.iter().filter(|outcome| **outcome == wanted).count();
        assert!(count > 20, "{wanted:?}: {count} of 400");
    }
}

#[test]
fn a_worn_block_fails_and_can_be_retired() {
    let part = Arc::new(Part { endurance: 10, ..small_part() });
    let mut chip = Chip::new(part, Clock::new(), 4);
    let lifetime = (0..100).find(|_| chip.erase(BLOCK).is_err()).unwrap();
    assert!((10..20).contains(&lifetime), "rated 10 cycles, failed after {lifetime}");
    let worn = chip.wear();
    assert_eq!((worn.erase_count_min, worn.erase_count_max), (0, lifetime + 1));
    chip.mark_bad(BLOCK).unwrap();
    assert_eq!(chip.wear(), Wear { bad_block_count: 1, ..Wear::default() });
}

#[test]
fn wear_is_summed_over_good_blocks() {
    let mut chip = small_chip(&Clock::new());
    for (block, erases) in (0..8).zip([3, 1, 1, 1, 1, 1, 5, 9]) {
        for _ in 0..erases {
            chip.erase(BlockAddr(block)).unwrap();
        }
    }
    chip.mark_bad(BlockAddr(7)).unwrap();
    let Wear { erase_count_min, erase_count_mean, erase_count_max, bad_block_count } = chip.wear();
    assert_eq!((erase_count_min, erase_count_max, bad_block_count), (1, 5, 1));
    assert!((erase_count_mean - 13.0 / 7.0).abs() < 1e-12);
    assert_eq!(chip.erase_counts(), [3, 1, 1, 1, 1, 1, 5, 9]);
}

#[test]
fn without_a_plan_nothing_changes() {
    let (clock, other) = (Clock::new(), Clock::new());
    let mut chip = small_chip(&clock);
    let mut device = FaultInjector::new(small_chip(&other));
    for page in (0..16).map(PageAddr) {
        let data = pattern(page, PAGE_SIZE);
        assert_eq!(chip.program(page, 0, &data, &[]), device.program(page, 0, &data, &[]));
    }
    assert_eq!(crate::content(&mut chip), crate::content(&mut device));
    assert_eq!(clock.now_ns(), other.now_ns());
}

#[test]
fn a_fork_does_not_touch_the_other() {
    let mut chip = small_chip(&Clock::new());
    chip.program(PAGE, 0, &pattern(PAGE, PAGE_SIZE), &[]).unwrap();
    let clock = Clock::new();
    let mut fork = chip.fork(clock.clone());
    let before = crate::content(&mut chip);
    assert_eq!(crate::content(&mut fork), before);
    fork.erase(BLOCK).unwrap();
    fork.program(PageAddr(10), 0, &pattern(PAGE, PAGE_SIZE), &[]).unwrap();
    fork.mark_bad(BlockAddr(4)).unwrap();
    assert_eq!(crate::content(&mut chip), before);
    assert_eq!(chip.is_bad(BlockAddr(4)), Ok(false));
    assert_eq!((chip.erase_counts()[1], fork.erase_counts()[1]), (0, 1));
    chip.erase(BLOCK).unwrap();
    let mut bytes = [0; PAGE_SIZE];
    fork.read(PageAddr(10), 0, &mut bytes).unwrap();
    assert_eq!(bytes[..], pattern(PAGE, PAGE_SIZE)[..]);
}
