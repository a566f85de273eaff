//! Copy the files of a flash image to a folder of the host.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_chip::{Chip, Clock, EventKind, Part, Recorder, Trace};
use flysch_linux::filesystem::{Attributes, FileKind, FsError};
use flysch_linux::pramfs;
use flysch_linux::vfs::Vfs;
use flysch_nand::Geometry;

use super::recognise::{Recognised, recognise};
use super::{ImageOf, PIECE, TransferError, pram};
use crate::machine::Build;
use crate::machine::stack::Stack;

/// Longest path that is followed, in bytes (`PATH_MAX`). In a damaged image, folders may contain
/// each other, and the limit ends the descent.
const PATH_MAX: usize = 4096;
/// How many bytes all files together may claim for each byte of the image. Holes take no room on
/// flash, so files may be larger than the image. But a damaged image may claim any size.
const CLAIMED_MAX: u64 = 1024;

/// What was copied from an image, and what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The file system that was found in the image.
    pub of: ImageOf,
    /// Whether OOB bytes follow the data of each page.
    pub has_oob: bool,
    /// Number of files that were copied in full.
    pub files: u32,
    pub folders: u32,
    /// Number of symbolic links.
    pub links: u32,
    /// Page reads that mounting the image took.
    pub mount_reads: u64,
    /// How many of `mount_reads` attaching UBI took.
    pub attach_reads: u64,
    /// Paths that could not be copied, each with the reason.
    pub lost: Vec<(String, String)>,
    /// Why files that were copied may not be whole although the file system knows of no damage.
    pub doubt: Option<String>,
}

/// Mount `image`, the flash of a partition, and copy all its files to `folder`, which is created.
/// Symbolic links and permissions are kept. Owners are kept if the host allows this process to
/// change them. Times are not kept. Damaged files are listed in the result, and all others are
/// copied. If `wanted` is None, the file system is recognised by its structures.
///
/// # Errors
/// Fails if the image is of no known file system, cannot be mounted or holds nothing, or if the
/// host refuses a file.
pub fn extract(
    build: &Build,
    wanted: Option<ImageOf>,
    (image, folder): (&Path, &Path),
) -> Result<Extracted, TransferError> {
    let size = fs::metadata(image).map_err(TransferError::host(image))?.len();
    check_size(&build.part, size)?;
    let bytes = fs::read(image).map_err(TransferError::host(image))?;
    let wanted = match wanted {
        Some(ImageOf::Flash(main)) => Some(main),
        None if !pramfs::is_image(&bytes) => None,
        None | Some(ImageOf::Pram) => {
            let recorder = Recorder::new(Clock::new(), "flysch");
            let mut linux = pram::mount(build, &bytes, &recorder)?;
            return copy_all(&mut linux, (size, folder), Extracted::of(ImageOf::Pram, false));
        }
    };
    let found = recognise(&build.part, &bytes, wanted).map_err(TransferError::Unrecognised)?;
    let part = part_of(&build.part, &found, size)?;
    let build = Build {
        partition_blocks: part.geometry.block_count,
        part: Arc::new(part),
        ..build.clone()
    };
    let (clock, geometry) = (Clock::new(), build.part.geometry);
    let recorder = Recorder::new(clock.clone(), "flysch");
    let part = Arc::clone(&build.part);
    let chip = Chip::of_image(part, clock, build.seed, &bytes, found.has_oob)?;
    drop(bytes);
    let (device, pram) = build.devices(chip, &recorder);
    let machine = build.mount(Stack::file(found.main), device, pram, recorder)?;
    let trace = machine.recorder.take(geometry);
    let done = Extracted {
        mount_reads: trace.count(EventKind::Read),
        attach_reads: attach_reads(&trace),
        doubt: found.doubt(),
        ..Extracted::of(ImageOf::Flash(found.main), found.has_oob)
    };
    let mut linux = machine.linux.borrow_mut();
    copy_all(&mut linux, (size, folder), done)
}

impl Extracted {
    /// A result without any files.
    const fn of(of: ImageOf, has_oob: bool) -> Self {
        Self {
            of,
            has_oob,
            files: 0,
            folders: 0,
            links: 0,
            mount_reads: 0,
            attach_reads: 0,
            lost: Vec::new(),
            doubt: None,
        }
    }
}

/// Copy all files of what was mounted from an image of `size` bytes.
fn copy_all(
    linux: &mut Vfs,
    (size, folder): (u64, &Path),
    done: Extracted,
) -> Result<Extracted, TransferError> {
    fs::create_dir(folder).map_err(TransferError::host(folder))?;
    let mut copy = Copy { linux, room: size.saturating_mul(CLAIMED_MAX), done };
    copy.folder("", folder)?;
    let Copy { done, .. } = copy;
    if done.files + done.folders + done.links == 0 && done.lost.is_empty() {
        fs::remove_dir(folder).map_err(TransferError::host(folder))?;
        return Err(TransferError::Empty(done.of));
    }
    Ok(done)
}

fn attach_reads(trace: &Trace) -> u64 {
    let reads = trace.events.iter().filter(|event| event.kind == EventKind::Read);
    reads.filter(|event| trace.causes.path(event.cause).contains("ubi_attach")).count() as u64
}

/// Refuse what no chip of the part can hold, before it is read.
fn check_size(part: &Part, image: u64) -> Result<(), TransferError> {
    let geometry = part.geometry;
    let page = u64::from(geometry.page_size + geometry.oob_size);
    let block = page * u64::from(geometry.pages_per_block);
    let blocks = geometry.block_count;
    if image <= block * u64::from(blocks) {
        return Ok(());
    }
    Err(TransferError::Size { image, part: part.name.clone(), block, blocks })
}

