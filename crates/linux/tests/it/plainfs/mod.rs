//! The plain file system: on a disk with a volatile cache, under power cuts, when full, on damaged
//! images.

mod disk;

use std::rc::Rc;

use flysch_chip::{Clock, Prng, Recorder};
use flysch_linux::block_device::{BlockDevice, BlockError};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::card::{Bus, Card};
use flysch_linux::cpu::Cpu;
use flysch_linux::plainfs::{Plainfs, PlainfsError};
use flysch_linux::vfs::Vfs;

use crate::crash::{self, Plan, Rig};
use crate::ftl::{LOG_BLOCK, PAGE_MAP, attach, chip, shape};
use crate::machine::{fill, speed};
use disk::Disk;

/// Size of the disk, blocks of 4 KiB.
const BLOCKS: u32 = 128;

fn on(device: Box<dyn BlockDevice>, clock: &Clock, is_new: bool) -> Result<Vfs, PlainfsError> {
    let recorder = Recorder::new(clock.clone(), "test");
    let cpu = Cpu::new(clock.clone(), speed());
    let make = if is_new { Plainfs::format } else { Plainfs::mount };
    let fs = make(device, cpu.clone(), &recorder)?;
    Ok(Vfs::mount(Box::new(fs), ReadAheadProfile::C, cpu, recorder))
}

