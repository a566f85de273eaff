//! Images of a PRAM with PRAMFS: all bytes of the memory, from the first on.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use flysch_chip::{Clock, Recorder};
use flysch_linux::pramfs::PramfsError;
use flysch_linux::vfs::Vfs;
use flysch_nand::{NvRam, NvRamError};

use super::TransferError;
use super::make::{Copy, Made};
use crate::machine::{Build, StackError};

/// Write all of `folder` to a new PRAMFS and save the memory as `image`.
pub(super) fn make(
    build: &Build,
    (folder, image): (&Path, &Path),
    (overwrite, is_interrupted): (bool, &dyn Fn() -> bool),
) -> Result<Made, TransferError> {
    let recorder = Recorder::new(Clock::new(), "flysch");
    let mut memory = build.pram_alone(build.layers.pram_kib << 10, &recorder);
    let mut linux = build.mount_pramfs(&mut memory, &recorder, true)?;
    recorder.reset();
    let mut copy = Copy { linux: &mut linux, files: 0, is_interrupted };
    copy.folder(folder, "")?;
    copy.unmount()?;
    let files = copy.files;
    let trace = recorder.take(build.part.geometry);
    let operations = trace.events.iter().filter(|event| event.kind.is_operation()).count() as u64;
    let mut bytes = vec![0; memory.size() as usize];
    memory.read(0, &mut bytes).map_err(failed)?;
    let mut options = OpenOptions::new();
    let options =
        if overwrite { options.create(true).truncate(true) } else { options.create_new(true) };
    let mut file = options.write(true).open(image).map_err(TransferError::host(image))?;
    file.write_all(&bytes).map_err(TransferError::host(image))?;
    Ok(Made { files, operations })
}

/// Mount the bytes of a memory, which are fewer than 4 GiB.
pub(super) fn mount(
    build: &Build,
    bytes: &[u8],
    recorder: &Recorder,
) -> Result<Vfs, TransferError> {
    let size = u32::try_from(bytes.len()).expect("an image of a PRAM is that of a part at most");
    let mut memory = build.pram_alone(size, recorder);
    memory.write(0, bytes).map_err(failed)?;
    Ok(build.mount_pramfs(&mut memory, recorder, false)?)
}

fn failed(error: NvRamError) -> TransferError {
    TransferError::Stack(StackError::of("pramfs", &PramfsError::from(error)))
}
