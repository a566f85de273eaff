//! A card: a flash translation layer on the partition behind a bus, with a plain file system on it.

use flysch_chip::Recorder;
use flysch_linux::block_device::BlockDevice;
use flysch_linux::card::{Bus, Card};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::ftl::{self, FtlOptions};
use flysch_linux::plainfs::Plainfs;

use super::device::Device;
use super::error::StackError;

/// Erase counts that may lie between the least and the most worn block.
pub(super) const WEAR_GAP: u32 = 8;

/// Whether a file system is made first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Make it.
    Format,
    /// Mount what is there.
    Mount,
}

/// Mount the translation layer on a device whose blocks were erased so often before.
///
/// # Errors
/// What the layer says.
pub(super) fn card(
    device: &Device,
    options: FtlOptions,
    erase_counts: &[u32],
    bus: Bus,
    recorder: &Recorder,
) -> Result<Box<dyn BlockDevice>, StackError> {
    let disk = ftl::mount(Box::new(device.clone()), recorder.clone(), options, erase_counts);
    let disk = disk.map_err(|error| StackError::of("ftl", &error))?;
    Ok(Box::new(Card::new(disk, bus, recorder.clock().clone())))
}

/// Mount a plain file system on a card.
///
/// # Errors
/// What the file system says.
pub(super) fn plainfs(
    card: Box<dyn BlockDevice>,
    cpu: &Cpu,
    recorder: &Recorder,
    start: Start,
) -> Result<Box<dyn FileSystem>, StackError> {
    let make = match start {
        Start::Format => Plainfs::format,
        Start::Mount => Plainfs::mount,
    };
    let fs = make(card, cpu.clone(), recorder);
    Ok(Box::new(fs.map_err(|error| StackError::of("plainfs", &error))?))
}
