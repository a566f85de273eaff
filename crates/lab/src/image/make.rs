//! Make a flash image from a folder of the host.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flysch_chip::FaultPlan;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;

use super::{ImageOf, PIECE, TransferError, pram};
use crate::machine::Build;
use crate::machine::stack::Stack;

/// How much was written to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Number of files that are on the flash in full and durable.
    pub files: u32,
    /// Flash operations from the first file to the unmount or the power cut.
    pub operations: u64,
}

/// Write all of `folder` to a new file system and save the partition as `image`. Each file is made
/// durable before the next begins. At the end the file system is unmounted. With `cut_at`, the
/// power is cut during that operation instead; operations are counted from 0. The power of a PRAM
/// is not cut.
///
/// # Errors
/// Fails if the folder cannot be read or does not fit, or if the run ends before operation
/// `cut_at`.
pub fn make(
    build: &Build,
    of: ImageOf,
    (folder, image): (&Path, &Path),
    cut_at: Option<u64>,
    overwrite: bool,
) -> Result<Made, TransferError> {
    let main = match of {
        ImageOf::Flash(main) => main,
        ImageOf::Pram => return pram::make(build, (folder, image), overwrite),
    };
    let machine = build.format_and_mount(Stack::file(main))?;
    let plan = FaultPlan { seed: build.seed, cut_at, ..FaultPlan::default() };
    machine.device.borrow_mut().device_mut().arm(plan);
    let mut copy = Copy { linux: &mut machine.linux.borrow_mut(), files: 0 };
    let outcome = copy.folder(folder, "").and_then(|()| copy.unmount());
    let files = copy.files;
    let device = machine.device.borrow();
    let operations = device.device().operations();
    match (outcome, cut_at) {
        (Err(TransferError::Flash(_, FsError::PowerLost)), _) | (Ok(()), None) => (),
        (Err(error), _) => return Err(error),
        (Ok(()), Some(cut)) => return Err(TransferError::Uncut { cut, operations }),
    }
    let blocks = 0..build.partition_blocks;
    device.device().chip().save_blocks(image, blocks, overwrite)?;
    Ok(Made { files, operations })
}

pub(super) struct Copy<'a> {
    pub(super) linux: &'a mut Vfs,
    pub(super) files: u32,
}

impl Copy<'_> {
    /// Copy everything in `from`, sorted by name, to the folder `to` on the flash.
    pub(super) fn folder(&mut self, from: &Path, to: &str) -> Result<(), TransferError> {
        let entries = fs::read_dir(from).map_err(TransferError::host(from))?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(TransferError::host(from))?;
        paths.sort();
        for path in paths {
            let kind = fs::symlink_metadata(&path).map_err(TransferError::host(&path))?.file_type();
            let name = path.file_name().and_then(|name| name.to_str());
            let to =
                name.map(|name| if to.is_empty() { name.into() } else { format!("{to}/{name}") });
            match to {
                Some(to) if kind.is_dir() => {
                    let made = self.linux.mkdir(&to);
                    made.map_err(|error| TransferError::Flash(to.clone(), error))?;
                    self.folder(&path, &to)?;
                }
                Some(to) if kind.is_file() => self.file(&path, &to)?,
                _ => return Err(TransferError::Kind(path)),
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &str) -> Result<(), TransferError> {
        let flash = |error| TransferError::Flash(to.to_owned(), error);
        let mut file = File::open(from).map_err(TransferError::host(from))?;
        let fd = self.linux.open(to, true).map_err(flash)?;
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        loop {
            let len = file.read(&mut piece).map_err(TransferError::host(from))?;
            if len == 0 {
                break;
            }
            self.linux.write(fd, offset, &piece[..len]).map_err(flash)?;
            offset += len as u64;
        }
        self.linux.fsync(fd).map_err(flash)?;
        self.linux.close(fd).map_err(flash)?;
        self.files += 1;
        Ok(())
    }

    pub(super) fn unmount(&mut self) -> Result<(), TransferError> {
        self.linux.unmount().map_err(|error| TransferError::Flash("unmount".to_owned(), error))
    }
}
