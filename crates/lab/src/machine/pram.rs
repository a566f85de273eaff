//! The PRAM of a machine, and PRAMFS on it.

use flysch_chip::{Pram, PramFigures, Recorder, Shared, Supply, Tracer};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::pramfs::{Pramfs, PramfsOptions};

use super::device::Memory;
use super::error::StackError;

/// A new PRAM chip on the power supply of the NAND.
pub(super) fn new_pram(size_kib: u32, seed: u64, recorder: &Recorder, supply: Supply) -> Memory {
    let figures = PramFigures { size: size_kib << 10, ..PramFigures::HYBRID_SQLITE };
    let pram = Pram::on_supply(figures, recorder.clock().clone(), seed, supply);
    Shared::new(Tracer::new(pram, recorder.clone()))
}

/// Make a PRAMFS on the PRAM.
///
/// # Errors
/// Fails if the power is cut.
pub(super) fn format_pramfs(pram: &mut Memory) -> Result<(), StackError> {
    let options = PramfsOptions { inode_count: Some(256), ..PramfsOptions::default() };
    Pramfs::format(pram, options).map_err(|error| StackError::of("pramfs", &error))
}

/// Mount the PRAMFS on the PRAM.
///
/// # Errors
/// Fails if the PRAM holds no valid PRAMFS.
pub(super) fn pramfs(
    pram: &Memory,
    cpu: &Cpu,
    recorder: &Recorder,
) -> Result<Box<dyn FileSystem>, StackError> {
    let fs = Pramfs::mount(Box::new(pram.clone()), cpu.clone(), recorder.clone());
    Ok(Box::new(fs.map_err(|error| StackError::of("pramfs", &error))?))
}
