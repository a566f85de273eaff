//! Tests of bit errors. Errors that ECC can correct cost nothing, except that UBI moves the block.
//! Other errors are reported with the file and the offset.

use std::collections::BTreeMap;
use std::sync::Arc;

use flysch_chip::{FaultPlan, Prng};
use flysch_lab::bench::grid::Grid;
use flysch_lab::machine::Machine;
use flysch_lab::machine::platform::Platform;
use flysch_lab::machine::stack::{Engine, Main, Stack};
use flysch_lab::workload::Workload;
use flysch_linux::filesystem::FsError;
use flysch_nand::PageAddr;

/// Number of blocks in the partition.
const BLOCKS: u32 = 40;
/// The offset of a byte far from the start of the file.
const PLACE: u64 = 20 * 4096;

/// From now on, every page of the partition reads with this many wrong bits.
fn flaw(machine: &Machine, bits: u16) {
    let pages = (0..BLOCKS * 64).map(|page| (PageAddr(page), bits));
    let flawed_pages = if bits == 0 { BTreeMap::default() } else { pages.collect() };
    machine
        .device
        .borrow_mut()
        .device_mut()
        .arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
}

fn check(main: Main) {
    let platform = Arc::new(Platform::named("nandsim-6.1").unwrap());
    let stack = Stack { engine: Engine::File, main, journals: None };
    let mut grid = Grid::new(Workload::Overwrite, stack, platform);
    grid.axes.partition_blocks = vec![BLOCKS];
    let machine = grid.scenarios()[0].build.format_and_mount(stack).unwrap();
    let mut linux = machine.linux.borrow_mut();
    let mut content = vec![0; 200_000];
    Prng::new(5).fill(&mut content);
    let fd = linux.open("file", true).unwrap();
    linux.write(fd, 0, &content).unwrap();
    linux.sync().unwrap();
    linux.drop_caches().unwrap();
    // This read brings the metadata into memory, so that the flaws hit only the content.
    let mut read = vec![0; content.len()];
    linux.read(fd, 0, &mut read[..4096]).unwrap();
    flaw(&machine, 1);
    linux.read(fd, 0, &mut read).unwrap();
    assert!(read == content, "{}", stack.name());
    flaw(&machine, 0);
    linux.sleep(10_000_000_000);
    linux.drop_caches().unwrap();
    linux.read(fd, 0, &mut read).unwrap();
    assert!(read == content, "{}: after repair", stack.name());
    linux.drop_caches().unwrap();
    linux.read(fd, 0, &mut read[..4096]).unwrap();
    flaw(&machine, 200);
    let outcome = linux.read(fd, PLACE, &mut read[..4096]);
    let shown = matches!(outcome, Err(FsError::Damaged { offset: PLACE, .. }));
    assert!(shown, "{}: {outcome:?}", stack.name());
}

#[test]
fn bit_errors_are_corrected_or_told() {
    for main in [Main::Jffs2, Main::Yaffs2, Main::Ubifs, Main::Ftl] {
        check(main);
    }
}
