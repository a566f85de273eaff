//! PRAMFS: compared with a model, under power cuts, when full, on damaged images, and its costs.

mod pointers;

use flysch_chip::{Clock, Nor, NorFigures, Pram, PramFigures, Prng, Recorder, Shared};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::cpu::{Cpu, Speed};
use flysch_linux::filesystem::FsError;
use flysch_linux::pramfs::{Pramfs, PramfsError, PramfsOptions};
use flysch_linux::vfs::Vfs;
use flysch_nand::NvRam;

use crate::crash::{self, Plan, Rig};
use crate::machine::fill;

const SIZE: u32 = 1 << 18;
const OPTIONS: PramfsOptions = PramfsOptions { block_size: 2048, inode_count: Some(16) };

/// A memory that outlives the mounts.
type Held = Shared<Pram>;

fn memory(size: u32, clock: &Clock) -> Held {
    let figures = PramFigures { size, ..PramFigures::HYBRID_SQLITE };
    Shared::new(Pram::new(figures, clock.clone(), 1))
}

fn mount(memory: &Held, clock: &Clock) -> Result<Vfs, PramfsError> {
    let recorder = Recorder::new(clock.clone(), "test");
    let cpu = Cpu::new(clock.clone(), Speed::default());
    let fs = Pramfs::mount(Box::new(memory.clone()), cpu.clone(), recorder.clone())?;
    Ok(Vfs::mount(Box::new(fs), ReadAheadProfile::C, cpu, recorder))
}

fn formatted(options: PramfsOptions) -> (Held, Clock) {
    let clock = Clock::new();
    let mut memory = memory(SIZE, &clock);
    Pramfs::format(&mut memory, options).unwrap();
    (memory, clock)
}

/// A rig whose cuts tear writes at a place that the seed and the operation decide.
fn rig(options: PramfsOptions, seed: u64) -> Rig {
    let (memory, clock) = formatted(options);
    let (torn, supply) = (memory.clone(), memory.borrow().supply());
    let mount = move || match mount(&memory, &clock) {
        Ok(vfs) => Some(vfs),
        Err(PramfsError::PowerLost) => None,
        Err(error) => panic!("{error}"),
    };
    let arm = move |cut_at: Option<u64>| {
        torn.borrow_mut().reseed(seed + cut_at.unwrap_or(0));
        supply.power_up();
        supply.arm(cut_at);
    };
    Rig { mount: Box::new(mount), arm: Box::new(arm) }
}

#[test]
fn no_cut_tears_a_call() {
    for (block_size, seed) in [(2048, 1), (512, 2)] {
        let options = PramfsOptions { block_size, ..OPTIONS };
        let operations =
            crash::check(|| rig(options, seed), Plan { is_direct: true, calls: 25, seed });
        assert!(operations > 150, "{operations}");
    }
}

#[test]
fn no_cut_tears_a_rename() {
    for seed in 0..8 {
        crash::check_rename(|| rig(OPTIONS, seed));
    }
}

#[test]
fn a_long_run_agrees_with_the_model() {
    let plan = Plan { is_direct: true, calls: 3000, seed: 5 };
    crash::check(
        || {
            let rig = rig(OPTIONS, 1);
            Rig { arm: Box::new(move |_| (rig.arm)(None)), mount: rig.mount }
        },
        plan,
    );
}

#[test]
fn a_full_memory_says_so_and_keeps_what_it_has() {
    let (memory, clock) = formatted(OPTIONS);
    let mut vfs = mount(&memory, &clock).unwrap();
    let fd = vfs.open("full", true).unwrap();
    let size = fill(&mut vfs, fd);
    assert!(size > u64::from(SIZE) * 9 / 10, "{size}");
    let mut vfs = mount(&memory, &clock).unwrap();
    let fd = vfs.open("full", false).unwrap();
    assert_eq!(vfs.size(fd), Ok(size));
    vfs.truncate(fd, 0).unwrap();
    vfs.write(fd, 0, &vec![1; usize::try_from(size).unwrap()]).unwrap();
    let names: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
    let made = names.iter().map_while(|name| vfs.open(name, true).ok()).count();
    assert_eq!(made, 14, "sixteen inodes: the root, one file, and these");
    assert_eq!(vfs.open(&"n".repeat(57), true), Err(FsError::TooLong));
}

