//! Databases of the host on the machine.
//!
//! The machine has one folder. A database has the same file name there as on the host; the second
//! folder of the host and later ones put their number in front of the name. When a database is
//! opened for the first time, it is copied to the machine with its write-ahead log or hot journal,
//! under a lock that keeps writers out. The host's files are not changed, unless the user wants
//! them written back at the end.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File as HostFile};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flysch_chip::{Change, Changes as Kept, Recorder};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs as Linux;
use flysch_sqlite::{File, FileKind, OpenFlags, Vfs, VfsError};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde::{Deserialize, Serialize};

use super::changes::{Changes, Counted};
use crate::bench::site::SETTLE_NS;
use crate::contents::{Contents, Part};
use crate::machine::Machine;
use crate::trace::write_atomic;

/// The first bytes of every SQLite database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes that are copied at a time.
const PIECE: usize = 64 << 10;
/// The endings of the files next to a database that are part of its content.
pub(super) const COMPANIONS: [&str; 2] = ["-wal", "-journal"];

/// What the user should know about a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub path: PathBuf,
    pub what: &'static str,
    /// Whether the run failed to do what the user asked for.
    pub is_failure: bool,
}

/// The state of a database when a program first opened it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Its name on the machine.
    pub name: String,
    /// Its path on the host.
    pub path: String,
    /// Size and CRC-32 of its file. None if there was no file.
    pub content: Option<(u64, u32)>,
}

impl Start {
    fn new(name: String, path: &str, bytes: Option<&[u8]>) -> Self {
        let content = bytes.map(|bytes| (bytes.len() as u64, crc32fast::hash(bytes)));
        Self { name, path: path.to_owned(), content }
    }
}

/// Why databases were not written back. Databases that it does not name were not touched.
#[derive(Debug)]
pub struct WriteBackError {
    pub path: PathBuf,
    pub why: String,
}

impl fmt::Display for WriteBackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot be written back: {}", self.path.display(), self.why)
    }
}

/// The files of a machine, under the names of the host's files.
pub(super) struct HostFiles {
    vfs: Rc<dyn Vfs>,
    linux: Rc<RefCell<Linux>>,
    recorder: Recorder,
    contents: Option<Rc<RefCell<Contents>>>,
    folders: RefCell<Vec<String>>,
    /// The folder of the calling process, for relative names. None if names are absolute.
    current: RefCell<Option<String>>,
    /// The databases that were opened, by their paths on the host.
    databases: RefCell<BTreeSet<String>>,
    notes: RefCell<Vec<Note>>,
    /// Virtual time that copying took, nanoseconds.
    copying_ns: Cell<u64>,
    /// The folder of the host that the machine's folder stands for. None if files of several
    /// folders are copied to it.
    root: Option<String>,
    /// The files to copy for databases, by the databases' names on the machine. None: each database
    /// is copied from its own path on the host.
    sources: RefCell<Option<BTreeMap<String, PathBuf>>>,
    starts: RefCell<Vec<Start>>,
    /// The time that programs are given, milliseconds since 1970. None: the virtual time.
    now_ms: Cell<Option<i64>>,
    pub(super) changes: Changes,
    /// Whether files can be mapped shared, as far as the file system does it.
    pub(super) shares_memory: Cell<bool>,
    /// The recorded changes to the devices. None if they are not recorded.
    kept: RefCell<Option<Kept>>,
    /// The ranges of these changes by which files were copied to the machine.
    imported: RefCell<Vec<Range<usize>>>,
}

impl HostFiles {
    pub(super) fn new(
        vfs: Rc<dyn Vfs>,
        machine: &Machine,
        root: Option<String>,
        keeps_calls: bool,
    ) -> Self {
        Self {
            vfs,
            linux: Rc::clone(&machine.linux),
            recorder: machine.recorder.clone(),
            contents: machine.contents.clone(),
            folders: RefCell::default(),
            current: RefCell::default(),
            databases: RefCell::default(),
            notes: RefCell::default(),
            copying_ns: Cell::new(0),
            root,
            sources: RefCell::default(),
            starts: RefCell::default(),
            now_ms: Cell::new(None),
            changes: Changes::new(keeps_calls),
            shares_memory: Cell::new(true),
            kept: RefCell::default(),
            imported: RefCell::default(),
        }
    }

    pub(super) fn notes(&self) -> Vec<Note> {
        self.notes.borrow().clone()
    }

