//! Power cuts: each operation may end in each way, and no ending breaks the rules of the chip.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Clock, Ending, FaultInjector, FaultPlan, Pram, PramFigures};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Nand, NvRam, NvRamError, PageAddr, PowerLost, ProgramError,
    ReadError,
};

use crate::{OOB_SIZE, PAGE_SIZE, SECTOR_SIZE, content, pattern, small_injector};

const SEEDS: u64 = 200;
const PAGE: PageAddr = PageAddr(9);
const BLOCK: BlockAddr = BlockAddr(1);
const OOB: [u8; 8] = [0xFF, 0xFF, 1, 2, 3, 4, 5, 6];

fn sector(number: usize) -> u32 {
    u32::try_from(number * SECTOR_SIZE).unwrap()
}

/// A chip whose page [`PAGE`] has its first sector programmed, and the rest cut while it was
/// programmed.
fn cut_program(seed: u64, ending: Option<Ending>, data: &[u8]) -> FaultInjector {
    let mut device = small_injector();
    device.program(PAGE, 0, &data[..SECTOR_SIZE], &[]).unwrap();
    device.arm(FaultPlan { seed, cut_at: Some(0), ending, ..FaultPlan::default() });
    let outcome = device.program(PAGE, sector(1), &data[SECTOR_SIZE..], &OOB);
    assert_eq!(outcome, Err(ProgramError::PowerLost));
    device
}

#[test]
fn a_cut_program_spares_what_was_there() {
    let data = pattern(PAGE, PAGE_SIZE);
    for (seed, ending) in (0..SEEDS).flat_map(|seed| Ending::ALL.map(|ending| (seed, ending))) {
        let mut device = cut_program(seed, Some(ending), &data);
        device.power_up();
        let mut first = [0; SECTOR_SIZE];
        assert_eq!(device.read(PAGE, 0, &mut first), Ok(Ecc::Clean), "{ending:?}, seed {seed}");
        assert_eq!(first, data[..SECTOR_SIZE], "{ending:?}, seed {seed}");
    }
}

#[test]
fn a_cut_program_only_clears_bits_it_was_to_clear() {
    let data = pattern(PAGE, PAGE_SIZE);
    for (seed, ending) in (0..SEEDS).flat_map(|seed| Ending::ALL.map(|ending| (seed, ending))) {
        let mut device = cut_program(seed, Some(ending), &data);
        device.power_up();
        for number in 1..4 {
            let mut bytes = [0; SECTOR_SIZE];
            let Ok(_) = device.read(PAGE, sector(number), &mut bytes) else { continue };
            let wanted = &data[number * SECTOR_SIZE..][..SECTOR_SIZE];
            let reached = bytes.iter().zip(wanted).take_while(|(byte, wanted)| byte == wanted);
            let reached = reached.count();
            assert!(bytes[reached..].iter().all(|&byte| byte == 0xFF), "{ending:?}, seed {seed}");
            if reached == 0 {
                device.program(PAGE, sector(number), wanted, &[]).unwrap();
                device.read(PAGE, sector(number), &mut bytes).unwrap();
                assert_eq!(bytes, wanted, "{ending:?}, seed {seed}");
                break;
            }
        }
    }
}

/// The state that a cut program left in sectors 1 to 3 and the OOB area.
fn outcome_of(seed: u64, ending: Option<Ending>) -> &'static str {
    let data = pattern(PAGE, PAGE_SIZE);
    let mut device = cut_program(seed, ending, &data);
    device.power_up();
    let mut bytes = vec![0; PAGE_SIZE - SECTOR_SIZE + OOB.len()];
    let outcome = device.read(PAGE, sector(1), &mut bytes);
    match outcome {
        Err(_) => "uncorrectable",
        Ok(_) if bytes.iter().all(|&byte| byte == 0xFF) => "blank",
        Ok(_) if bytes == [&data[SECTOR_SIZE..], &OOB].concat() => "complete",
        Ok(_) => "torn",
    }
}

