//! What stands beside or instead of raw NAND with a flash file system: PRAM with PRAMFS, and a
//! plain file system on a flash translation layer.

use flysch_chip::{Pram, PramFigures, Recorder, Shared, Supply, Tracer};
use flysch_linux::card::Card;
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::ftl::{self, FtlOptions};
use flysch_linux::plainfs::Plainfs;
use flysch_linux::pramfs::{Pramfs, PramfsOptions};

use super::{Build, Device, StackError};

/// A PRAM as the laboratory holds it: chip and tracer.
pub type Memory = Shared<Tracer<Pram>>;

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
pub fn new_pram(build: &Build, recorder: &Recorder, supply: Supply) -> Memory {
    let figures = PramFigures { size: build.layers.pram_kib << 10, ..PramFigures::HYBRID_SQLITE };
    let pram = Pram::on_supply(figures, recorder.clock().clone(), build.seed, supply);
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

/// Mount a plain file system on a flash translation layer on the partition.
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
    let spare_blocks = build.layers.ftl_spare_blocks(build.partition_blocks);
    let options = FtlOptions {
        first_block: 0,
        block_count: build.partition_blocks,
        spare_blocks,
        sector_size: 512,
        wear_gap: WEAR_GAP,
        mapping: build.layers.ftl_mapping(spare_blocks),
    };
    let disk =
        ftl::mount(Box::new(device.clone()), recorder.clone(), options, &build.erase_counts());
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