    /// Copy only these files to the machine, each for the database with this name there.
    pub(super) fn begin_with(&self, sources: BTreeMap<String, PathBuf>) {
        self.sources.replace(Some(sources));
    }

    /// Give programs a constant time instead of the virtual one.
    pub(super) fn tell_time(&self, now_ms: i64) {
        self.now_ms.set(Some(now_ms));
    }

    /// The state of each database when it was first opened.
    pub(super) fn starts(&self) -> Vec<Start> {
        self.starts.borrow().clone()
    }

    /// The host's file to copy for a database. None if the database begins empty.
    fn source(&self, path: &str) -> Option<String> {
        let place = self.place(path);
        match &*self.sources.borrow() {
            None => Some(path.to_owned()),
            Some(sources) => sources.get(&place).map(|source| source.display().to_string()),
        }
    }

    pub(super) fn copying_ns(&self) -> u64 {
        self.copying_ns.get()
    }

    pub(super) fn database_count(&self) -> usize {
        self.databases.borrow().len()
    }

    /// Make names relative to this folder of the host.
    pub(super) fn stand_in(&self, folder: &str) {
        self.current.replace(Some(folder.to_owned()));
    }

    /// The absolute path for a name.
    fn resolved(&self, name: &str) -> String {
        match &*self.current.borrow() {
            Some(folder) if !name.starts_with('/') => {
                format!("{}/{name}", folder.trim_end_matches('/'))
            }
            _ => name.to_owned(),
        }
    }

