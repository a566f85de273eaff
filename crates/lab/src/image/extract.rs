//! Copy the files of a flash image to a folder of the host.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_chip::{Chip, Clock, EventKind, Part, Recorder, Trace};
use flysch_linux::filesystem::{FileKind, FsError};
use flysch_linux::vfs::Vfs;

use super::{PIECE, TransferError};
use crate::machine::Build;
use crate::machine::stack::{Main, Stack};

/// Longest path that is followed, in bytes (`PATH_MAX`). In a damaged image, folders may contain
/// each other, and the limit ends the descent.
const PATH_MAX: usize = 4096;
/// How many bytes all files together may claim for each byte of the image. Holes take no room on
/// flash, so large files are possible; but a damaged image may claim any size.
const CLAIMED_MAX: u64 = 1024;

/// What was copied from an image, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Number of files that were copied in full.
    pub files: u32,
    /// Page reads that mounting the image took.
    pub mount_reads: u64,
    /// Of `mount_reads`, those that attaching UBI took.
    pub attach_reads: u64,
    /// Paths that could not be copied, each with the reason.
    pub lost: Vec<(String, String)>,
}

/// Mount `image`, the flash of a partition, and copy all its files to `folder`, which is created.
/// Damaged files are listed in the result, and all others are copied.
///
/// # Errors
/// Fails if the image cannot be mounted or the host refuses a file.
pub fn extract(
    build: &Build,
    main: Main,
    (image, folder): (&Path, &Path),
) -> Result<Extracted, TransferError> {
    let (part, image_bytes) = part_of(&build.part, image)?;
    let build = Build {
        partition_blocks: part.geometry.block_count,
        part: Arc::new(part),
        ..build.clone()
    };
    let (clock, geometry) = (Clock::new(), build.part.geometry);
    let recorder = Recorder::new(clock.clone(), "flysch");
    let chip = Chip::load(Arc::clone(&build.part), clock, build.seed, image)?;
    let (device, pram) = build.devices(chip, &recorder);
    let machine = build.mount(Stack::file(main), device, pram, recorder)?;
    let trace = machine.recorder.take(geometry);
    fs::create_dir(folder).map_err(TransferError::host(folder))?;
    let mut copy = Copy {
        linux: &mut machine.linux.borrow_mut(),
        room: image_bytes.saturating_mul(CLAIMED_MAX),
        done: Extracted {
            mount_reads: trace.count(EventKind::Read),
            attach_reads: attach_reads(&trace),
            ..Extracted::default()
        },
    };
    copy.folder("", folder)?;
    Ok(copy.done)
}

fn attach_reads(trace: &Trace) -> u64 {
    let reads = trace.events.iter().filter(|event| event.kind == EventKind::Read);
    reads.filter(|event| trace.causes.path(event.cause).contains("ubi_attach")).count() as u64
}

/// The part with as many blocks as the image has, and the size of the image.
fn part_of(part: &Part, image: &Path) -> Result<(Part, u64), TransferError> {
    let size = fs::metadata(image).map_err(TransferError::host(image))?.len();
    let geometry = part.geometry;
    let page = u64::from(geometry.page_size + geometry.oob_size);
    let block = page * u64::from(geometry.pages_per_block);
    let blocks = u32::try_from(size / block).ok();
    let blocks = blocks.filter(|&blocks| {
        size.is_multiple_of(block) && (1..=geometry.block_count).contains(&blocks)
    });
    let mut part = part.clone();
    part.geometry.block_count = blocks.ok_or_else(|| TransferError::Size {
        image: size,
        part: part.name.clone(),
        block,
        blocks: geometry.block_count,
    })?;
    Ok((part, size))
}

struct Copy<'a> {
    linux: &'a mut Vfs,
    /// How many bytes the files that follow may still claim.
    room: u64,
    done: Extracted,
}

impl Copy<'_> {
    fn lose(&mut self, path: &str, why: &impl ToString) {
        self.done.lost.push((path.to_owned(), why.to_string()));
    }

    fn folder(&mut self, from: &str, to: &Path) -> Result<(), TransferError> {
        let entries = match self.linux.list(if from.is_empty() { "/" } else { from }) {
            Ok(entries) => entries,
            Err(error) => {
                self.lose(from, &error);
                return Ok(());
            }
        };
        for entry in entries {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            let path = if from.is_empty() { name.clone() } else { format!("{from}/{name}") };
            let Some(to) = place(to, &entry.name).filter(|_| path.len() <= PATH_MAX) else {
                self.lose(&path, &"no name for a file");
                continue;
            };
            match entry.kind {
                FileKind::Directory => {
                    fs::create_dir(&to).map_err(TransferError::host(&to))?;
                    self.folder(&path, &to)?;
                }
                FileKind::Regular => self.file(&path, &to)?,
                FileKind::Special => self.lose(&path, &"neither a file nor a folder"),
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &str, to: &Path) -> Result<(), TransferError> {
        let mut file = File::create_new(to).map_err(TransferError::host(to))?;
        match self.content(from, &mut file) {
            Ok(()) => self.done.files += 1,
            Err(Failed::Flash(error)) => self.lose(from, &error),
            Err(Failed::Size(size)) => self.lose(from, &format_args!("claims {size} bytes")),
            Err(Failed::Host(error)) => return Err(TransferError::Host(to.to_owned(), error)),
        }
        Ok(())
    }

    /// Copy a file. A piece that is all zeros becomes a hole.
    fn content(&mut self, from: &str, to: &mut File) -> Result<(), Failed> {
        let fd = self.linux.open(from, false)?;
        let size = self.linux.size(fd)?;
        self.room = self.room.checked_sub(size).ok_or(Failed::Size(size))?;
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        while offset < size {
            let len = self.linux.read(fd, offset, &mut piece)?;
            if len == 0 {
                break;
            }
            if piece[..len].iter().any(|&byte| byte != 0) {
                to.seek(SeekFrom::Start(offset)).map_err(Failed::Host)?;
                to.write_all(&piece[..len]).map_err(Failed::Host)?;
            }
            offset += len as u64;
        }
        to.set_len(offset).map_err(Failed::Host)?;
        Ok(self.linux.close(fd)?)
    }
}

/// Why a file could not be copied.
enum Failed {
    Flash(FsError),
    Host(std::io::Error),
    Size(u64),
}

impl From<FsError> for Failed {
    fn from(error: FsError) -> Self {
        Self::Flash(error)
    }
}

/// Path on the host for an entry of this name. None if the name would lead out of the folder.
fn place(folder: &Path, name: &[u8]) -> Option<PathBuf> {
    let name = std::str::from_utf8(name).ok()?;
    let is_plain =
        !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    is_plain.then(|| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out() {
        for name in ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0"] {
            assert_eq!(place(Path::new("/tmp/out"), name.as_bytes()), None, "{name}");
        }
        assert_eq!(place(Path::new("out"), b"a b"), Some(PathBuf::from("out/a b")));
        assert_eq!(place(Path::new("out"), b"\xFF"), None);
    }
}
