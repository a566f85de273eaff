//! Puts SQLite on a simulated stack: calls of SQLite's VFS become system calls.

use std::cell::RefCell;
use std::rc::Rc;

use flysch_chip::{Clock, Prng, Recorder, Scope, Writing};
use flysch_linux::cpu::Unit;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Fd, Vfs};
use flysch_sqlite::{
    Characteristics, File, FileKind, OpenFlags, Settings, SpillFile, SyncFlags, Vfs as SqliteVfs,
    VfsError,
};

use crate::contents::Contents;

/// Milliseconds since 1970 at virtual time zero: 2020-01-01, so that no run depends on the date.
pub(crate) const EPOCH_MS: i64 = 1_577_836_800_000;

/// Calls of `stat` with which SQLite's unix VFS learns the mode and the owner of a new journal, and
/// that the database still has its name.
const CALLS_OF_CREATION: u64 = 4;

/// A mounted stack in the form in which SQLite uses it.
pub struct Storage {
    linux: Rc<RefCell<Vfs>>,
    recorder: Recorder,
    contents: Option<Rc<RefCell<Contents>>>,
    settings: Settings,
    drawn: RefCell<Drawn>,
}

/// What SQLite has asked for so far and will not get again.
#[derive(Clone)]
pub(crate) struct Drawn {
    random: Prng,
    /// The number of the last temporary file, which has no name.
    temporary: u32,
}

/// A file that is about to be opened.
struct Entry {
    linux: Rc<RefCell<Vfs>>,
    recorder: Recorder,
    contents: Option<Rc<RefCell<Contents>>>,
    settings: Settings,
    path: String,
    flags: OpenFlags,
    is_nameless: bool,
}

impl Entry {
    fn open(&self) -> Result<Box<dyn File>, VfsError> {
        let label = label(self.flags.kind());
        let _scope = self.recorder.scope(label);
        let fd = self.linux.borrow_mut().open(&self.path, self.flags.may_create());
        let fd = fd.map_err(|error| match error {
            FsError::NotFound => VfsError::CannotOpen,
            other => vfs_error(other),
        })?;
        let kind = self.flags.kind();
        if self.flags.may_create() && matches!(kind, FileKind::Journal | FileKind::Wal) {
            // SQLite's unix VFS gives each new journal the owner of the database if root runs it.
            let mut linux = self.linux.borrow_mut();
            linux.set_owner(fd).map_err(vfs_error)?;
            linux.charge(Unit::Stat, CALLS_OF_CREATION);
        }
        let ends = self.is_nameless || self.flags.is_deleted_on_close();
        Ok(Box::new(OpenFile {
            linux: Rc::clone(&self.linux),
            recorder: self.recorder.clone(),
            contents: self.contents.clone(),
            settings: self.settings,
            fd,
            path: self.path.clone(),
            kind,
            label,
            entry_unsynced: self.flags.may_create() && is_journal(self.flags.kind()),
            ends_with_handle: ends.then(|| self.path.clone()),
        }))
    }
}

struct OpenFile {
    linux: Rc<RefCell<Vfs>>,
    recorder: Recorder,
    contents: Option<Rc<RefCell<Contents>>>,
    settings: Settings,
    fd: Fd,
    path: String,
    kind: FileKind,
    label: &'static str,
    /// Whether the file's directory entry is not durable yet. The first sync also syncs the
    /// directory, as SQLite's unix VFS does for journals that it made.
    entry_unsynced: bool,
    /// The name to remove when the file is closed. None if the file stays.
    ends_with_handle: Option<String>,
}

impl Storage {
    /// Make `linux` usable for SQLite. `seed` decides all random numbers that SQLite asks for.
    pub fn new(
        linux: Rc<RefCell<Vfs>>,
        recorder: Recorder,
        contents: Option<Rc<RefCell<Contents>>>,
        settings: Settings,
        seed: u64,
    ) -> Self {
        let drawn = RefCell::new(Drawn { random: Prng::new(seed), temporary: 0 });
        Self { linux, recorder, contents, settings, drawn }
    }

