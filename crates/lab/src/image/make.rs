//! Make a flash image from a folder of the host.

use std::fs::{self, File, FileType};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use flysch_chip::FaultPlan;
use flysch_linux::filesystem::{FsError, MODE_PERMISSIONS};
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
/// is not cut. Once `is_interrupted` says so, the work ends and no image is left.
///
/// # Errors
/// Fails if the folder cannot be read or does not fit, or if the run ends before operation
/// `cut_at`.
pub fn make(
    build: &Build,
    of: ImageOf,
    (folder, image): (&Path, &Path),
    cut_at: Option<u64>,
    (overwrite, is_interrupted): (bool, &dyn Fn() -> bool),
) -> Result<Made, TransferError> {
    let main = match of {
        ImageOf::Flash(main) => main,
        ImageOf::Pram => return pram::make(build, (folder, image), (overwrite, is_interrupted)),
    };
    let machine = build.format_and_mount(Stack::file(main))?;
    let plan = FaultPlan { seed: build.seed, cut_at, ..FaultPlan::default() };
    machine.device.borrow_mut().device_mut().arm(plan);
    let mut copy = Copy { linux: &mut machine.linux.borrow_mut(), files: 0, is_interrupted };
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
    device.device().chip().save_blocks(image, blocks, overwrite, is_interrupted)?;
    Ok(Made { files, operations })
}

pub(super) struct Copy<'a> {
    pub(super) linux: &'a mut Vfs,
    pub(super) files: u32,
    /// Whether the user has asked to end early.
    pub(super) is_interrupted: &'a dyn Fn() -> bool,
}

impl Copy<'_> {
    /// Copy everything in `from`, sorted by name, to the folder `to` on the flash.
    pub(super) fn folder(&mut self, from: &Path, to: &str) -> Result<(), TransferError> {
        let entries = fs::read_dir(from).map_err(TransferError::host(from))?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(TransferError::host(from))?;
        paths.sort();
        for path in paths {
            let found = fs::symlink_metadata(&path).map_err(TransferError::host(&path))?;
            let (kind, permissions) = (found.file_type(), found.permissions().mode());
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(TransferError::Kind(path, "its name is not valid UTF-8"));
            };
            let to = if to.is_empty() { name.into() } else { format!("{to}/{name}") };
            if kind.is_dir() {
                let flash = |error| TransferError::Flash(to.clone(), error);
                self.linux.mkdir(&to).map_err(flash)?;
                self.permit(&to, permissions)?;
                self.folder(&path, &to)?;
            } else if kind.is_file() {
                self.file(&path, &to, permissions)?;
            } else {
                return Err(TransferError::Kind(path, name_of(kind)));
            }
        }
        Ok(())
    }

    fn permit(&mut self, to: &str, mode: u32) -> Result<(), TransferError> {
        let done = self.linux.set_permissions(to, mode & MODE_PERMISSIONS);
        done.map_err(|error| TransferError::Flash(to.to_owned(), error))
    }

    fn file(&mut self, from: &Path, to: &str, mode: u32) -> Result<(), TransferError> {
        let flash = |error| TransferError::Flash(to.to_owned(), error);
        let mut file = File::open(from).map_err(TransferError::host(from))?;
        let fd = self.linux.open(to, true).map_err(flash)?;
        self.permit(to, mode)?;
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        loop {
            if (self.is_interrupted)() {
                return Err(TransferError::Interrupted);
            }
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

/// What something is that is neither a file nor a folder.
fn name_of(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link, and make writes only files and folders"
    } else if kind.is_fifo() {
        "a pipe, and make writes only files and folders"
    } else if kind.is_socket() {
        "a socket, and make writes only files and folders"
    } else {
        "a device, and make writes only files and folders"
    }
}