#[test]
fn each_ending_of_a_program_comes_about() {
    for seed in 0..SEEDS {
        assert_eq!(outcome_of(seed, Some(Ending::NotBegun)), "blank", "seed {seed}");
        assert_eq!(outcome_of(seed, Some(Ending::Complete)), "complete", "seed {seed}");
        assert_eq!(outcome_of(seed, Some(Ending::Marginal)), "uncorrectable", "seed {seed}");
    }
    for wanted in ["blank", "torn", "uncorrectable", "complete"] {
        let found = (0..SEEDS).filter(|&seed| outcome_of(seed, None) == wanted).count();
        assert!(found > 10, "{wanted}: {found} of {SEEDS}");
    }
}

/// Sectors of a torn page are lost one by one: the others can be read.
#[test]
fn a_torn_page_may_be_read_in_part() {
    let data = pattern(PAGE, PAGE_SIZE);
    let mut mixed = 0;
    for seed in 0..SEEDS {
        let mut device = cut_program(seed, Some(Ending::Torn), &data);
        device.power_up();
        let mut read = |number| device.read(PAGE, sector(number), &mut [0; 16]);
        let outcomes = [read(1), read(2), read(3)];
        let lost = Err(ReadError::Uncorrectable(PAGE));
        let lost_count = outcomes.iter().filter(|outcome| **outcome == lost).count();
        mixed += u32::from((1..3).contains(&lost_count));
        let whole = device.read(PAGE, 0, &mut [0; PAGE_SIZE]);
        assert_eq!(whole.is_err(), lost_count > 0, "seed {seed}: {outcomes:?}");
    }
    assert!(mixed > 20, "{mixed} of {SEEDS}");
}

/// A chip whose block [`BLOCK`] was full, and was cut while it was erased.
fn cut_erase(seed: u64, ending: Ending) -> FaultInjector {
    let mut device = small_injector();
    fill(&mut device);
    let plan = FaultPlan { seed, cut_at: Some(0), ending: Some(ending), ..FaultPlan::default() };
    device.arm(plan);
    assert_eq!(device.erase(BLOCK), Err(EraseError::PowerLost));
    device.power_up();
    device
}

fn fill(device: &mut FaultInjector) {
    for page in (8..16).map(PageAddr) {
        device.program(page, 0, &pattern(page, PAGE_SIZE), &OOB).unwrap();
    }
}

/// An erase after the cut leaves blank pages, which take programs.
fn erase_and_fill(device: &mut FaultInjector) {
    device.erase(BLOCK).unwrap();
    for page in (8..16).map(PageAddr) {
        let mut bytes = [0; PAGE_SIZE + OOB_SIZE];
        assert_eq!(device.read(page, 0, &mut bytes), Ok(Ecc::Clean));
        assert_eq!(bytes, [0xFF; PAGE_SIZE + OOB_SIZE]);
    }
    fill(device);
}

#[test]
fn a_half_erased_block_can_be_erased_again() {
    let mut counts: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    for (seed, ending) in (0..SEEDS).flat_map(|seed| Ending::ALL.map(|ending| (seed, ending))) {
        let mut device = cut_erase(seed, ending);
        let kinds = counts.entry(format!("{ending:?}")).or_default();
        for page in (8..16).map(PageAddr) {
            let mut bytes = [0; PAGE_SIZE];
            let kind = match device.read(page, 0, &mut bytes) {
                Err(_) => 0,
                Ok(_) if bytes == [0xFF; PAGE_SIZE] => 1,
                Ok(_) if bytes == pattern(page, PAGE_SIZE)[..] => 2,
                Ok(_) => panic!("{page} is neither blank nor as it was: {ending:?}, seed {seed}"),
            };
            kinds[kind] += 1;
        }
        erase_and_fill(&mut device);
    }
    // Pages are lost, blank, and as before.
    let [torn, marginal] = [Ending::Torn, Ending::Marginal].map(|it| counts[&format!("{it:?}")]);
    assert!(torn.iter().all(|&count| count > 200), "{counts:?}");
    assert!(marginal[..2].iter().all(|&count| count > 200), "{counts:?}");
    assert_eq!(counts["NotBegun"][..2], [0, 0]);
    assert_eq!([counts["Complete"][0], counts["Complete"][2]], [0, 0]);
}

