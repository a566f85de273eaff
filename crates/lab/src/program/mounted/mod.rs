//! The machine's files as a folder of the host, for programs whose SQLite cannot be made to use the
//! shim.
//!
//! The caller mounts the folder (with FUSE) and turns each request of the kernel into a [`Call`].
//! The machine stands for one folder of the host. A file of that folder is copied to the machine
//! when its name is first looked up.
//!
//! ```text
//! nodes   the numbers by which the kernel knows files
//! bytes   reading, writing, truncating and syncing; the tables that bytes belong to
//! ```
//!
//! Invariants:
//! 1. The index of a write-ahead log (`-shm`) is kept in the memory of this process and not
//!    counted, just as with the shim. If the file system does not support shared mappings, the
//!    index is an ordinary file, and the kernel refuses to map it.
//! 2. A name that was looked up, made or removed here is never copied in again.

mod bytes;
mod nodes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use flysch_linux::filesystem::{FileKind, FsError};
use flysch_linux::vfs::{Fd, Vfs};
use flysch_sqlite::VfsError;
use rustix::io::Errno;

use super::host_files::COMPANIONS;
use super::simulation::Simulation;
use nodes::{Node, Nodes};

/// A request of the kernel. Nodes and handles are the numbers in earlier answers; the root folder
/// is node 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Lookup { parent: u64, name: String },
    Attributes { node: u64 },
    Resize { node: u64, size: u64 },
    SetOwner { node: u64 },
    SetMode { node: u64, mode: u16 },
    MakeFolder { parent: u64, name: String },
    Create { parent: u64, name: String, mode: u16 },
    Open { node: u64 },
    Read { handle: u64, offset: u64, size: u32 },
    Write { handle: u64, offset: u64, bytes: Vec<u8> },
    Sync { handle: u64, data_only: bool },
    Release { handle: u64 },
    SyncFolder { node: u64 },
    List { node: u64 },
    Remove { parent: u64, name: String },
    Rename { from: (u64, String), to: (u64, String), replaces: bool },
    Space,
}

/// A file or folder as the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub node: u64,
    pub size: u64,
    pub is_folder: bool,
    pub mode: u16,
    /// Virtual time of the last change, milliseconds.
    pub changed_ms: u64,
}

/// The answer to a call that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Node(Attributes),
    /// An open file. The kernel may cache its pages only if `is_memory` is set.
    Opened {
        handle: u64,
        file: Attributes,
        is_memory: bool,
    },
    Bytes(Vec<u8>),
    /// Names in a folder: each with the number of its node, or 0 if it has none yet, and whether it
    /// is a folder.
    Names(Vec<(String, u64, bool)>),
    /// Size of the partition in bytes.
    Space(u64),
}

struct Handle {
    node: u64,
    /// Its descriptor on the machine. None for a file that is kept in memory.
    fd: Option<Fd>,
}

/// The machine's folder, as the kernel sees it.
pub struct Mounted<'a> {
    simulation: &'a Simulation,
    partition_bytes: u64,
    nodes: Nodes,
    handles: BTreeMap<u64, Handle>,
    next_handle: u64,
    /// Paths that are no longer looked up on the host.
    seen: BTreeSet<String>,
}

impl<'a> Mounted<'a> {
    /// The folder of a machine whose partition has `partition_bytes` bytes.
    pub fn new(simulation: &'a Simulation, partition_bytes: u64) -> Self {
        let (nodes, handles, seen) = (Nodes::default(), BTreeMap::new(), BTreeSet::new());
        Self { simulation, partition_bytes, nodes, handles, next_handle: 1, seen }
    }

    /// Whether any file is open.
    pub fn is_in_use(&self) -> bool {
        !self.handles.is_empty()
    }

    /// Execute a request of the kernel.
    ///
    /// # Errors
    /// Fails as the call would on the machine.
    pub fn carry_out(&mut self, call: Call) -> Result<Answer, Errno> {
        let changed_ms = self.simulation.now_ms();
        match call {
            Call::Lookup { parent, name } => self.lookup(parent, &name),
            Call::Attributes { node } => self.attributes(node).map(Answer::Node),
            Call::Resize { node, size } => self.resize(node, size, changed_ms),
            Call::SetOwner { node } => self.set_owner(node),
            Call::SetMode { node, mode } => {
                self.nodes.of(node)?.mode = mode;
                self.attributes(node).map(Answer::Node)
            }
            Call::MakeFolder { parent, name } => self.make_folder(parent, &name),
            Call::Create { parent, name, mode } => self.create(parent, &name, mode),
            Call::Open { node } => self.open(node),
            Call::Read { handle, offset, size } => self.read(handle, offset, size),
            Call::Write { handle, offset, bytes } => self.write(handle, offset, &bytes, changed_ms),
            Call::Sync { handle, data_only } => self.sync(handle, data_only),
            Call::Release { handle } => self.release(handle),
            Call::SyncFolder { node } => {
                let path = self.nodes.path(node)?;
                self.call(&path, |linux| linux.sync_directory(&path)).map(|()| Answer::Done)
            }
            Call::List { node } => self.list(node),
            Call::Remove { parent, name } => self.remove(parent, &name),
            Call::Rename { from, to, replaces } => self.rename(&from, &to, replaces),
            Call::Space => Ok(Answer::Space(self.partition_bytes)),
        }
    }

