//! What stands beside or instead of raw NAND with a flash file system: PRAM with PRAMFS, and a
//! plain file system on a flash translation layer.

use flysch_chip::{Clock, Pram, PramFigures, Recorder, Shared, Supply};
use flysch_linux::block_device::BlockError;
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::ftl::{self, FtlError, FtlOptions, Mapping, Victim};
use flysch_linux::jffs2::MountError;
use flysch_linux::plainfs::{Plainfs, PlainfsError};
use flysch_linux::pramfs::{Pramfs, PramfsError, PramfsOptions};

use crate::stack::{Build, Device};

/// A PRAM as the laboratory holds it.
pub type Memory = Shared<Pram>;

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
pub fn new_pram(clock: Clock, supply: Supply, seed: u64) -> Memory {
    let figures = PramFigures { size: PRAM_SIZE, ..PramFigures::HYBRID_SQLITE };
    Shared::new(Pram::on_supply(figures, clock, seed, supply))
}

/// Make a PRAMFS.
///
/// # Errors
/// The supply failed.
pub fn format_pramfs(pram: &mut Memory) -> Result<(), MountError> {
    let options = PramfsOptions { inode_count: Some(256), ..PramfsOptions::default() };
    Pramfs::format(pram, options).map_err(pramfs_error)
}

/// Mount the PRAMFS.
///
/// # Errors
/// What it says, in the words of another file system.
pub fn pramfs(
    pram: &Memory,
    cpu: &Cpu,
    recorder: &Recorder,
) -> Result<Box<dyn FileSystem>, MountError> {
    let fs = Pramfs::mount(Box::new(pram.clone()), cpu.clone(), recorder.clone());
    Ok(Box::new(fs.map_err(pramfs_error)?))
}

/// Mount a plain file system on a page-mapping flash translation layer on the partition.
///
/// # Errors
/// What either says, in the words of another file system.
pub fn plainfs(
    build: &Build,
    device: &Device,
    cpu: &Cpu,
    recorder: &Recorder,
    start: Start,
) -> Result<Box<dyn FileSystem>, MountError> {
    let options = FtlOptions {
        first_block: 0,
        block_count: build.partition_blocks,
        spare_blocks: (build.partition_blocks / SPARE_PART).max(SPARE_MIN),
        sector_size: 512,
        wear_gap: WEAR_GAP,
        mapping: Mapping::Page { victim: Victim::Greedy },
    };
    let disk = ftl::mount(Box::new(device.clone()), recorder.clone(), options);
    let disk = disk.map_err(|error| match error {
        FtlError::PowerLost => MountError::PowerLost,
        FtlError::WornOut => MountError::Io,
        FtlError::Shape | FtlError::TooFewSpare { .. } => {
            MountError::TooSmall { blocks: build.partition_blocks }
        }
    })?;
    let make = match start {
        Start::Format => Plainfs::format,
        Start::Mount => Plainfs::mount,
    };
    let fs = make(disk, cpu.clone(), recorder).map_err(|error| match error {
        PlainfsError::Device(BlockError::PowerLost) => MountError::PowerLost,
        PlainfsError::Device(_) | PlainfsError::BadJournal | PlainfsError::NoRoot => MountError::Io,
        PlainfsError::NoFileSystem => MountError::NoFileSystem,
        PlainfsError::TooSmall => MountError::TooSmall { blocks: build.partition_blocks },
    })?;
    Ok(Box::new(fs))
}

const fn pramfs_error(error: PramfsError) -> MountError {
    match error {
        PramfsError::PowerLost => MountError::PowerLost,
        PramfsError::NoFileSystem => MountError::NoFileSystem,
        PramfsError::Shape
        | PramfsError::NotOverwritable
        | PramfsError::NoRoot
        | PramfsError::BadPointer { .. }
        | PramfsError::WornOut(_) => MountError::Io,
    }
}
