//! Byte-addressable memory: rules, times, wear, and what a power cut leaves of a write.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flysch_chip::{Clock, FaultInjector, Nor, NorFigures, Pram, PramFigures};
use flysch_nand::{Nand, NvRam, NvRamError, PageAddr, ReadError, WriteRule};

const PRAM: PramFigures = PramFigures { size: 4096, ..PramFigures::HYBRID_SQLITE };
const NOR: NorFigures = NorFigures { size: 4096, erase_size: 1024, ..NorFigures::AM29LV008B };

fn pram() -> Pram {
    Pram::new(PRAM, Clock::new(), 1)
}

fn read(memory: &mut impl NvRam, addr: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    memory.read(addr, &mut bytes).unwrap();
    bytes
}

#[test]
fn pram_overwrites() {
    let mut pram = pram();
    assert_eq!(
        (pram.size(), pram.write_rule(), pram.erase_size()),
        (4096, WriteRule::Overwrite, 0)
    );
    for byte in [0x55, 0xFF, 0x00] {
        pram.write(10, &[byte; 5]).unwrap();
        assert_eq!(read(&mut pram, 9, 7), [0, byte, byte, byte, byte, byte, 0]);
    }
}

#[test]
fn nor_clears_bits_and_erases_sectors() {
    let mut nor = Nor::new(NOR, Clock::new(), 1);
    assert_eq!(
        (nor.size(), nor.write_rule(), nor.erase_size()),
        (4096, WriteRule::ClearBits, 1024)
    );
    nor.write(1023, &[0xF0, 0x0F]).unwrap();
    nor.write(1023, &[0x30]).unwrap();
    nor.erase(1024).unwrap();
    assert_eq!(read(&mut nor, 1022, 4), [0xFF, 0x30, 0xFF, 0xFF]);
    assert_eq!(nor.erase_counts(), [0, 1, 0, 0]);
}

#[test]
fn words_take_their_time() {
    let clock = Clock::new();
    let mut pram = Pram::new(PRAM, clock.clone(), 1);
    let mut nor = Nor::new(NOR, clock.clone(), 1);
    let taken = |operate: &mut dyn FnMut() -> Result<(), NvRamError>| {
        let began = clock.now_ns();
        operate().unwrap();
        clock.now_ns() - began
    };
    assert_eq!(taken(&mut || pram.read(0, &mut [0; 4])), 160);
    assert_eq!(taken(&mut || pram.read(1, &mut [0; 4])), 240);
    assert_eq!(taken(&mut || pram.write(0, &[0; 4])), 2_000);
    assert_eq!(taken(&mut || pram.write(0, &[])), 0);
    assert_eq!(taken(&mut || nor.read(0, &mut [0; 4])), 280);
    assert_eq!(taken(&mut || nor.write(0, &[0; 4])), 36_000);
    assert_eq!(taken(&mut || nor.erase(0)), 700_000_000);
}

#[test]
fn every_breach_panics() {
    let breaches: [fn(); 6] = [
        || pram().write(4095, &[0, 0]).unwrap(),
        || pram().read(4096, &mut [0]).unwrap(),
        || pram().erase(0).unwrap(),
        || {
            let mut nor = Nor::new(NOR, Clock::new(), 1);
            nor.write(7, &[0xF0]).unwrap();
            nor.write(7, &[0xF1]).unwrap();
        },
        || Nor::new(NOR, Clock::new(), 1).erase(512).unwrap(),
        || Nor::new(NOR, Clock::new(), 1).erase(4096).unwrap(),
    ];
    for (number, breach) in breaches.into_iter().enumerate() {
        assert!(catch_unwind(AssertUnwindSafe(breach)).is_err(), "breach {number}");
    }
}