/// A write that does not fit is refused as a whole: nothing of it is there, and nothing is lost for
/// it.
#[test]
fn a_write_that_does_not_fit_changes_nothing() {
    for block_size in [512, 2048] {
        let (memory, clock) = formatted(PramfsOptions { block_size, ..OPTIONS });
        let mut vfs = mount(&memory, &clock).unwrap();
        let mut prng = Prng::new(u64::from(block_size));
        let mut refused = 0;
        for number in 0..200 {
            let name = ["a", "b", "c"][number % 3];
            let fd = vfs.open(name, true).unwrap();
            let (size, free) = (vfs.size(fd).unwrap(), vfs.filesystem().free_bytes().unwrap());
            let at = size + if number % 7 == 0 { 70_000 } else { 0 };
            let len = 1 + usize::try_from(prng.below(6 * u64::from(block_size))).unwrap();
            let outcome = vfs.write(fd, at, &vec![1; len]);
            if outcome.is_err() {
                refused += 1;
                assert_eq!(vfs.size(fd), Ok(size), "{number}: {outcome:?}");
                assert_eq!(vfs.filesystem().free_bytes(), Some(free), "{number}: {outcome:?}");
            }
            vfs.close(fd).unwrap();
            let counted = vfs.filesystem().free_bytes();
            let mounted = mount(&memory, &clock).unwrap();
            assert_eq!(mounted.filesystem().free_bytes(), counted, "{number}: {outcome:?}");
        }
        assert!(refused > 10, "{refused} writes");
    }
}

/// Either super block is enough, and a mount repairs the other one.
#[test]
fn one_super_block_is_enough_and_soon_there_are_two() {
    let (mut memory, clock) = formatted(OPTIONS);
    let mut image = vec![0; SIZE as usize];
    memory.read(0, &mut image).unwrap();
    let copies: Vec<usize> = (0..image.len() - 128)
        .step_by(128)
        .filter(|&at| image[at..at + 128] == image[..128])
        .collect();
    assert_eq!(copies.len(), 2, "{copies:?}");
    for &at in copies.iter().chain(&copies) {
        memory.write(u32::try_from(at).unwrap(), &[0x55; 128]).unwrap();
        mount(&memory, &clock).unwrap();
    }
    memory.read(0, &mut image).unwrap();
    assert!(copies.iter().all(|&at| image[at..at + 128] != [0x55; 128]), "both are there");
}

/// A write of 600 bytes in the middle of a block reads pointers, writes the bytes, and writes an
/// inode of 128 bytes.
#[test]
fn a_write_costs_its_words_and_an_inode() {
    let (memory, clock) = formatted(OPTIONS);
    let mut vfs = mount(&memory, &clock).unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &[1; 2048]).unwrap();
    let before_ns = clock.now_ns();
    vfs.write(fd, 100, &[2; 600]).unwrap();
    let write_ns = (600 / 2 + 128 / 2) * 1000;
    let pointer_reads = 2 * 2 * (8 / 2) * 80;
    assert_eq!(clock.now_ns() - before_ns, write_ns + pointer_reads);
    let before_ns = clock.now_ns();
    vfs.fsync(fd).unwrap();
    assert_eq!(clock.now_ns(), before_ns);
}

#[test]
fn noise_is_refused_or_read_but_never_a_panic() {
    let (mut memory, clock) = formatted(OPTIONS);
    {
        let mut vfs = mount(&memory, &clock).unwrap();
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &[3; 9000]).unwrap();
        vfs.mkdir("dir").unwrap();
    }
    let mut image = vec![0; SIZE as usize];
    memory.read(0, &mut image).unwrap();
    for seed in 0..400 {
        let mut prng = Prng::new(seed);
        let mut noisy = image.clone();
        let reach = if seed % 2 == 0 { 4096 } else { u64::from(SIZE) };
        for _ in 0..=prng.below(200) {
            let at = usize::try_from(prng.below(reach)).unwrap();
            noisy[at] = u8::try_from(prng.below(256)).unwrap();
        }
        memory.write(0, &noisy).unwrap();
        let Ok(mut vfs) = mount(&memory, &clock) else { continue };
        let _outcome = vfs.open("file", true).and_then(|fd| {
            vfs.read(fd, 0, &mut [0; 9000])?;
            vfs.write(fd, 5000, &[1; 9000])?;
            vfs.truncate(fd, 3000)?;
            vfs.close(fd)?;
            vfs.rename("file", "other")
        });
    }
}

#[test]
fn memory_of_the_wrong_kind_is_refused() {
    let clock = Clock::new();
    let mut nor = Nor::new(NorFigures::AM29LV008B, clock.clone(), 1);
    assert_eq!(Pramfs::format(&mut nor, OPTIONS), Err(PramfsError::NotOverwritable));
    let mut small = memory(4096, &clock);
    assert_eq!(Pramfs::format(&mut small, OPTIONS), Err(PramfsError::Shape));
    let blank = mount(&memory(SIZE, &clock), &clock);
    assert_eq!(blank.err(), Some(PramfsError::NoFileSystem));
}
