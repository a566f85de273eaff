//! An SD card: a flash translation layer on the partition, behind a bus, with a plain file system.

use flysch_chip::Recorder;
use flysch_linux::block_device::BlockDevice;
use flysch_linux::card::{Bus, Card};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::ftl::{self, FtlOptions};
use flysch_linux::plainfs::Plainfs;

use super::device::Device;
use super::error::StackError;

/// How far the erase counts of the least and the most worn block may differ before data is moved.
pub(super) const WEAR_GAP: u32 = 8;

/// Whether to make a new file system or to mount the existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Format,
    Mount,
}

/// Mount the translation layer on a device. `erase_counts` says how worn its blocks are.
///
/// # Errors
/// Fails if the translation layer cannot be mounted.
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
/// Fails if the file system cannot be made or mounted.
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