    /// What was drawn so far.
    pub(crate) fn drawn(&self) -> Drawn {
        self.drawn.borrow().clone()
    }

    /// Go on from what was drawn at an earlier moment.
    pub(crate) fn take_back(&self, drawn: &Drawn) {
        self.drawn.borrow_mut().clone_from(drawn);
    }

    fn clock(&self) -> &Clock {
        self.recorder.clock()
    }

    fn temporary_name(&self) -> String {
        let number = &mut self.drawn.borrow_mut().temporary;
        *number += 1;
        format!("etilqs_{number}")
    }
}

/// The label of the scope for calls on a file of this kind.
const fn label(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Database => "database",
        FileKind::Journal => "journal",
        FileKind::Wal => "wal",
        FileKind::SuperJournal => "super_journal",
        FileKind::StatementJournal | FileKind::TemporaryJournal => "statement_journal",
        FileKind::TemporaryDatabase | FileKind::TransientDatabase => "temporary",
    }
}

const fn is_journal(kind: FileKind) -> bool {
    matches!(kind, FileKind::Journal | FileKind::SuperJournal | FileKind::Wal)
}

/// The label of the scope for calls on a file of this name, by SQLite's naming of journals and
/// logs.
pub(crate) fn label_of(name: &str) -> &'static str {
    match name {
        _ if name.ends_with("-journal") => "journal",
        _ if name.ends_with("-wal") => "wal",
        _ => "database",
    }
}

const fn vfs_error(error: FsError) -> VfsError {
    match error {
        FsError::NotFound => VfsError::NotFound,
        FsError::NoSpace => VfsError::NoSpace,
        FsError::PowerLost => VfsError::PowerLost,
        FsError::Damaged { .. } => VfsError::Corrupt,
        FsError::Exists | FsError::TooLong | FsError::WrongKind | FsError::NotEmpty => {
            VfsError::CannotOpen
        }
        FsError::Io => VfsError::Io,
    }
}

impl SqliteVfs for Storage {
    fn open(&self, name: Option<&str>, flags: OpenFlags) -> Result<Box<dyn File>, VfsError> {
        let path = name.map_or_else(|| self.temporary_name(), str::to_owned);
        let entry = Entry {
            linux: Rc::clone(&self.linux),
            recorder: self.recorder.clone(),
            contents: self.contents.clone(),
            settings: self.settings,
            path,
            flags,
            is_nameless: name.is_none(),
        };
        let may_wait =
            matches!(flags.kind(), FileKind::StatementJournal | FileKind::TemporaryJournal);
        match self.settings.statement_spill {
            limit @ 1.. if may_wait => Ok(Box::new(SpillFile::new(limit, move || entry.open()))),
            _ => entry.open(),
        }
    }

    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), VfsError> {
        let _scope = self.recorder.scope(label_of(name));
        settle(self.contents.as_deref(), name);
        if let Some(contents) = &self.contents {
            contents.borrow_mut().deleted(name);
        }
        let mut linux = self.linux.borrow_mut();
        linux.unlink(name).map_err(vfs_error)?;
        if sync_directory { linux.sync_directory("/").map_err(vfs_error) } else { Ok(()) }
    }

    fn exists(&self, name: &str) -> Result<bool, VfsError> {
        let _scope = self.recorder.scope(label_of(name));
        self.linux.borrow_mut().exists(name).map_err(vfs_error)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.drawn.borrow_mut().random.fill(bytes);
    }

    fn sleep(&self, microseconds: u64) {
        self.linux.borrow_mut().sleep(microseconds * 1000);
    }

    fn now_ms(&self) -> i64 {
        let elapsed_ms = i64::try_from(self.clock().now_ns() / 1_000_000);
        EPOCH_MS + elapsed_ms.expect("a simulation is shorter than 292 million years")
    }

    fn supports_shared_memory(&self, _name: &str) -> bool {
        self.linux.borrow().filesystem().maps_shared()
    }

    fn note_lock_calls(&self, calls: u32) {
        // A file is closed, with its locks, also while the file system is in use.
        if let Ok(linux) = self.linux.try_borrow() {
            linux.charge(Unit::Lock, calls.into());
        }
    }
}