/// Bit errors stay until their page is erased.
#[test]
fn a_half_erased_page_is_lost_or_blank() {
    let data = pattern(PAGE, PAGE_SIZE);
    let mut blank = 0;
    for seed in 0..SEEDS {
        let mut device = cut_program(seed, Some(Ending::Marginal), &data);
        device.power_up();
        let ending = Some(Ending::Torn);
        device.arm(FaultPlan { seed, cut_at: Some(0), ending, ..FaultPlan::default() });
        assert_eq!(device.erase(BLOCK), Err(EraseError::PowerLost));
        device.power_up();
        let mut bytes = [0; PAGE_SIZE];
        if device.read(PAGE, 0, &mut bytes).is_ok() {
            assert_eq!(bytes, [0xFF; PAGE_SIZE], "seed {seed}");
            blank += 1;
        }
    }
    assert!(blank > 20, "{blank} of {SEEDS}");
}

/// What is seen of a page, in three reads: its sectors, blank, whole or neither, and the verdict.
fn sights(device: &mut FaultInjector, page: PageAddr, data: &[u8]) -> [(Vec<char>, bool); 3] {
    [(); 3].map(|()| {
        let mut bytes = [0; PAGE_SIZE];
        let is_clean = device.read(page, 0, &mut bytes) == Ok(Ecc::Clean);
        let sectors = bytes.chunks(SECTOR_SIZE).zip(data.chunks(SECTOR_SIZE));
        let kinds = sectors.map(|(bytes, wanted)| match bytes {
            bytes if bytes == wanted => 'w',
            bytes if bytes.iter().all(|&byte| byte == 0xFF) => 'b',
            _ => 'n',
        });
        (kinds.collect(), is_clean)
    })
}

/// A program of a whole page that ended in this way.
fn ended(seed: u64, ending: Ending, data: &[u8]) -> FaultInjector {
    let mut device = small_injector();
    device.arm(FaultPlan { seed, cut_at: Some(0), ending: Some(ending), ..FaultPlan::default() });
    assert_eq!(device.program(PAGE, 0, data, &OOB), Err(ProgramError::PowerLost));
    device.power_up();
    device
}

/// Cells that ECC finds no fault with, and that are not what was programmed.
#[test]
fn a_cut_program_may_deceive() {
    let data = pattern(PAGE, PAGE_SIZE);
    let (mut holes, mut noisy, mut fickle) = (0, 0, 0);
    for seed in 0..SEEDS {
        let seen = sights(&mut ended(seed, Ending::Scattered, &data), PAGE, &data);
        assert!(seen.iter().all(|(kinds, is_clean)| *is_clean && !kinds.contains(&'n')));
        let missing = seen[0].0.iter().position(|kind| *kind == 'b');
        holes += u32::from(missing.is_some_and(|at| seen[0].0[at..].contains(&'w')));
        let seen = sights(&mut ended(seed, Ending::Noisy, &data), PAGE, &data);
        assert!(seen.iter().all(|sight| *sight == seen[0] && sight.1), "seed {seed}");
        noisy += u32::from(seen[0].0.contains(&'n'));
        let seen = sights(&mut ended(seed, Ending::Unseen, &data), PAGE, &data);
        assert!(seen.iter().all(|sight| *sight == (vec!['b'; 4], true)), "seed {seed}");
        let mut device = ended(seed, Ending::Unsteady, &data);
        let seen = sights(&mut device, PAGE, &data);
        fickle += u32::from(seen.iter().any(|sight| *sight != seen[0]));
        device.erase(BLOCK).unwrap();
        let seen = sights(&mut device, PAGE, &data);
        assert!(seen.iter().all(|sight| *sight == (vec!['b'; 4], true)), "an erase ends it");
    }
    let seeds = u32::try_from(SEEDS).unwrap();
    assert!(
        holes > seeds / 4 && noisy > seeds / 2 && fickle > seeds / 2,
        "{holes} {noisy} {fickle}"
    );
}