/// The part whose flash an image of `size` bytes holds. With OOB bytes, it has as many blocks as
/// the image. Without them, the image fills the first blocks of the part, and the rest is erased.
fn part_of(part: &Part, found: &Recognised, size: u64) -> Result<Part, TransferError> {
    let geometry = found.geometry;
    geometry.check().map_err(TransferError::Geometry)?;
    let oob = if found.has_oob { geometry.oob_size } else { 0 };
    let block = u64::from(geometry.page_size + oob) * u64::from(geometry.pages_per_block);
    let too_large = || TransferError::Size {
        image: size,
        part: part.name.clone(),
        block,
        blocks: geometry.block_count,
    };
    if found.has_oob && !size.is_multiple_of(block) {
        return Err(TransferError::CutOff { image: size, block });
    }
    let blocks = u32::try_from(size.div_ceil(block)).ok();
    let blocks = blocks.filter(|blocks| (1..=geometry.block_count).contains(blocks));
    let blocks = blocks.ok_or_else(too_large)?;
    let block_count = if found.has_oob { blocks } else { geometry.block_count };
    Ok(Part { geometry: Geometry { block_count, ..geometry }, ..part.clone() })
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
            self.entry(entry.kind, &path, &to)?;
        }
        Ok(())
    }

    /// Copy what has one name: first its content, then owner and permissions, as those may forbid
    /// writing.
    fn entry(&mut self, kind: FileKind, from: &str, to: &Path) -> Result<(), TransferError> {
        let attributes = match self.linux.attributes(from) {
            Ok(attributes) => attributes,
            Err(error) => {
                self.lose(from, &error);
                return Ok(());
            }
        };
        let is_there = match kind {
            FileKind::Directory => match self.made(from, to, fs::create_dir(to))? {
                Some(()) => {
                    self.done.folders += 1;
                    self.folder(from, to)?;
                    true
                }
                None => false,
            },
            FileKind::Regular => match self.made(from, to, File::create_new(to))? {
                Some(file) => self.file(from, to, file)?,
                None => false,
            },
            FileKind::Special => {
                let target = attributes.as_ref().and_then(|attributes| attributes.target.as_ref());
                return self.link(from, to, target.map(Vec::as_slice));
            }
        };
        match attributes.filter(|_| is_there) {
            Some(attributes) => give(to, &attributes),
            None => Ok(()),
        }
    }

    fn link(&mut self, from: &str, to: &Path, target: Option<&[u8]>) -> Result<(), TransferError> {
        let Some(target) = target else {
            self.lose(from, &"neither a file, a folder nor a symbolic link");
            return Ok(());
        };
        if self.made(from, to, symlink(OsStr::from_bytes(target), to))?.is_some() {
            self.done.links += 1;
        }
        Ok(())
    }

    /// The result of creating a file on the host. None if the host refuses the name or has it
    /// already, which happens with damaged images: that entry is then listed as lost. All other
    /// failures end the copy.
    fn made<T>(
        &mut self,
        from: &str,
        to: &Path,
        made: io::Result<T>,
    ) -> Result<Option<T>, TransferError> {
        use io::ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, NotFound};
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) => match error.kind() {
                AlreadyExists | InvalidFilename | InvalidInput | NotFound => {
                    self.lose(from, &error);
                    Ok(None)
                }
                _ => Err(TransferError::Host(to.to_owned(), error)),
            },
        }
    }

    /// Fill a new file. Returns whether all of it could be copied.
    fn file(&mut self, from: &str, to: &Path, mut file: File) -> Result<bool, TransferError> {
        match self.content(from, &mut file) {
            Ok(()) => {
                self.done.files += 1;
                return Ok(true);
            }
            Err(Failed::Flash(error)) => self.lose(from, &error),
            Err(Failed::Size(size)) => self.lose(from, &format_args!("claims {size} bytes")),
            Err(Failed::Host(error)) => return Err(TransferError::Host(to.to_owned(), error)),
        }
        Ok(false)
    }

    /// Copy a file. A piece of zeros becomes a hole. So does all that follows the last data of the
    /// file: it is not read, because a damaged image may claim any size.
    fn content(&mut self, from: &str, to: &mut File) -> Result<(), Failed> {
        let fd = self.linux.open(from, false)?;
        let size = self.linux.size(fd)?;
        self.room = self.room.checked_sub(size).ok_or(Failed::Size(size))?;
        let mut piece = vec![0; PIECE];
        let end = self.linux.data_end(fd)?;
        let mut offset = 0;
        while offset < end {
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
        to.set_len(if offset < end { offset } else { size }).map_err(Failed::Host)?;
        Ok(self.linux.close(fd)?)
    }
}

/// Why a file could not be copied.
enum Failed {
    Flash(FsError),
    Host(io::Error),
    Size(u64),
}

impl From<FsError> for Failed {
    fn from(error: FsError) -> Self {
        Self::Flash(error)
    }
}

/// Give a file its owner and its permissions. Only root may change owners. Without its owner, a
/// file does not get the set-user-ID and set-group-ID bits. The highest number means no owner.
fn give(path: &Path, attributes: &Attributes) -> Result<(), TransferError> {
    let &Attributes { uid, gid, .. } = attributes;
    let has_owner = uid != u32::MAX && gid != u32::MAX;
    let is_given = has_owner && chown(path, Some(uid), Some(gid)).is_ok();
    let kept = if is_given { 0o7777 } else { 0o777 };
    let permissions = Permissions::from_mode(attributes.mode & kept);
    fs::set_permissions(path, permissions).map_err(TransferError::host(path))
}

/// The path on the host for an entry with this name. None if the name would lead out of the folder.
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
