//! Random allowed operations on a chip and on a mirror, which is an array of plain bytes.

use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, Part, Recorder, Tracer};
use flysch_nand::{BlockAddr, Ecc, Geometry, Nand, PageAddr};
use proptest::prelude::*;

use crate::{OOB_SIZE, PAGE_SIZE, SECTOR_SIZE, small_part};

#[derive(Clone, Debug)]
enum Operation {
    Read { page: u32, column: usize, len: usize },
    Program { page: u32, sectors: std::ops::Range<usize>, byte: u8, oob_len: usize },
    Erase { block: u32 },
    MarkBad { block: u32 },
    Fork,
}

fn operation() -> impl Strategy<Value = Operation> {
    let bytes = PAGE_SIZE + OOB_SIZE;
    prop_oneof![
        6 => (0..64_u32, 0..bytes, 0..bytes).prop_map(move |(page, column, len)| {
            Operation::Read { page, column, len: len.min(bytes - column) }
        }),
        9 => (0..64_u32, 0..4_usize, 0..=4_usize, any::<u8>(), 0..OOB_SIZE).prop_map(
            |(page, start, count, byte, oob_len)| {
                let sectors = start..(start + count).min(4);
                Operation::Program { page, sectors, byte, oob_len }
            }
        ),
        3 => (0..8_u32).prop_map(|block| Operation::Erase { block }),
        1 => (0..8_u32).prop_map(|block| Operation::MarkBad { block }),
        1 => Just(Operation::Fork),
    ]
}

/// What the chip should hold, and what is needed to know which operations are allowed.
struct Mirror {
    in_order: bool,
    cells: Vec<[u8; PAGE_SIZE + OOB_SIZE]>,
    programs: Vec<u32>,
    sectors: Vec<[bool; 4]>,
    bad: [bool; 8],
}

impl Mirror {
    fn new(in_order: bool) -> Self {
        let cells = vec![[0xFF; PAGE_SIZE + OOB_SIZE]; 64];
        Self {
            in_order,
            cells,
            programs: vec![0; 64],
            sectors: vec![[false; 4]; 64],
            bad: [false; 8],
        }
    }

    fn may_program(&self, page: usize, sectors: std::ops::Range<usize>) -> bool {
        let block_end = (page / 8 + 1) * 8;
        let in_order = self.programs[page + 1..block_end].iter().all(|&programs| programs == 0);
        !self.bad[page / 8]
            && self.programs[page] < 4
            && !self.sectors[page][sectors].contains(&true)
            && (!self.in_order || in_order)
    }

    fn program(&mut self, page: usize, column: usize, data: &[u8], oob: &[u8]) {
        self.programs[page] += 1;
        self.sectors[page][column / SECTOR_SIZE..][..data.len() / SECTOR_SIZE].fill(true);
        let (page_cells, oob_cells) = self.cells[page].split_at_mut(PAGE_SIZE);
        for (cell, byte) in page_cells[column..].iter_mut().zip(data) {
            *cell &= byte;
        }
        for (cell, byte) in oob_cells.iter_mut().zip(oob) {
            *cell &= byte;
        }
    }

    fn erase(&mut self, block: usize) {
        let pages = block * 8..(block + 1) * 8;
        self.cells[pages.clone()].fill([0xFF; PAGE_SIZE + OOB_SIZE]);
        self.programs[pages.clone()].fill(0);
        self.sectors[pages].fill([false; 4]);
    }
}

fn apply(device: &mut Tracer<FaultInjector>, mirror: &mut Mirror, operation: Operation) {
    match operation {
        Operation::Read { page, column, len } => {
            let mut bytes = vec![0; len];
            let outcome = device.read(PageAddr(page), u32::try_from(column).unwrap(), &mut bytes);
            assert_eq!(outcome, Ok(Ecc::Clean));
            assert_eq!(bytes, mirror.cells[page as usize][column..][..len], "page {page}");
        }
        Operation::Program { page, sectors, byte, oob_len } => {
            let column = sectors.start * SECTOR_SIZE;
            let data: Vec<u8> = (0..sectors.len() * SECTOR_SIZE)
                .map(|place| byte.wrapping_mul(31) ^ u8::try_from(place % 256).unwrap())
                .collect();
            let mut oob = vec![byte; oob_len];
            oob.iter_mut().take(1).for_each(|mark| *mark = 0xFF);
            if mirror.may_program(page as usize, sectors) {
                let start = u32::try_from(column).unwrap();
                device.program(PageAddr(page), start, &data, &oob).unwrap();
                mirror.program(page as usize, column, &data, &oob);
            }
        }
        Operation::Erase { block } if !mirror.bad[block as usize] => {
            device.erase(BlockAddr(block)).unwrap();
            mirror.erase(block as usize);
        }
        Operation::Erase { block } => assert_eq!(device.is_bad(BlockAddr(block)), Ok(true)),
        Operation::MarkBad { block } => {
            device.mark_bad(BlockAddr(block)).unwrap();
            mirror.cells[block as usize * 8][PAGE_SIZE] = 0;
            mirror.bad[block as usize] = true;
        }
        Operation::Fork => fork(device),
    }
}

/// Replace the chip by a fork, and erase the original.
fn fork(device: &mut Tracer<FaultInjector>) {
    let chip = device.device_mut().chip_mut();
    let mut fork = chip.fork(Clock::new());
    std::mem::swap(chip, &mut fork);
    for block in (0..8).map(BlockAddr) {
        if !fork.is_bad(block).unwrap() {
            fork.erase(block).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn the_chip_holds_what_the_mirror_holds(
        in_order: bool,
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        let part = small_part();
        let geometry = Geometry { in_order, ..part.geometry };
        let part = Arc::new(Part { geometry, ..part });
        let clock = Clock::new();
        let recorder = Recorder::new(clock.clone(), "mirror");
        let chip = FaultInjector::new(Chip::new(part, clock, 1));
        let mut device = Tracer::new(chip, recorder);
        let mut mirror = Mirror::new(in_order);
        for operation in operations {
            apply(&mut device, &mut mirror, operation);
        }
        for (page, cells) in (0..).zip(mirror.cells.clone()) {
            let mut bytes = [0; PAGE_SIZE + OOB_SIZE];
            device.read(PageAddr(page), 0, &mut bytes).unwrap();
            prop_assert_eq!(bytes, cells, "page {}", page);
        }
        for (block, bad) in (0..).zip(mirror.bad) {
            prop_assert_eq!(device.is_bad(BlockAddr(block)), Ok(bad));
        }
    }
}