/// A cut erase leaves pages that read as blank, as before, or as something between, with a clean
/// verdict, or as another of these each time; a second erase mends them.
#[test]
fn a_cut_erase_may_deceive() {
    let deceits = [Ending::Scattered, Ending::Noisy, Ending::Unseen, Ending::Unsteady];
    let mut kinds_of: BTreeMap<String, BTreeSet<char>> = BTreeMap::new();
    for (seed, ending) in (0..SEEDS / 4).flat_map(|seed| deceits.map(|ending| (seed, ending))) {
        let mut device = cut_erase(seed, ending);
        let pages = (8..16).map(PageAddr);
        let seen: Vec<_> =
            pages.map(|page| sights(&mut device, page, &pattern(page, PAGE_SIZE))).collect();
        let is_steady = seen.iter().all(|sights| sights.iter().all(|sight| *sight == sights[0]));
        assert_eq!(is_steady, ending != Ending::Unsteady, "{ending:?}, seed {seed}");
        let has_noise = seen.iter().flatten().any(|(kinds, _)| kinds.contains(&'n'));
        assert!(!has_noise || matches!(ending, Ending::Noisy | Ending::Unsteady), "{ending:?}");
        let kinds = seen.iter().flatten().flat_map(|(kinds, _)| kinds.iter().copied());
        kinds_of.entry(format!("{ending:?}")).or_default().extend(kinds);
        erase_and_fill(&mut device);
    }
    assert!(kinds_of["Noisy"].contains(&'n') && kinds_of["Noisy"].len() > 1, "{kinds_of:?}");
    assert!(kinds_of["Scattered"].len() == 2 && kinds_of["Unsteady"].len() > 1, "{kinds_of:?}");
}

/// A program that left no bit to be seen has used its page all the same.
#[test]
fn an_unseen_program_counts() {
    let data = pattern(PAGE, PAGE_SIZE);
    let mut device = ended(1, Ending::Unseen, &data);
    let again = std::panic::AssertUnwindSafe(|| device.program(PAGE, 0, &data, &OOB));
    assert!(std::panic::catch_unwind(again).is_err(), "a second program is a breach");
}

#[test]
fn while_the_power_is_off_nothing_happens() {
    let mut device = cut_program(1, Some(Ending::Torn), &pattern(PAGE, PAGE_SIZE));
    let operations = device.operations();
    assert_eq!(device.read(PAGE, 0, &mut [0]), Err(ReadError::PowerLost));
    assert_eq!(device.program(PageAddr(0), 0, &[], &[0xFF]), Err(ProgramError::PowerLost));
    assert_eq!(device.erase(BLOCK), Err(EraseError::PowerLost));
    assert_eq!(device.is_bad(BLOCK), Err(PowerLost));
    assert_eq!(device.mark_bad(BLOCK), Err(PowerLost));
    assert!(!device.is_on());
    assert_eq!(device.operations(), operations);
    device.power_up();
    assert_eq!(device.is_bad(BLOCK), Ok(false));
}

/// Do one operation of each kind.
fn run(device: &mut FaultInjector) -> Result<(), PowerLost> {
    let lost = |_| PowerLost;
    device.is_bad(BLOCK)?;
    device.erase(BLOCK).map_err(|_| PowerLost)?;
    device.program(PAGE, 0, &pattern(PAGE, PAGE_SIZE), &OOB).map_err(|_| PowerLost)?;
    device.program(PageAddr(8), 0, &[], &OOB).map_err(|_| PowerLost)?;
    device.read(PAGE, 0, &mut [0; PAGE_SIZE]).map_err(lost)?;
    device.read(PAGE, 2048, &mut [0; 8]).map_err(lost)?;
    device.mark_bad(BlockAddr(3))
}