/// Write three times, with a power cut during the second write. Returns how far that write came.
fn prefix(memory: &mut impl NvRam, supply: &flysch_chip::Supply) -> usize {
    memory.write(0, &[0x77; 100]).unwrap();
    supply.arm(Some(1));
    memory.read(0, &mut [0; 8]).unwrap();
    assert_eq!(memory.write(0, &[0x33; 100]), Err(NvRamError::PowerLost));
    assert_eq!(memory.write(0, &[0x11; 100]), Err(NvRamError::PowerLost));
    assert_eq!(memory.read(0, &mut [0]), Err(NvRamError::PowerLost));
    assert_eq!(supply.operations(), 2);
    supply.power_up();
    let bytes = read(memory, 0, 100);
    let reached = bytes.iter().take_while(|&&byte| byte == 0x33).count();
    assert!(bytes[reached..].iter().all(|&byte| byte == 0x77));
    reached
}

#[test]
fn a_cut_leaves_a_prefix() {
    let mut reached = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let mut pram = Pram::new(PRAM, Clock::new(), seed);
        let supply = pram.supply();
        let came = prefix(&mut pram, &supply);
        let mut nor = Nor::new(NOR, Clock::new(), seed);
        let supply = nor.supply();
        assert_eq!(prefix(&mut nor, &supply), came, "the same seed, the same prefix");
        reached.insert(came);
    }
    assert!(reached.contains(&0) && reached.contains(&100) && reached.len() > 90);
}

#[test]
fn a_cut_erase_leaves_a_prefix() {
    for seed in 0..50 {
        let mut nor = Nor::new(NOR, Clock::new(), seed);
        nor.write(1024, &[0; 1024]).unwrap();
        nor.supply().arm(Some(0));
        assert_eq!(nor.erase(1024), Err(NvRamError::PowerLost));
        nor.supply().power_up();
        let bytes = read(&mut nor, 1024, 1024);
        let reached = bytes.iter().take_while(|&&byte| byte == 0xFF).count();
        assert!(bytes[reached..].iter().all(|&byte| byte == 0), "seed {seed}");
    }
}

#[test]
fn devices_on_one_supply_fail_together() {
    let chip = FaultInjector::new(crate::small_chip(&Clock::new()));
    let mut device = chip;
    let mut pram = Pram::on_supply(PRAM, Clock::new(), 1, device.supply());
    device.supply().arm(Some(1));
    device.read(PageAddr(0), 0, &mut [0]).unwrap();
    assert_eq!(pram.write(0, &[1]), Err(NvRamError::PowerLost));
    assert_eq!(device.read(PageAddr(0), 0, &mut [0]), Err(ReadError::PowerLost));
    device.power_up();
    pram.write(0, &[1]).unwrap();
}

#[test]
fn worn_lines_are_told_where_they_are() {
    let mut pram = Pram::new(PramFigures { endurance: 3, ..PRAM }, Clock::new(), 1);
    for _ in 0..3 {
        pram.write(64, &[1; 64]).unwrap();
    }
    assert_eq!(pram.write_count_max(), 3);
    assert_eq!(pram.write(60, &[2; 8]), Err(NvRamError::WornOut(64)));
    assert_eq!(read(&mut pram, 60, 8), [2, 2, 2, 2, 1, 1, 1, 1]);

    let mut nor = Nor::new(NorFigures { endurance: 2, ..NOR }, Clock::new(), 1);
    nor.erase(0).unwrap();
    nor.erase(0).unwrap();
    assert_eq!(nor.erase(0), Err(NvRamError::WornOut(0)));
}

#[test]
fn a_fork_does_not_touch_the_other() {
    let mut pram = pram();
    pram.write(0, &[1]).unwrap();
    let mut fork = pram.fork(Clock::new());
    fork.write(0, &[2]).unwrap();
    fork.supply().power_off();
    assert_eq!(read(&mut pram, 0, 1), [1]);
    fork.supply().power_up();
    assert_eq!(read(&mut fork, 0, 1), [2]);
    assert_eq!((pram.write_count_max(), fork.write_count_max()), (1, 2));

    let mut nor = Nor::new(NOR, Clock::new(), 1);
    let mut fork = nor.fork(Clock::new());
    fork.write(0, &[0]).unwrap();
    fork.erase(1024).unwrap();
    assert_eq!(read(&mut nor, 0, 1), [0xFF]);
    assert_eq!((nor.erase_counts()[1], fork.erase_counts()[1]), (0, 1));
}