    /// The name on the machine of a file of the host.
    fn place(&self, path: &str) -> String {
        if let Some(root) = &self.root {
            let inside = path.strip_prefix(root.as_str()).unwrap_or(path);
            return inside.trim_start_matches('/').to_owned();
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folders = self.folders.borrow_mut();
        let known = folders.iter().position(|known| known == folder);
        let number = known.unwrap_or_else(|| {
            folders.push(folder.to_owned());
            folders.len() - 1
        });
        if number == 0 { name.to_owned() } else { format!("{}.{name}", number + 1) }
    }

    fn note(&self, path: &str, what: &'static str, is_failure: bool) {
        let note = Note { path: path.into(), what, is_failure };
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The path on the host of a file on the machine. None if the machine does not stand for a
    /// folder.
    pub(super) fn on_host(&self, place: &str) -> Option<String> {
        self.root.as_ref().map(|root| format!("{root}/{place}"))
    }

    /// Copy a folder, database or other file of the host that is used for the first time. Returns
    /// whether it is a database.
    pub(super) fn adopt(&self, path: &str) -> Result<bool, VfsError> {
        let host = Path::new(path);
        if host.is_dir() {
            return self.uncounted(|linux| linux.mkdir(&self.place(path))).map(|()| false);
        }
        let mut begin = [0; MAGIC.len()];
        let file = HostFile::open(host).and_then(|mut file| file.read_exact(&mut begin));
        if file.is_ok() && begin == MAGIC {
            return self.copy_in(path).map(|()| true);
        }
        let bytes = fs::read(host).map_err(|_| VfsError::CannotOpen)?;
        self.import_noted(path, &[(path.to_owned(), bytes)]).map(|()| false)
    }

    /// Note that a program created a database on the machine.
    pub(super) fn made(&self, path: String) {
        self.databases.borrow_mut().insert(path);
    }

    pub(super) fn is_database(&self, path: &str) -> bool {
        self.databases.borrow().contains(path)
    }

    /// Copy a database of the host to the machine, if it exists and was not opened before.
    fn copy_in(&self, path: &str) -> Result<(), VfsError> {
        if self.databases.borrow().contains(path) {
            return Ok(());
        }
        let source = self.source(path).filter(|source| Path::new(source).is_file());
        let mut bytes = None;
        if let Some(source) = &source {
            let mut files = read_locked(source).map_err(|what| {
                self.note(path, what, true);
                VfsError::CannotOpen
            })?;
            if files.first().is_some_and(|(_, it)| !it.is_empty() && !it.starts_with(MAGIC)) {
                self.note(path, "is encrypted, or no SQLite database", false);
            }
            for (name, _) in &mut files {
                name.replace_range(..source.len(), path);
            }
            self.import_noted(path, &files)?;
            bytes = files.into_iter().next().map(|(_, bytes)| bytes);
        }
        let start = Start::new(self.place(path), path, bytes.as_deref());
        self.starts.borrow_mut().push(start);
        self.databases.borrow_mut().insert(path.to_owned());
        Ok(())
    }

    /// Write files to the machine. If this fails, a note for the user says why.
    fn import_noted(&self, path: &str, files: &[(String, Vec<u8>)]) -> Result<(), VfsError> {
        let outcome = self.uncounted(|linux| {
            let mut outcome = Ok(());
            for (path, bytes) in files {
                let place = self.place(path);
                let parts = self.parts(&place, bytes);
                outcome = outcome.and_then(|()| write_file(linux, &place, bytes, &parts));
            }
            outcome.and_then(|()| linux.sync())
        });
        if outcome == Err(VfsError::NoSpace) {
            self.note(path, "does not fit on the partition", true);
        }
        outcome
    }

    /// Change the machine's files without counting the operations or the time.
    fn uncounted(
        &self,
        change: impl FnOnce(&mut Linux) -> Result<(), FsError>,
    ) -> Result<(), VfsError> {
        let began_ns = self.recorder.clock().now_ns();
        let (before, kept_before) = (self.recorder.len(), self.kept_count());
        let scope = self.recorder.scope("import");
        let mut linux = self.linux.borrow_mut();
        let mut outcome = change(&mut linux);
        if outcome.is_ok() && before == 0 {
            outcome = linux.drop_caches();
            linux.sleep(SETTLE_NS);
        }
        drop(scope);
        self.recorder.cut(before);
        self.imported.borrow_mut().push(kept_before..self.kept_count());
        let now_ns = self.recorder.clock().now_ns();
        self.copying_ns.set(self.copying_ns.get() + now_ns - began_ns);
        outcome.map_err(|error| match error {
            FsError::NoSpace => VfsError::NoSpace,
            _ => VfsError::Io,
        })
    }

    /// Record the changes to the devices in `kept`.
    pub(super) fn keep(&self, kept: Kept) {
        self.kept.replace(Some(kept));
    }

    /// Number of changes recorded so far.
    pub(super) fn kept_count(&self) -> usize {
        self.kept.borrow().as_ref().map_or(0, Kept::count)
    }

    /// Take the recorded changes, and the ranges of them by which files were copied to the machine.
    pub(super) fn take_kept(&self) -> (Vec<Change>, Vec<Range<usize>>) {
        let kept = self.kept.borrow();
        let changes = kept.as_ref().map(Kept::take).unwrap_or_default();
        (changes, self.imported.take())
    }

    /// The origins of the bytes of a file that is copied to the machine.
    fn parts(&self, place: &str, bytes: &[u8]) -> Vec<Part> {
        let Some(contents) = &self.contents else { return Vec::new() };
        let mut contents = contents.borrow_mut();
        match place {
            _ if place.ends_with("-wal") => contents.parts(place, FileKind::Wal, 0, bytes),
            _ if place.ends_with("-journal") => contents.parts(place, FileKind::Journal, 0, bytes),
            _ if self.root.is_some() && !bytes.starts_with(MAGIC) => {
                contents.other_written(place, 0, bytes.len() as u64)
            }
            _ => contents.load(place, bytes),
        }
    }

    /// Copy every database that was opened back to the host: its file, its log and its hot journal.
    /// All of them are read from the machine before the first file is replaced.
    pub(super) fn write_back(&self) -> Result<usize, WriteBackError> {
        let mut out: Vec<(String, Option<Vec<u8>>)> = Vec::new();
        let databases = self.databases.borrow();
        for database in databases.iter() {
            for path in with_companions(database) {
                let why = |error: FsError| WriteBackError {
                    path: path.clone().into(),
                    why: error.to_string(),
                };
                let content = read_file(&mut self.linux.borrow_mut(), &self.place(&path));
                out.push((path.clone(), content.map_err(why)?));
            }
        }
        for (path, content) in &out {
            let done = match content {
                Some(bytes) => write_atomic(Path::new(path), bytes, true),
                None => match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                },
            };
            done.map_err(|error| WriteBackError { path: path.into(), why: error.to_string() })?;
        }
        Ok(databases.len())
    }
}

/// The databases on a machine with their logs and journals, by their names there.
pub(super) fn left(linux: &mut Linux, starts: &[Start]) -> Result<Vec<(String, Vec<u8>)>, FsError> {
    let mut all = Vec::new();
    for name in starts.iter().flat_map(|start| with_companions(&start.name)) {
        let content = read_file(linux, &name)?;
        all.extend(content.map(|bytes| (name, bytes)));
    }
    Ok(all)
}

/// The files of a machine, under the names of the host's files. Nothing more is copied from the
/// host.
pub(crate) fn files_of(vfs: Rc<dyn Vfs>, machine: &Machine, starts: &[Start]) -> Rc<dyn Vfs> {
    let files = HostFiles::new(vfs, machine, None, false);
    files.begin_with(BTreeMap::new());
    // A folder gets its number when it is first used, so the order must be the same.
    for start in starts {
        files.place(&start.path);
    }
    Rc::new(files)
}

/// The names of a database, its write-ahead log and its journal.
pub(crate) fn with_companions(database: &str) -> impl Iterator<Item = String> {
    let companions = COMPANIONS.map(|end| format!("{database}{end}"));
    std::iter::once(database.to_owned()).chain(companions)
}

/// Read a database with its log and journal while no program can write to it. Connections that use
/// a write-ahead log hold locks on its index (`-shm`), so this is locked too.
fn read_locked(path: &str) -> Result<Vec<(String, Vec<u8>)>, &'static str> {
    const LOCKED: &str = "is locked by another program, so it could not be copied";
    const UNREADABLE: &str = "cannot be read";
    let lock = |path: &str| -> Result<Option<HostFile>, &'static str> {
        let file = match HostFile::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|_| UNREADABLE)?,
        };
        fcntl_lock(&file, FlockOperation::NonBlockingLockShared).map_err(|_| LOCKED)?;
        Ok(Some(file))
    };
    // The locks are released when these files are closed, after everything has been read.
    let database = lock(path)?.ok_or(UNREADABLE)?;
    let index = lock(&format!("{path}-shm"))?;
    let mut files = Vec::new();
    for path in with_companions(path) {
        match fs::read(&path) {
            Ok(bytes) => files.push((path, bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Err(UNREADABLE),
        }
    }
    drop((database, index));
    Ok(files)
}

fn write_file(linux: &mut Linux, name: &str, bytes: &[u8], parts: &[Part]) -> Result<(), FsError> {
    let fd = linux.open(name, true)?;
    for (offset, len, origin) in parts {
        linux.note_origin(fd, *offset, *len, *origin);
    }
    let mut offset = 0;
    let mut outcome = Ok(());
    for piece in bytes.chunks(PIECE) {
        outcome = outcome.and_then(|()| linux.write(fd, offset, piece));
        offset += piece.len() as u64;
    }
    outcome.and(linux.close(fd))
}

/// The content of a file on the machine. None if it does not exist.
pub(crate) fn read_file(linux: &mut Linux, name: &str) -> Result<Option<Vec<u8>>, FsError> {
    let fd = match linux.open(name, false) {
        Err(FsError::NotFound) => return Ok(None),
        opened => opened?,
    };
    let size = usize::try_from(linux.size(fd)?).map_err(|_| FsError::TooLong)?;
    let mut bytes = vec![0; size];
    linux.read(fd, 0, &mut bytes)?;
    linux.close(fd)?;
    Ok(Some(bytes))
}

impl Vfs for HostFiles {
    fn open(&self, name: Option<&str>, flags: OpenFlags) -> Result<Box<dyn File>, VfsError> {
        let kind = flags.kind();
        let path = name.map(|name| self.resolved(name));
        if let (Some(path), FileKind::Database) = (&path, kind) {
            self.copy_in(path)?;
        }
        let place = path.map(|path| self.place(&path));
        let file = self.vfs.open(place.as_deref(), flags)?;
        Ok(Box::new(Counted { file, place, changes: self.changes.clone() }))
    }

    fn delete(&self, name: &str, sync_directory: bool) -> Result<(), VfsError> {
        self.vfs.delete(&self.place(&self.resolved(name)), sync_directory)
    }

    fn exists(&self, name: &str) -> Result<bool, VfsError> {
        self.vfs.exists(&self.place(&self.resolved(name)))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.vfs.fill_random(bytes);
    }

    fn sleep(&self, microseconds: u64) {
        self.vfs.sleep(microseconds);
    }

    fn now_ms(&self) -> i64 {
        self.now_ms.get().unwrap_or_else(|| self.vfs.now_ms())
    }

    fn supports_shared_memory(&self, name: &str) -> bool {
        self.shares_memory.get() && self.vfs.supports_shared_memory(name)
    }
}