    /// Make a call on the machine for the file at `path`, in the scopes of that file.
    fn call<T>(
        &self,
        path: &str,
        call: impl FnOnce(&mut Vfs) -> Result<T, FsError>,
    ) -> Result<T, Errno> {
        let _scopes = self.scopes(path);
        call(&mut self.simulation.stack().linux.borrow_mut()).map_err(errno)
    }

    fn lookup(&mut self, parent: u64, name: &str) -> Result<Answer, Errno> {
        let path = self.nodes.path_of(parent, name)?;
        if let Some(number) = self.nodes.find(&path) {
            return self.attributes(number).map(Answer::Node);
        }
        self.adopt(&path)?;
        match self.call(&path, |linux| linux.stat(&path))? {
            Some((kind, _)) => {
                let node = self.nodes.add(&path, kind == FileKind::Directory);
                self.attributes(node).map(Answer::Node)
            }
            None => Err(Errno::NOENT),
        }
    }

    /// Copy what the host has at `path`, if it was not looked up before.
    fn adopt(&mut self, path: &str) -> Result<(), Errno> {
        if path.ends_with("-shm") || !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let files = self.simulation.files();
        let Some(host) = files.on_host(path).filter(|host| Path::new(host).exists()) else {
            return Ok(());
        };
        let is_database = files.adopt(&host).map_err(|error| match error {
            VfsError::NoSpace => Errno::NOSPC,
            _ => Errno::IO,
        })?;
        if is_database {
            self.seen.extend(COMPANIONS.map(|end| format!("{path}{end}")));
        }
        Ok(())
    }

    fn attributes(&mut self, number: u64) -> Result<Attributes, Errno> {
        let Node { path, is_folder, mode, changed_ms, memory, .. } = self.nodes.of(number)?.clone();
        let size = match (memory, self.fd_of(number)) {
            (Some(memory), _) => memory.len() as u64,
            (None, _) if is_folder => 0,
            (None, Some(fd)) => self.call(&path, |linux| linux.size(fd))?,
            (None, None) => self.call(&path, |linux| linux.stat(&path))?.ok_or(Errno::NOENT)?.1,
        };
        Ok(Attributes { node: number, size, is_folder, mode, changed_ms })
    }

    fn make_folder(&mut self, parent: u64, name: &str) -> Result<Answer, Errno> {
        let path = self.nodes.path_of(parent, name)?;
        self.call(&path, |linux| linux.mkdir(&path))?;
        self.seen.insert(path.clone());
        let node = self.nodes.add(&path, true);
        self.attributes(node).map(Answer::Node)
    }

    fn list(&mut self, number: u64) -> Result<Answer, Errno> {
        let folder = self.nodes.path(number)?;
        let entries = self.call(&folder, |linux| linux.list(&folder))?;
        let mut names: BTreeMap<String, (u64, bool)> = BTreeMap::new();
        for entry in entries {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            let node = self.nodes.path_of(number, &name).ok().and_then(|it| self.nodes.find(&it));
            names.insert(name, (node.unwrap_or(0), entry.kind == FileKind::Directory));
        }
        for name in self.nodes.memories(&folder) {
            names.insert(name, (0, false));
        }
        for (name, is_folder) in self.only_on_host(&folder) {
            names.entry(name).or_insert((0, is_folder));
        }
        let names = names.into_iter().map(|(name, (node, is_folder))| (name, node, is_folder));
        Ok(Answer::Names(names.collect()))
    }

    /// Names in the host's folder that were not looked up yet, and whether each is a folder.
    fn only_on_host(&self, folder: &str) -> Vec<(String, bool)> {
        let host = self.simulation.files().on_host(folder);
        let entries = host.and_then(|host| std::fs::read_dir(host).ok()).into_iter().flatten();
        let entries = entries.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let kind = entry.file_type().ok()?;
            let is_new = !self.seen.contains(&nodes::joined(folder, &name));
            (is_new && !name.ends_with("-shm")).then_some((name, kind.is_dir()))
        });
        entries.collect()
    }

    fn remove(&mut self, parent: u64, name: &str) -> Result<Answer, Errno> {
        let path = self.nodes.path_of(parent, name)?;
        self.seen.insert(path.clone());
        if !self.nodes.is_memory(&path) {
            self.settle(&path);
            self.call(&path, |linux| linux.unlink(&path))?;
        }
        self.nodes.lose(&path);
        Ok(Answer::Done)
    }

    fn rename(
        &mut self,
        from: &(u64, String),
        to: &(u64, String),
        replaces: bool,
    ) -> Result<Answer, Errno> {
        let (old, new) = (self.nodes.path_of(from.0, &from.1)?, self.nodes.path_of(to.0, &to.1)?);
        if !replaces && self.call(&new, |linux| linux.exists(&new))? {
            return Err(Errno::EXIST);
        }
        self.settle(&old);
        self.call(&old, |linux| linux.rename(&old, &new))?;
        self.seen.extend([old.clone(), new.clone()]);
        self.nodes.rename(&old, &new);
        Ok(Answer::Done)
    }
}

fn errno(error: FsError) -> Errno {
    match error {
        FsError::NotFound => Errno::NOENT,
        FsError::Exists => Errno::EXIST,
        FsError::TooLong => Errno::NAMETOOLONG,
        FsError::WrongKind => Errno::ISDIR,
        FsError::NotEmpty => Errno::NOTEMPTY,
        FsError::NoSpace => Errno::NOSPC,
        FsError::Damaged { .. } | FsError::Io | FsError::PowerLost => Errno::IO,
    }
}
