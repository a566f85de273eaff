//! What stands beside or instead of raw NAND with a flash file system: PRAM with PRAMFS, and a
//! plain file system on a flash translation layer.

use flysch_chip::{Pram, PramFigures, Recorder, Shared, Supply, Tracer};
use flysch_linux::card::Card;
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::ftl::{self, FtlOptions, Mapping, Victim};
use flysch_linux::plainfs::Plainfs;
use flysch_linux::pramfs::{Pramfs, PramfsOptions};

use crate::machine::{Build, Device, StackError};

/// A PRAM as the laboratory holds it: chip and tracer.
pub type Memory = Shared<Tracer<Pram>>;

/// Bytes of PRAM that journals get of the paper's chip, which is 64 MB: more than any journal of
/// the workloads takes, and quick to look through at a mount.
const PRAM_SIZE: u32 = 8 << 20;
/// One block in this many is spare: SD cards and eMMC keep about 7 % back.
const SPARE_PART: u32 = 14;
/// Fewest spare blocks.
const SPARE_MIN: u32 = 8;
/// Erase counts that may lie between the least and the most worn block.
const WEAR_GAP: u32 = 8;

/// Whether a file system is made first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Make it.
    Format,
    /// Mount what is there.
    Mount,
}

/// A new PRAM chip on the supply of the NAND.
pub fn new_pram(recorder: &Recorder, supply: Supply, seed: u64) -> Memory {
    let figures = PramFigures { size: PRAM_SIZE, ..PramFigures::HYBRID_SQLITE };
    let pram = Pram::on_supply(figures, recorder.clock().clone(), seed, supply);
    Shared::new(Tracer::new(pram, recorder.clone()))
}

/// Make a PRAMFS.
///
/// # Errors
/// The supply failed.
pub fn format_pramfs(pram: &mut Memory) -> Result<(), StackError> {
    let options = PramfsOptions { inode_count: Some(256), ..PramfsOptions::default() };
    Pramfs::format(pram, options).map_err(|error| StackError::of("pramfs", &error))
}

/// Mount the PRAMFS.
///
/// # Errors
/// What it says.
pub fn pramfs(
    pram: &Memory,
    cpu: &Cpu,
    recorder: &Recorder,
) -> Result<Box<dyn FileSystem>, StackError> {
    let fs = Pramfs::mount(Box::new(pram.clone()), cpu.clone(), recorder.clone());
    Ok(Box::new(fs.map_err(|error| StackError::of("pramfs", &error))?))
}

/// Mount a plain file system on a page-mapping flash translation layer on the partition.
///
/// # Errors
/// What either says.
pub fn plainfs(
    build: &Build,
    device: &Device,
    cpu: &Cpu,
    recorder: &Recorder,
    start: Start,
) -> Result<Box<dyn FileSystem>, StackError> {
    let options = FtlOptions {
        first_block: 0,
        block_count: build.partition_blocks,
        spare_blocks: (build.partition_blocks / SPARE_PART).max(SPARE_MIN),
        sector_size: 512,
        wear_gap: WEAR_GAP,
        mapping: Mapping::Page { victim: Victim::Greedy },
    };
    let disk = ftl::mount(Box::new(device.clone()), recorder.clone(), options);
    let disk = disk.map_err(|error| StackError::of("ftl", &error))?;
    let bus = build.platform.card;
    let disk = Box::new(Card::new(disk, bus, recorder.clock().clone()));
    let make = match start {
        Start::Format => Plainfs::format,
        Start::Mount => Plainfs::mount,
    };
    let fs = make(disk, cpu.clone(), recorder);
    Ok(Box::new(fs.map_err(|error| StackError::of("plainfs", &error))?))
}