fn survivor(mounted: Result<Vfs, PlainfsError>) -> Option<Vfs> {
    match mounted {
        Ok(vfs) => Some(vfs),
        Err(PlainfsError::Device(BlockError::PowerLost)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn disk_rig() -> Rig {
    let disk = Disk::new(BLOCKS);
    let clock = Clock::new();
    drop(on(Box::new(disk.clone()), &clock, true).unwrap());
    let armed = disk.clone();
    let mount = move || survivor(on(Box::new(disk.clone()), &clock, false));
    Rig { mount: Box::new(mount), arm: Box::new(move |cut_at| armed.arm(cut_at)) }
}

#[test]
fn no_cut_leaves_a_state_that_never_was() {
    for seed in [1, 2] {
        let operations = crash::check(disk_rig, Plan { is_direct: false, calls: 40, seed });
        assert!(operations > 60, "{operations}");
    }
}

#[test]
fn no_cut_tears_a_rename() {
    crash::check_rename(disk_rig);
}

#[test]
fn a_long_run_agrees_with_the_model() {
    let plan = Plan { is_direct: false, calls: 1500, seed: 5 };
    crash::check(
        || {
            let rig = disk_rig();
            Rig { arm: Box::new(move |_| (rig.arm)(None)), mount: rig.mount }
        },
        plan,
    );
}

/// All layers together: calls, journal, translation layer and chip.
#[test]
fn on_a_translation_layer_too_no_cut_leaves_a_state_that_never_was() {
    for mapping in [PAGE_MAP, LOG_BLOCK] {
        let device = flysch_chip::Shared::new(flysch_chip::FaultInjector::new(chip(48, 8)));
        let shape = shape(48, 512, mapping);
        let clock = Clock::new();
        drop(on(attach(&device, shape).unwrap(), &clock, true).unwrap());
        let start = Rc::new(device.borrow().chip().fork(Clock::new()));
        for cut_at in (700..3000).step_by(40) {
            let chip = start.fork(Clock::new());
            let device = flysch_chip::Shared::new(flysch_chip::FaultInjector::new(chip));
            let (armed, clock) = (device.clone(), clock.clone());
            let mount = move || survivor(on(attach(&device, shape).ok()?, &clock, false));
            let arm = move |at: Option<u64>| {
                armed.borrow_mut().power_up();
                let plan = flysch_chip::FaultPlan {
                    seed: cut_at,
                    cut_at: at.map(|at| at + 300),
                    ..flysch_chip::FaultPlan::default()
                };
                armed.borrow_mut().arm(plan);
            };
            let rig = Rig { mount: Box::new(mount), arm: Box::new(arm) };
            crash::check_cut(&rig, Plan { is_direct: false, calls: 30, seed: cut_at }, cut_at);
        }
    }
}

#[test]
fn a_full_device_says_so_and_keeps_what_it_has() {
    let disk = Disk::new(BLOCKS);
    let clock = Clock::new();
    let mut vfs = on(Box::new(disk.clone()), &clock, true).unwrap();
    for round in 0..3 {
        let fd = vfs.open("full", true).unwrap();
        let size = fill(&mut vfs, fd);
        assert!(size > 200_000, "round {round}: {size}");
        vfs.sync().unwrap();
        vfs = on(Box::new(disk.clone()), &clock, false).unwrap();
        let fd = vfs.open("full", false).unwrap();
        let kept = vfs.size(fd).unwrap();
        assert!(kept >= size, "{kept} of {size}");
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        assert_eq!(vfs.read(fd, 0, &mut bytes), Ok(bytes.len()));
        assert!(bytes.iter().all(|&byte| byte == 7));
        vfs.close(fd).unwrap();
        vfs.unlink("full").unwrap();
    }
}

/// Blocks of pointers come and go in one session, more of them than the disk has blocks.
#[test]
fn a_long_session_does_not_use_the_disk_up() {
    let mut vfs = on(Box::new(Disk::new(BLOCKS)), &Clock::new(), true).unwrap();
    for round in 0..150 {
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &vec![7; 60_000]).unwrap_or_else(|error| panic!("{round}: {error}"));
        vfs.fsync(fd).unwrap();
        vfs.close(fd).unwrap();
        vfs.unlink("file").unwrap();
        vfs.sync().unwrap();
    }
}

/// Files with holes, as long as a file can be, are cut anywhere: what a session counts as free is
/// what the bitmap says, and all of it comes back.
#[test]
fn blocks_of_a_long_file_come_back() {
    let disk = Disk::new(BLOCKS);
    let clock = Clock::new();
    let mut vfs = on(Box::new(disk.clone()), &clock, true).unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.fsync(fd).unwrap();
    let empty = vfs.filesystem().free_bytes().unwrap();
    // Where the direct pointers end, and each block of pointers.
    let edges = [0, 11, 12, 13, 1035, 1036, 1037, 2059, 2060, 5000, 900_000];
    for (&page, &cut) in edges.iter().flat_map(|page| edges.iter().map(move |cut| (page, cut))) {
        for page in [page, page + 1, page + 1024] {
            vfs.write(fd, page * 4096, &[1; 4096]).unwrap();
        }
        vfs.truncate(fd, cut * 4096).unwrap();
        vfs.sync().unwrap();
        let counted = vfs.filesystem().free_bytes();
        let copy = Disk::holding(disk.image());
        let mounted = on(Box::new(copy), &clock, false).unwrap();
        assert_eq!(mounted.filesystem().free_bytes(), counted, "{page}, cut to {cut}");
        vfs.truncate(fd, 0).unwrap();
        vfs.sync().unwrap();
        assert_eq!(vfs.filesystem().free_bytes(), Some(empty), "{page}, cut to {cut}, then to 0");
    }
}

#[test]
fn noise_is_refused_or_read_but_never_a_panic() {
    let disk = Disk::new(BLOCKS);
    let clock = Clock::new();
    let mut vfs = on(Box::new(disk.clone()), &clock, true).unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &vec![3; 90_000]).unwrap();
    vfs.mkdir("dir").unwrap();
    vfs.sync().unwrap();
    let image = disk.image();
    let used = image.iter().filter(|sector| sector.iter().any(|&byte| byte != 0)).count();
    assert!(used > 10, "{used}");
    for seed in 0..400 {
        let mut prng = Prng::new(seed);
        let mut noisy = image.clone();
        for _ in 0..=prng.below(300) {
            let sector = usize::try_from(prng.below(u64::from(BLOCKS) * 8)).unwrap();
            let at = usize::try_from(prng.below(160)).unwrap();
            noisy[sector][at] = u8::try_from(prng.below(256)).unwrap();
        }
        let device = Disk::holding(noisy);
        let Ok(mut vfs) = on(Box::new(device), &clock, false) else { continue };
        let _outcome = vfs.open("file", true).and_then(|fd| {
            vfs.read(fd, 0, &mut [0; 9000])?;
            vfs.write(fd, 5000, &[1; 9000])?;
            vfs.truncate(fd, 3000)?;
            vfs.close(fd)?;
            vfs.rename("file", "dir/other")
        });
        let _outcome = vfs.sync().and_then(|()| vfs.unlink("dir/other"));
    }
}

#[test]
fn devices_without_a_file_system_are_refused() {
    let clock = Clock::new();
    let small = on(Box::new(Disk::new(70)), &clock, true);
    assert_eq!(small.err(), Some(PlainfsError::TooSmall));
    let blank = on(Box::new(Disk::new(BLOCKS)), &clock, false);
    assert_eq!(blank.err(), Some(PlainfsError::NoFileSystem));
}

/// A request over a bus takes longer by its command and its bytes, and has the same result.
#[test]
fn a_card_costs_its_bus() {
    let clock = Clock::new();
    let bus = Bus { command_ns: 12_800, transfer_ps_per_byte: 80_000 };
    let mut card = Card::new(Box::new(Disk::new(BLOCKS)), bus, clock.clone());
    let mut read = [0; 4096];
    card.write(8, &[7; 4096]).unwrap();
    card.read(8, &mut read).unwrap();
    card.flush().unwrap();
    assert_eq!(read, [7; 4096]);
    assert_eq!(clock.now_ns(), 2 * (12_800 + 4096 * 80));
}