#[test]
fn a_test_can_cut_at_every_operation() {
    let mut device = small_injector();
    run(&mut device).unwrap();
    let operations = device.operations();
    assert_eq!(operations, 7);
    for cut_at in 0..operations {
        let mut device = small_injector();
        device.arm(FaultPlan { cut_at: Some(cut_at), ..FaultPlan::default() });
        assert_eq!(run(&mut device), Err(PowerLost));
        assert_eq!(device.operations(), cut_at + 1);
        device.power_up();
        assert!(device.is_bad(BlockAddr(3)).is_ok_and(|bad| !bad || cut_at == operations - 1));
    }
}

#[test]
fn the_same_seed_ends_the_same_way() {
    let data = pattern(PAGE, PAGE_SIZE);
    for seed in 0..20 {
        let [one, other] = [(), ()].map(|()| {
            let mut device = cut_program(seed, None, &data);
            device.power_up();
            content(&mut device)
        });
        assert_eq!(one, other, "seed {seed}");
    }
}

/// A program that is cut and fades is read well a few times, then no more, until its block is
/// erased. A page that an erase left so turns to noise with what was programmed to it.
#[test]
fn a_page_may_fade() {
    let data = pattern(PAGE, PAGE_SIZE);
    let mut lasting = 0;
    for seed in 0..SEEDS {
        let mut device = ended(seed, Ending::Fading, &data);
        let mut read = || device.read(PAGE, 0, &mut [0; PAGE_SIZE]).is_ok();
        let seen = [(); 8].map(|()| read());
        let good = seen.iter().take_while(|good| **good).count();
        assert!(good <= 4 && seen[good..].iter().all(|good| !good), "{seen:?}");
        lasting += usize::from(good > 0);
        device.erase(BLOCK).unwrap();
        assert!((0..8).all(|_| device.read(PAGE, 0, &mut [0; PAGE_SIZE]).is_ok()));
    }
    assert!(lasting > 100, "{lasting}");
    let mut faded = 0;
    for seed in 0..SEEDS / 4 {
        let mut device = small_injector();
        let plan = FaultPlan {
            seed,
            cut_at: Some(0),
            ending: Some(Ending::Fading),
            ..FaultPlan::default()
        };
        device.arm(plan);
        device.erase(BLOCK).unwrap_err();
        device.power_up();
        for page in (8..16).map(PageAddr) {
            device.program(page, 0, &pattern(page, PAGE_SIZE), &OOB).unwrap();
        }
        for page in (8..16).map(PageAddr) {
            let reads = [(); 6].map(|()| device.read(page, 0, &mut [0; PAGE_SIZE]).is_err());
            faded += usize::from(reads[5]);
        }
    }
    assert!((100..300).contains(&faded), "{faded} of 400");
}

/// On a part with two bits in a cell, a cut takes an earlier page along, or does not.
#[test]
fn a_cut_may_take_the_paired_page_along() {
    let mut lost = 0;
    for seed in 0..SEEDS {
        let mut device = small_injector();
        let pages = (8..12).map(PageAddr);
        for page in pages.clone() {
            device.program(page, 0, &pattern(page, PAGE_SIZE), &[]).unwrap();
        }
        let paired_distance = Some(3);
        device.arm(FaultPlan { seed, cut_at: Some(0), paired_distance, ..FaultPlan::default() });
        device.program(PageAddr(12), 0, &pattern(PAGE, PAGE_SIZE), &[]).unwrap_err();
        device.power_up();
        let mut read = |page| device.read(page, 0, &mut [0; PAGE_SIZE]).is_ok();
        let good: Vec<bool> = pages.map(&mut read).collect();
        assert!(good[0] && good[2] && good[3], "{good:?}, seed {seed}");
        lost += usize::from(!good[1]);
    }
    assert!((60..140).contains(&lost), "{lost} of {SEEDS}");
}

