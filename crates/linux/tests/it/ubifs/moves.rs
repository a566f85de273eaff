//! Moves of UBI that meet pages that cannot be read or programmed, and blocks that it does not
//! understand: nothing is lost by them.

use flysch_chip::{FaultPlan, Prng};
use flysch_linux::ubi::{AttachOptions, LebRead, Ubi};
use flysch_linux::ubifs::Options;
use flysch_nand::{Nand, PageAddr};

use super::device::{BLOCK, Device, PAGE};

const PAGES: u32 = 64;

fn attach(device: &Device) -> Ubi {
    let options = AttachOptions { volume: 0, wear_threshold: 4096, fastmap: false };
    Ubi::attach(device.partition().unwrap(), &device.recorder, options).unwrap()
}

fn content() -> Vec<u8> {
    let mut bytes = vec![0; 4 * PAGE];
    Prng::new(3).fill(&mut bytes);
    bytes
}

/// A device whose LEB 0 holds four pages, and the block that they are in.
fn device_with_leb() -> (Device, u32) {
    let device = Device::new(40, Options::default());
    device.format().unwrap();
    attach(&device).write(0, 0, &content()).unwrap();
    let block = (0..40).find(|&block| block_bytes(&device, block)[PAGE..5 * PAGE] == content());
    (device, block.unwrap())
}

fn block_bytes(device: &Device, block: u32) -> Vec<u8> {
    let mut chip = device.chip.borrow_mut();
    let mut bytes = vec![0; BLOCK];
    for (page, bytes) in (block * PAGES..).zip(bytes.chunks_mut(PAGE)) {
        let _quality = chip.read(PageAddr(page), 0, bytes);
    }
    bytes
}

/// Read the first page of LEB 0, which has a bit error, and let the thread work: the block is to be
/// moved.
fn scrub(ubi: &mut Ubi) {
    assert_eq!(ubi.read(0, 0, &mut [0; PAGE]), Ok(LebRead::Good));
    assert!(ubi.has_work(), "a move is due");
    for _ in 0..200 {
        ubi.work().unwrap();
    }
}

/// A page that cannot be read when its block is to be moved may be readable later: the block stays.
#[test]
fn a_move_does_not_make_damage_final() {
    let (device, block) = device_with_leb();
    let mut ubi = attach(&device);
    let page = |number| PageAddr(block * PAGES + 1 + number);
    let flawed_pages = [(page(0), 1), (page(2), 200)].into();
    device.arm(FaultPlan { flawed_pages, ..FaultPlan::default() });
    scrub(&mut ubi);
    device.arm(FaultPlan::default());
    for mut ubi in [ubi, attach(&device)] {
        let mut found = vec![0; 4 * PAGE];
        assert_eq!(ubi.read(0, 0, &mut found), Ok(LebRead::Good));
        assert!(found == content());
    }
}

/// A block that could not take the data of a move is tested, and marked.
#[test]
fn a_block_that_cannot_take_a_move_is_marked() {
    let (device, block) = device_with_leb();
    let mut ubi = attach(&device);
    let is_free = |&other: &u32| block_bytes(&device, other)[512..].iter().all(|&it| it == 0xFF);
    let free: Vec<u32> = (0..40).filter(is_free).collect();
    let (good, failing) = free.split_first().unwrap();
    assert!(failing.len() > 10 && *good != block);
    let flawed_pages = [(PageAddr(block * PAGES + 1), 1)].into();
    let failing_pages = failing.iter().map(|other| PageAddr(other * PAGES + 1)).collect();
    device.arm(FaultPlan { flawed_pages, failing_pages, ..FaultPlan::default() });
    scrub(&mut ubi);
    device.arm(FaultPlan::default());
    let failures = device.chip.borrow().device().failures().clone();
    assert!(!failures.is_empty());
    for &failed in failures.keys() {
        assert_eq!(device.chip.borrow_mut().is_bad(failed), Ok(true), "{failed}");
    }
    let mut found = vec![0; 4 * PAGE];
    assert_eq!(attach(&device).read(0, 0, &mut found), Ok(LebRead::Good));
    assert!(found == content());
}

/// A block whose header is wrong but was read well holds data of somebody: it is not erased.
#[test]
fn a_block_that_is_not_understood_is_left_alone() {
    let (device, block) = device_with_leb();
    device.rewrite(block, |content| content[512 + 9] ^= 1);
    let before = block_bytes(&device, block);
    let mut ubi = attach(&device);
    assert!(!ubi.is_mapped(0));
    for _ in 0..200 {
        ubi.work().unwrap();
    }
    assert!(block_bytes(&device, block) == before);
}
