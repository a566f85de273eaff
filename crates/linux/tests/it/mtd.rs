//! MTD: a partition is a part of a chip, an ECC step is fetched as a whole, and a flash is prepared
//! around the blocks that fail.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{Chip, Clock, FaultInjector, FaultPlan, Part, Recorder, Shared};
use flysch_linux::cpu::{Cpu, Speed};
use flysch_linux::mtd::{EccMode, Partition, RawNand, ReadQuality};
use flysch_nand::{BlockAddr, Geometry, Nand, PageAddr};

use crate::ftl::{LOG_BLOCK, PAGE_MAP};
use crate::machine::{FASTMAP, Kind, LZO, Machine};

const FIRST: u32 = 10;
const BLOCKS: u32 = 20;

/// A partition in the middle of a chip, and the chip.
fn partition(ecc: EccMode) -> (Partition, Shared<FaultInjector>, Clock) {
    let part = Part::builtin("nandsim").unwrap();
    let geometry = Geometry { pages_per_block: 8, block_count: 48, ..part.geometry };
    let clock = Clock::new();
    let chip = Chip::new(Arc::new(Part { geometry, ..part }), clock.clone(), 1);
    let device = Shared::new(FaultInjector::new(chip));
    let cpu = Cpu::new(clock.clone(), Speed::default());
    let recorder = Recorder::new(clock.clone(), "test");
    let raw = RawNand::attach(Box::new(device.clone()), recorder, cpu, ecc, (0, 0)).unwrap();
    let mtd = Partition::new(Rc::new(RefCell::new(raw)), FIRST, BLOCKS).unwrap();
    (mtd, device, clock)
}

/// Each call reaches the block of the chip that the partition has there, and no other one.
#[test]
fn a_partition_is_part_of_a_chip() {
    let (mtd, mut device, _) = partition(EccMode::Hardware);
    let block_size = mtd.geometry().block_size();
    let (data, oob) = ([0x5A; 2048], [0x33; 16]);
    mtd.write(3 * block_size, &data).unwrap();
    mtd.write_with_oob(4 * block_size, &data, &oob).unwrap();
    mtd.write_oob(5 * block_size, &oob).unwrap();
    mtd.write_sectors(6 * block_size + 512, &data[..512]).unwrap();
    let mut used = |block: u32| {
        let mut bytes = [0; 2048 + 64];
        device.read(PageAddr(block * 8), 0, &mut bytes).unwrap();
        bytes.iter().any(|&byte| byte != 0xFF)
    };
    let found: Vec<u32> = (0..48).filter(|&block| used(block)).collect();
    assert_eq!(found, [13, 14, 15, 16]);
    mtd.erase(3).unwrap();
    mtd.mark_bad(7).unwrap();
    let erased = device.borrow().chip().erase_counts();
    let erased: Vec<usize> = (0..48).filter(|&block| erased[block] > 0).collect();
    assert_eq!(erased, [13]);
    let bad: Vec<u32> = (0..48).filter(|&it| device.is_bad(BlockAddr(it)).unwrap()).collect();
    assert_eq!(bad, [17]);
    assert!((0..BLOCKS).filter(|&block| mtd.is_bad(block)).eq([7]));
    let mut read = [0; 16];
    assert_eq!(mtd.read_oob(5 * block_size, &mut read), Ok(ReadQuality::Clean));
    assert_eq!(read, oob);
}

/// A chip of 8 GiB: offsets have more than 32 bits. UBI prepares all its blocks and finds them.
#[test]
fn ubifs_reaches_all_blocks_of_a_large_chip() {
    let part = Part::builtin("mlc").unwrap();
    let bytes = u64::from(part.geometry.block_count) * u64::from(part.geometry.block_size());
    assert!(bytes > u64::from(u32::MAX));
    let machine = Machine::new(LZO, &Chip::new(Arc::new(part), Clock::new(), 1));
    machine.format();
    let content = vec![0x5A; 10_000];
    let mut vfs = machine.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &content).unwrap();
    vfs.fsync(fd).unwrap();
    vfs.unmount().unwrap();
    let mut vfs = machine.mount().unwrap();
    let fd = vfs.open("file", false).unwrap();
    let mut read = vec![0; 10_000];
    assert_eq!(vfs.read(fd, 0, &mut read), Ok(10_000));
    assert_eq!(read, content);
    assert!(vfs.filesystem().free_bytes().is_some_and(|free| free > 7 << 30));
}

/// Bytes of a page are read in whole ECC steps: to ask for a part of one takes as long as all of
/// it, in software; and as long as the page, in the controller.
#[test]
fn part_of_an_ecc_step_costs_the_whole_step() {
    let steps = [
        (0, 1, 0, 256),
        (255, 1, 0, 256),
        (256, 1, 256, 256),
        (255, 2, 0, 512),
        (100, 300, 0, 512),
        (700, 900, 512, 1280),
        (2047, 1, 1792, 256),
    ];
    let software = EccMode::Software { step_size: 256 };
    for (ecc, case) in steps.iter().flat_map(|it| [(software, it), (EccMode::Hardware, it)]) {
        let &(column, len, first, whole) = case;
        let (first, whole) = if ecc == software { (first, whole) } else { (0, 2047) };
        let time = |column: u32, len: usize| {
            let (mtd, _, clock) = partition(ecc);
            let before_ns = clock.now_ns();
            mtd.read(column, &mut vec![0; len]).unwrap();
            clock.now_ns() - before_ns
        };
        assert_eq!(time(column, len), time(first, whole), "{ecc:?}: {case:?}");
    }
}

/// A block whose erase fails while a flash is prepared is marked, and the others are prepared.
#[test]
fn a_flash_is_prepared_around_blocks_that_fail() {
    for kind in [Kind::Jffs2, Kind::Yaffs2, LZO, FASTMAP, Kind::Ftl(PAGE_MAP), Kind::Ftl(LOG_BLOCK)]
    {
        let machine = Machine::new(kind, &Chip::new(kind.part().into(), Clock::new(), 1));
        let blocks = [BlockAddr(7), BlockAddr(23)];
        let grown_bad_blocks = blocks.map(|block| (block, 0)).into();
        let plan = FaultPlan { grown_bad_blocks, ..FaultPlan::default() };
        machine.device.borrow_mut().arm(plan);
        machine.format();
        let failed = machine.device.borrow().failures().clone();
        for &block in failed.keys() {
            assert_eq!(machine.device.clone().is_bad(block), Ok(true), "{kind:?}, {block}");
        }
        assert!(matches!(kind, Kind::Ftl(_)) || failed.len() == 2, "{kind:?}: {failed:?}");
        drop(machine.mount().unwrap());
    }
}
