//! Calls on the files of a real file system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use flysch_lab::machine::files::Files;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Advice, Fd};

/// A directory, and the open files in it.
#[derive(Debug)]
pub(super) struct RealFiles {
    folder: PathBuf,
    open: Vec<Option<File>>,
    /// Whether files that are opened from now on get the advice of random access
    /// (`POSIX_FADV_RANDOM`).
    pub(super) advises_random: bool,
}

impl RealFiles {
    pub(super) const fn new(folder: PathBuf) -> Self {
        Self { folder, open: Vec::new(), advises_random: false }
    }

    /// An open file. Passing a closed descriptor is a bug of the caller.
    fn file(&self, fd: Fd) -> &File {
        self.open.get(fd.0).and_then(Option::as_ref).expect("an open file")
    }
}

impl Files for RealFiles {
    fn open(&mut self, name: &str, create: bool) -> Result<Fd, FsError> {
        let path = self.folder.join(name);
        let file = OpenOptions::new().read(true).write(true).create(create).open(path);
        self.open.push(Some(file.map_err(|error| fs_error(&error))?));
        let fd = Fd(self.open.len() - 1);
        if self.advises_random {
            self.advise(fd, Advice::Random)?;
        }
        Ok(fd)
    }

    fn read(&mut self, fd: Fd, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        self.file(fd).read_at(bytes, offset).map_err(|error| fs_error(&error))
    }

    fn write(&mut self, fd: Fd, offset: u64, bytes: &[u8]) -> Result<(), FsError> {
        self.file(fd).write_all_at(bytes, offset).map_err(|error| fs_error(&error))
    }

    fn fsync(&mut self, fd: Fd) -> Result<(), FsError> {
        self.file(fd).sync_all().map_err(|error| fs_error(&error))
    }

    fn advise(&mut self, fd: Fd, advice: Advice) -> Result<(), FsError> {
        let (offset, len, advice) = match advice {
            Advice::Normal => (0, 0, rustix::fs::Advice::Normal),
            Advice::Sequential => (0, 0, rustix::fs::Advice::Sequential),
            Advice::Random => (0, 0, rustix::fs::Advice::Random),
            Advice::DontNeed { offset, len } => (offset, len, rustix::fs::Advice::DontNeed),
            Advice::WillNeed { offset, len } => (offset, len, rustix::fs::Advice::WillNeed),
        };
        let advised = rustix::fs::fadvise(self.file(fd), offset, NonZeroU64::new(len), advice);
        advised.map_err(|error| fs_error(&error.into()))
    }

    fn unlink(&mut self, name: &str) -> Result<(), FsError> {
        fs::remove_file(self.folder.join(name)).map_err(|error| fs_error(&error))
    }

    fn close(&mut self, fd: Fd) -> Result<(), FsError> {
        self.open[fd.0] = None;
        Ok(())
    }

    fn pass_drawing(&self, _bytes: u64) {}
}

fn fs_error(error: &io::Error) -> FsError {
    match error.kind() {
        ErrorKind::NotFound => FsError::NotFound,
        ErrorKind::StorageFull => FsError::NoSpace,
        ErrorKind::AlreadyExists => FsError::Exists,
        ErrorKind::IsADirectory => FsError::WrongKind,
        _ => FsError::Io,
    }
}
