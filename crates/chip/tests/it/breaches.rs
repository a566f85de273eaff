//! Every breach of the contract panics, and the panic says what was wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use flysch_chip::{Chip, Clock, Ending, FaultInjector, FaultPlan, Part};
use flysch_nand::{BlockAddr, Geometry, Nand, PageAddr};

use crate::{OOB_SIZE, PAGE_SIZE, SECTOR_SIZE, small_injector, small_part};

const ZEROS: [u8; PAGE_SIZE] = [0; PAGE_SIZE];

fn in_order_injector() -> FaultInjector {
    let part = small_part();
    let geometry = Geometry { in_order: true, ..part.geometry };
    FaultInjector::new(Chip::new(Arc::new(Part { geometry, ..part }), Clock::new(), 1))
}

fn program(device: &mut FaultInjector, page: u32, column: usize, data: &[u8], oob: &[u8]) {
    let column = u32::try_from(column).unwrap();
    device.program(PageAddr(page), column, data, oob).unwrap();
}

/// A name, a part of the panic's text, and the breach.
type Breach = (&'static str, &'static str, fn(&mut FaultInjector));

const BREACHES: [Breach; 17] = [
    ("page programmed twice", "programmed sector", |device| {
        program(device, 3, 0, &ZEROS, &[]);
        program(device, 3, 0, &ZEROS, &[]);
    }),
    ("sector programmed twice", "programmed sector", |device| {
        program(device, 3, SECTOR_SIZE, &ZEROS[..SECTOR_SIZE], &[]);
        program(device, 3, 0, &ZEROS[..2 * SECTOR_SIZE], &[]);
    }),
    ("a sector programmed with 0xFF alone", "programmed sector", |device| {
        program(device, 3, 0, &[0xFF; SECTOR_SIZE], &[]);
        program(device, 3, 0, &ZEROS[..SECTOR_SIZE], &[]);
    }),
    ("one program too many", "more than 4 times", |device| {
        for _ in 0..5 {
            program(device, 3, 0, &[], &[0xFF, 0]);
        }
    }),
    ("program out of order", "after a later page", |device| {
        *device = in_order_injector();
        program(device, 3, 0, &ZEROS, &[]);
        program(device, 2, 0, &ZEROS, &[]);
    }),
    ("program before a page that a cut erase left", "after a later page", |device| {
        *device = in_order_injector();
        (0..8).for_each(|page| program(device, page, 0, &ZEROS, &[]));
        let ending = Some(Ending::Scattered);
        device.arm(FaultPlan { cut_at: Some(0), ending, ..FaultPlan::default() });
        device.erase(BlockAddr(0)).unwrap_err();
        device.power_up();
        let mut is_left = |page| {
            let mut byte = [0xFF];
            device.read(PageAddr(page), 0, &mut byte).unwrap();
            byte == [0]
        };
        let last = (0..8).rposition(&mut is_left).unwrap();
        let blank = (0..8).position(|page| !is_left(page)).filter(|&blank| blank < last).unwrap();
        program(device, u32::try_from(blank).unwrap(), 0, &ZEROS, &[]);
    }),
    ("program within a sector", "sector boundary", |device| {
        program(device, 3, 1, &ZEROS[..SECTOR_SIZE], &[]);
    }),
    ("program of part of a sector", "sector boundary", |device| {
        program(device, 3, 0, &ZEROS[..SECTOR_SIZE - 1], &[]);
    }),
    ("program past the data", "past the page", |device| {
        program(device, 3, SECTOR_SIZE, &ZEROS, &[]);
    }),
    ("OOB too long", "longer than the OOB area", |device| {
        program(device, 3, 0, &[], &[0xFF; OOB_SIZE + 1]);
    }),
    ("the bad-block mark written over", "bad-block mark", |device| {
        program(device, 8, 0, &[], &[0]);
    }),
    ("program of a bad block", "bad block", |device| {
        device.mark_bad(BlockAddr(0)).unwrap();
        program(device, 3, 0, &ZEROS, &[]);
    }),
    ("erase of a bad block", "erase of bad block 2", |device| {
        device.mark_bad(BlockAddr(2)).unwrap();
        device.erase(BlockAddr(2)).unwrap();
    }),
    ("read beyond the chip", "page 64 is beyond", |device| {
        device.read(PageAddr(64), 0, &mut [0]).unwrap();
    }),
    ("erase beyond the chip", "block 8 is beyond", |device| {
        device.erase(BlockAddr(8)).unwrap();
    }),
    ("read past the page", "read past page 3", |device| {
        device.read(PageAddr(3), 0, &mut [0; PAGE_SIZE + OOB_SIZE + 1]).unwrap();
    }),
    ("a breach while the power fails", "programmed sector", |device| {
        program(device, 3, 0, &ZEROS, &[]);
        let ending = Some(Ending::NotBegun);
        device.arm(FaultPlan { cut_at: Some(0), ending, ..FaultPlan::default() });
        program(device, 3, 0, &ZEROS, &[]);
    }),
];

#[test]
fn every_breach_panics() {
    for (name, said, breach) in BREACHES {
        let mut device = small_injector();
        let outcome = catch_unwind(AssertUnwindSafe(|| breach(&mut device)));
        let panic = outcome.expect_err(name);
        let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = literal.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap();
        assert!(text.contains(said), "{name}: {text}");
    }
}

#[test]
fn what_comes_close_to_a_breach_is_allowed() {
    let mut device = in_order_injector();
    program(&mut device, 1, 0, &ZEROS[..SECTOR_SIZE], &[]);
    program(&mut device, 1, SECTOR_SIZE, &ZEROS[..3 * SECTOR_SIZE], &[]);
    program(&mut device, 5, 0, &ZEROS, &[0xFF, 0]);
    program(&mut device, 8, 0, &ZEROS, &[0xFF, 0]);
    device.erase(BlockAddr(0)).unwrap();
    program(&mut device, 0, 0, &ZEROS, &[]);
    device.mark_bad(BlockAddr(0)).unwrap();
    device.mark_bad(BlockAddr(0)).unwrap();
    assert_eq!(device.is_bad(BlockAddr(0)), Ok(true));
}
