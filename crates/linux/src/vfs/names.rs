//! System calls on names. A path is resolved from the root, one directory after the other.
//!
//! What holds for every file system is checked here, before the file system is called: whether a
//! name is free or taken, how long it is, and whether one kind of file may replace another.

use super::Vfs;
use crate::cpu::Unit;
use crate::filesystem::{Attributes, DirEntry, FileKind, FsError, Ino, MODE_PERMISSIONS};

/// A name in a directory, whether or not a file has it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) dir: Ino,
    pub(super) name: &'a [u8],
}

impl Vfs {
    /// Whether a file or directory has this name (`access`).
    pub fn exists(&mut self, path: &str) -> Result<bool, FsError> {
        let _scope = self.enter("access");
        self.cpu.charge(Unit::Path, 1);
        let found = self.place(path).and_then(|place| self.find(place));
        match found {
            Ok(entry) => Ok(entry.is_some()),
            Err(FsError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The kind and the size of what has this name (`stat`). The size of a directory is 0. `None`
    /// if nothing has the name.
    pub fn stat(&mut self, path: &str) -> Result<Option<(FileKind, u64)>, FsError> {
        let _scope = self.enter("stat");
        self.cpu.charge(Unit::Path, 1);
        if names(path).next().is_none() {
            return Ok(Some((FileKind::Directory, 0)));
        }
        let found = self.place(path).and_then(|place| self.find(place));
        match found {
            Ok(Some(DirEntry { kind: FileKind::Regular, ino, .. })) => {
                Ok(Some((FileKind::Regular, self.fs.load(ino)?)))
            }
            Ok(entry) => Ok(entry.map(|entry| (entry.kind, 0))),
            Err(FsError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Type, permissions, owner and the target of a link (`lstat`, `readlink`). `None` if the file
    /// system does not store them.
    pub fn attributes(&mut self, path: &str) -> Result<Option<Attributes>, FsError> {
        let _scope = self.enter("stat");
        self.cpu.charge(Unit::Path, 1);
        let ino = if names(path).next().is_none() {
            self.fs.root()
        } else {
            let place = self.place(path)?;
            self.find(place)?.ok_or(FsError::NotFound)?.ino
        };
        self.fs.attributes(ino)
    }

    /// Set the permissions of a file or a directory (`chmod`). Nothing is written if it has them,
    /// or if the file system does not store any.
    pub fn set_permissions(&mut self, path: &str, permissions: u32) -> Result<(), FsError> {
        let _scope = self.enter("chmod");
        let place = self.place(path)?;
        let ino = self.find(place)?.ok_or(FsError::NotFound)?.ino;
        self.fs.load(ino)?;
        let attributes = self.fs.attributes(ino)?;
        if attributes.is_none_or(|it| it.mode & MODE_PERMISSIONS == permissions) {
            return Ok(());
        }
        self.fs.set_permissions(&mut self.cache, ino, permissions)
    }

    pub fn mkdir(&mut self, path: &str) -> Result<(), FsError> {
        let _scope = self.enter("mkdir");
        let place = self.place(path)?;
        if self.find(place)?.is_some() {
            return Err(FsError::Exists);
        }
        self.create(place, FileKind::Directory).map(drop)
    }

    pub fn list(&mut self, path: &str) -> Result<Vec<DirEntry>, FsError> {
        let _scope = self.enter("list");
        let dir = self.directory(path)?;
        self.fs.entries(dir)
    }

    /// Remove a file's name, or an empty directory. The content of a file that is still open lives
    /// until its last close.
    pub fn unlink(&mut self, path: &str) -> Result<(), FsError> {
        let _scope = self.enter("unlink");
        self.cpu.charge(Unit::Path, 1);
        let place = self.place(path)?;
        let entry = self.find(place)?.ok_or(FsError::NotFound)?;
        self.cpu.charge(Unit::Name, 1);
        self.fs.unlink(place.dir, place.name)?;
        self.lose_name(entry.ino)
    }

    /// Rename `from` to `to`. A file or an empty directory that has the name `to` is replaced.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), FsError> {
        let _scope = self.enter("rename");
        self.cpu.charge(Unit::Path, 1);
        let (old, new) = (self.place(from)?, self.place(to)?);
        let moved = self.find(old)?.ok_or(FsError::NotFound)?;
        let replaced = self.find(new)?;
        if replaced.as_ref().is_some_and(|entry| entry.ino == moved.ino) {
            return Ok(());
        }
        if moved.kind == FileKind::Directory && self.leads_through(to, moved.ino)? {
            return Err(FsError::WrongKind);
        }
        let is_directory = |entry: &DirEntry| entry.kind == FileKind::Directory;
        if replaced.as_ref().is_some_and(|entry| is_directory(entry) != is_directory(&moved)) {
            return Err(FsError::WrongKind);
        }
        self.check_name(new.name)?;
        self.fs.rename(old.dir, old.name, new.dir, new.name)?;
        replaced.map_or(Ok(()), |entry| self.lose_name(entry.ino))
    }

    /// Make the names in a directory durable, with the three calls that open, sync and close it.
    pub fn sync_directory(&mut self, path: &str) -> Result<(), FsError> {
        let _scope = self.enter("sync_directory");
        self.cpu.charge(Unit::Syscall, 2);
        for unit in [Unit::Path, Unit::Open, Unit::Fsync] {
            self.cpu.charge(unit, 1);
        }
        let dir = self.directory(path)?;
        self.fs.fsync(&mut self.cache, dir, false)
    }

    /// Find the directory that holds the last name of a path.
    pub(super) fn place<'a>(&mut self, path: &'a str) -> Result<Place<'a>, FsError> {
        let path = path.trim_end_matches('/');
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(FsError::WrongKind);
        }
        Ok(Place { dir: self.directory(parents)?, name: name.as_bytes() })
    }

    /// Look a name up. The inode of a regular file comes into memory, as with every lookup in a
    /// kernel.
    pub(super) fn find(&mut self, place: Place<'_>) -> Result<Option<DirEntry>, FsError> {
        let entry = self.fs.lookup(place.dir, place.name)?;
        if let Some(DirEntry { kind: FileKind::Regular, ino, .. }) = entry {
            self.load(ino)?;
        }
        Ok(entry)
    }

    /// Create a file or directory that [`Vfs::find`] did not find.
    pub(super) fn create(&mut self, place: Place<'_>, kind: FileKind) -> Result<Ino, FsError> {
        self.check_name(place.name)?;
        self.cpu.charge(Unit::Name, 1);
        self.fs.create(place.dir, place.name, kind)
    }

    /// Check a name that a directory is to get.
    fn check_name(&self, name: &[u8]) -> Result<(), FsError> {
        if name.len() > self.fs.name_size_max() { Err(FsError::TooLong) } else { Ok(()) }
    }

    fn directory(&mut self, path: &str) -> Result<Ino, FsError> {
        let mut dir = self.fs.root();
        for name in names(path) {
            let entry = self.fs.lookup(dir, name)?.ok_or(FsError::NotFound)?;
            if entry.kind != FileKind::Directory {
                return Err(FsError::WrongKind);
            }
            dir = entry.ino;
        }
        Ok(dir)
    }

    /// Whether the path `to` leads through the directory `through`.
    fn leads_through(&mut self, path: &str, through: Ino) -> Result<bool, FsError> {
        let mut dir = self.fs.root();
        for name in names(path) {
            let Some(entry) = self.fs.lookup(dir, name)? else {
                return Ok(false);
            };
            if entry.ino == through {
                return Ok(true);
            }
            dir = entry.ino;
        }
        Ok(false)
    }

    fn lose_name(&mut self, ino: Ino) -> Result<(), FsError> {
        if self.inodes.lose_name(ino) { self.evict(ino) } else { Ok(()) }
    }
}

fn names(path: &str) -> impl Iterator<Item = &[u8]> {
    path.split('/').filter(|name| !name.is_empty()).map(str::as_bytes)
}