#[test]
fn reads_disturb_the_pages_beside() {
    let mut device = small_injector();
    for page in (8..16).map(PageAddr) {
        device.program(page, 0, &pattern(page, PAGE_SIZE), &[]).unwrap();
    }
    device.arm(FaultPlan { read_disturb: Some(10), ..FaultPlan::default() });
    for _ in 0..100 {
        assert_eq!(device.read(PAGE, 0, &mut [0; PAGE_SIZE]), Ok(Ecc::Clean));
    }
    let mut bytes = [0; PAGE_SIZE];
    let corrected = (8..16).map(PageAddr).filter(|&page| {
        let outcome = device.read(page, 0, &mut bytes);
        assert_eq!(bytes[..], pattern(page, PAGE_SIZE)[..]);
        matches!(outcome, Ok(Ecc::Corrected(_)))
    });
    assert!((2..8).contains(&corrected.count()));
    device.erase(BLOCK).unwrap();
    assert_eq!(device.read(PAGE, 0, &mut bytes), Ok(Ecc::Clean));
}

/// A page that ECC gave up does not become readable by the disturbance of its neighbours.
#[test]
fn a_lost_page_stays_lost_while_reads_disturb_it() {
    let mut device = cut_program(1, Some(Ending::Marginal), &pattern(PAGE, PAGE_SIZE));
    device.power_up();
    device.arm(FaultPlan { read_disturb: Some(1), ..FaultPlan::default() });
    for _ in 0..400 {
        device.read(PageAddr(8), 0, &mut [0; 16]).unwrap();
    }
    for number in 1..4 {
        let outcome = device.read(PAGE, sector(number), &mut [0; 16]);
        assert_eq!(outcome, Err(ReadError::Uncorrectable(PAGE)), "sector {number}");
    }
}

/// A cut mark is there, unless the operation did not begin.
#[test]
fn a_cut_mark_is_made_or_not_begun() {
    for ending in Ending::KNOWN {
        let mut device = small_injector();
        let ended = Some(ending);
        device.arm(FaultPlan { cut_at: Some(0), ending: ended, ..FaultPlan::default() });
        assert_eq!(device.mark_bad(BLOCK), Err(PowerLost));
        device.power_up();
        assert_eq!(device.is_bad(BLOCK), Ok(ending != Ending::NotBegun), "{ending:?}");
    }
}

/// Cuts are placed among the changes alone, too. From then on the power is off.
#[test]
fn a_test_can_cut_at_every_change() {
    for cut_at_change in 0..4 {
        let mut device = small_injector();
        device.arm(FaultPlan { cut_at_change: Some(cut_at_change), ..FaultPlan::default() });
        assert_eq!(run(&mut device), Err(PowerLost));
        assert!(!device.is_on(), "{cut_at_change}");
        assert_eq!(device.read(PAGE, 0, &mut [0]), Err(ReadError::PowerLost));
        device.power_up();
        assert_eq!(run(&mut device), Ok(()), "the cut is over");
    }
    let mut device = small_injector();
    device.arm(FaultPlan { cut_at_change: Some(4), ..FaultPlan::default() });
    assert_eq!(run(&mut device), Ok(()));
}

/// A write to a memory on the same supply is a change as well, and can be cut.
#[test]
fn a_write_to_a_memory_on_the_supply_is_a_change() {
    let mut device = small_injector();
    let figures = PramFigures { size: 4096, ..PramFigures::HYBRID_SQLITE };
    let mut memory = Pram::on_supply(figures, Clock::new(), 1, device.supply());
    device.arm(FaultPlan { cut_at_change: Some(1), ..FaultPlan::default() });
    device.erase(BLOCK).unwrap();
    memory.read(0, &mut [0; 64]).unwrap();
    memory.reseed(7);
    assert_eq!(memory.write(0, &[1; 64]), Err(NvRamError::PowerLost));
    assert!(!device.is_on(), "the supply of both is off");
    assert_eq!(device.erase(BLOCK), Err(EraseError::PowerLost));
}
