//! The PRAM of a machine, and PRAMFS on it.

use flysch_chip::{Pram, PramFigures, Recorder, Shared, Supply, Tracer};
use flysch_linux::cpu::Cpu;
use flysch_linux::filesystem::FileSystem;
use flysch_linux::pramfs::{Pramfs, PramfsOptions};
use flysch_linux::vfs::Vfs;

use super::Build;
use super::device::Memory;
use super::error::StackError;

impl Build {
    /// A new PRAM of `size` bytes with a power supply of its own.
    pub(crate) fn pram_alone(&self, size: u32, recorder: &Recorder) -> Memory {
        new_pram(size, self.seed, recorder, Supply::new())
    }

    /// Mount the PRAMFS of a PRAM that is not part of a machine. If `is_new`, the file system is
    /// made first.
    ///
    /// # Errors
    /// Fails if the PRAM holds no valid PRAMFS.
    pub(crate) fn mount_pramfs(
        &self,
        pram: &mut Memory,
        recorder: &Recorder,
        is_new: bool,
    ) -> Result<Vfs, StackError> {
        if is_new {
            format_pramfs(pram)?;
        }
        let cpu = self.cpu(recorder);
        let fs = pramfs(pram, &cpu, recorder)?;
        Ok(Vfs::mount(fs, self.platform.read_ahead, cpu, recorder.clone()))
    }
}

/// A new PRAM chip of `size` bytes on the power supply of the NAND.
pub(super) fn new_pram(size: u32, seed: u64, recorder: &Recorder, supply: Supply) -> Memory {
    let figures = PramFigures { size, ..PramFigures::HYBRID_SQLITE };
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