/// Call this after a call that may have ended a transaction on the database that the file belongs
/// to.
pub(crate) fn settle(contents: Option<&RefCell<Contents>>, path: &str) {
    if let Some(contents) = contents {
        contents.borrow_mut().settle(path);
    }
}

impl OpenFile {
    /// Find the origins of bytes that are about to be written, so that the file system can report
    /// them.
    fn note_origins(&self, offset: u64, bytes: &[u8]) -> Option<Writing> {
        let mut contents = self.contents.as_ref()?.borrow_mut();
        let parts = contents.written(&self.path, self.kind, offset, bytes);
        let mut linux = self.linux.borrow_mut();
        for (offset, len, origin) in &parts {
            linux.note_origin(self.fd, *offset, *len, *origin);
        }
        let largest = parts.iter().max_by_key(|(_, len, _)| *len);
        largest.map(|(_, _, origin)| self.recorder.write(*origin))
    }

    /// Make a call on the file in the scope of its label.
    fn call<T>(
        &self,
        call: impl FnOnce(&mut Vfs, Fd) -> Result<T, FsError>,
    ) -> Result<T, VfsError> {
        let _scope: Scope = self.recorder.scope(self.label);
        call(&mut self.linux.borrow_mut(), self.fd).map_err(vfs_error)
    }
}

impl File for OpenFile {
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<usize, VfsError> {
        self.call(|linux, fd| {
            linux.charge(Unit::SqlRead, 1);
            linux.read(fd, offset, bytes)
        })
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), VfsError> {
        let _writing = self.note_origins(offset, bytes);
        let is_log = self.kind == FileKind::Wal;
        self.call(|linux, fd| {
            linux.charge(Unit::SqlWrite, 1);
            if is_log {
                linux.charge(Unit::SqlWalByte, bytes.len() as u64);
            }
            linux.write(fd, offset, bytes)
        })
    }

    fn truncate(&mut self, size: u64) -> Result<(), VfsError> {
        settle(self.contents.as_deref(), &self.path);
        self.call(|linux, fd| linux.truncate(fd, size))
    }

    /// Call `fsync`, whatever the flags. SQLite's unix VFS calls `fdatasync` only if it was built
    /// for that, and the plain source from which the reference runs were built is not.
    fn sync(&mut self, _flags: SyncFlags) -> Result<(), VfsError> {
        self.call(Vfs::fsync)?;
        if let Some(contents) = &self.contents {
            contents.borrow_mut().synced(&self.path);
        }
        if self.kind == FileKind::Database {
            settle(self.contents.as_deref(), &self.path);
        }
        if std::mem::take(&mut self.entry_unsynced) {
            self.call(|linux, _| linux.sync_directory("/"))?;
        }
        Ok(())
    }

    fn size(&mut self) -> Result<u64, VfsError> {
        self.call(Vfs::size)
    }

    fn sector_size(&self) -> u32 {
        self.settings.sector_size
    }

    fn characteristics(&self) -> Characteristics {
        if self.settings.powersafe_overwrite {
            Characteristics::POWERSAFE_OVERWRITE
        } else {
            Characteristics::NONE
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let _scope = self.recorder.scope(self.label);
        settle(self.contents.as_deref(), &self.path);
        let mut linux = self.linux.borrow_mut();
        // A dropped handle cannot return an error. Later calls will meet the same failure.
        let _unseen = linux.close(self.fd);
        if let Some(name) = &self.ends_with_handle {
            let _unseen = linux.unlink(name);
        }
    }
}
