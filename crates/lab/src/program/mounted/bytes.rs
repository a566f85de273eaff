//! Reading, writing, truncating and syncing files, and the tables that the bytes belong to.

use flysch_chip::{Scope, Writing};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Fd, Vfs};
use flysch_sqlite::FileKind;
use rustix::io::Errno;

use super::nodes::Node;
use super::{Answer, Handle, Mounted};
use crate::contents::Part;
use crate::machine::storage::{label_of, settle};
use crate::program::host_files::MAGIC;

/// The ending of the name of a write-ahead log's index.
const INDEX: &str = "-shm";
/// The beginning of the names of SQLite's temporary files.
const TEMPORARY: &str = "etilqs_";

/// The name under which a file is counted. SQLite gives each super-journal and temporary file a new
/// random name; all of one kind are counted together.
fn family(path: &str) -> &str {
    let begin = path.rfind('/').map_or(0, |at| at + 1);
    let is_random = |end: &str| end.len() >= 8 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    match path.rsplit_once("-mj") {
        Some((database, random)) if is_random(random) => &path[..database.len() + "-mj".len()],
        _ if path[begin..].starts_with(TEMPORARY) => &path[..begin + TEMPORARY.len()],
        _ => path,
    }
}

impl Mounted<'_> {
    /// The scopes for a call on a file: the outer one is named after the file, the inner one after
    /// its kind. They are dropped in this order.
    pub(super) fn scopes(&self, path: &str) -> (Scope, Scope) {
        let recorder = &self.simulation.stack().recorder;
        let outer = match path {
            "" => recorder.scope("(folder)"),
            path => recorder.scope(&format!("(file {})", family(path))),
        };
        let inner = recorder.scope(label_of(path));
        (inner, outer)
    }

    /// Call this after a call that may have ended a transaction on the database that the file
    /// belongs to.
    pub(super) fn settle(&self, path: &str) {
        settle(self.simulation.stack().contents.as_deref(), path);
    }

    /// The descriptor of an open handle of a file. None if the file is not open.
    pub(super) fn fd_of(&self, node: u64) -> Option<Fd> {
        self.handles.values().filter(|handle| handle.node == node).find_map(|handle| handle.fd)
    }

    fn handle(&self, number: u64) -> Result<&Handle, Errno> {
        self.handles.get(&number).ok_or(Errno::BADF)
    }

    pub(super) fn create(&mut self, parent: u64, name: &str, mode: u16) -> Result<Answer, Errno> {
        let path = self.nodes.path_of(parent, name)?;
        if let Some(node) = self.nodes.find(&path) {
            return self.open(node);
        }
        let is_memory = path.ends_with(INDEX) && self.simulation.shares_memory();
        let fd = if is_memory { None } else { Some(self.open_file(&path, true)?) };
        self.seen.insert(path.clone());
        let node = self.nodes.add(&path, false);
        let fresh = self.nodes.of(node)?;
        (fresh.memory, fresh.mode) = (is_memory.then(Vec::new), mode);
        self.opened(node, fd)
    }

    pub(super) fn open(&mut self, node: u64) -> Result<Answer, Errno> {
        let Node { path, memory, .. } = self.nodes.of(node)?;
        let (path, is_memory) = (path.clone(), memory.is_some());
        let fd = if is_memory { None } else { Some(self.open_file(&path, false)?) };
        self.opened(node, fd)
    }

    fn open_file(&self, path: &str, create: bool) -> Result<Fd, Errno> {
        self.call(path, |linux| linux.open(path, create))
    }

    fn opened(&mut self, node: u64, fd: Option<Fd>) -> Result<Answer, Errno> {
        let handle = self.next_handle;
        self.next_handle += 1;
        self.handles.insert(handle, Handle { node, fd });
        let file = self.attributes(node)?;
        Ok(Answer::Opened { handle, file, is_memory: fd.is_none() })
    }

    pub(super) fn read(&mut self, handle: u64, offset: u64, size: u32) -> Result<Answer, Errno> {
        let &Handle { node, fd } = self.handle(handle)?;
        let size = usize::try_from(size).map_err(|_| Errno::INVAL)?;
        let Some(fd) = fd else {
            let memory = self.nodes.of(node)?.memory.as_deref().unwrap_or_default();
            let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(memory.len());
            let end = begin.saturating_add(size).min(memory.len());
            return Ok(Answer::Bytes(memory[begin..end].to_vec()));
        };
        let path = self.nodes.path(node)?;
        let mut bytes = vec![0; size];
        let found = self.call(&path, |linux| linux.read(fd, offset, &mut bytes))?;
        bytes.truncate(found);
        Ok(Answer::Bytes(bytes))
    }

    pub(super) fn write(
        &mut self,
        handle: u64,
        offset: u64,
        bytes: &[u8],
        changed_ms: u64,
    ) -> Result<Answer, Errno> {
        let &Handle { node, fd } = self.handle(handle)?;
        let found = self.nodes.of(node)?;
        found.changed_ms = changed_ms;
        let Some(fd) = fd else {
            let memory = found.memory.get_or_insert_default();
            let begin = usize::try_from(offset).map_err(|_| Errno::FBIG)?;
            let end = begin.checked_add(bytes.len()).ok_or(Errno::FBIG)?;
            memory.resize(end.max(memory.len()), 0);
            memory[begin..end].copy_from_slice(bytes);
            return Ok(Answer::Done);
        };
        let path = found.path.clone();
        self.simulation.files().changes.note_write(Some(&path), offset, bytes.len() as u64);
        let _writing = self.note_origins(fd, &path, offset, bytes);
        self.call(&path, |linux| linux.write(fd, offset, bytes)).map(|()| Answer::Done)
    }

    /// Find the origins of bytes that are about to be written, so that the file system can report
    /// them.
    fn note_origins(&self, fd: Fd, path: &str, offset: u64, bytes: &[u8]) -> Option<Writing> {
        let stack = self.simulation.stack();
        let parts: Vec<Part> = {
            let kind = self.kind(path, offset, bytes);
            let mut contents = stack.contents.as_ref()?.borrow_mut();
            match kind {
                Some(kind) => contents.written(path, kind, offset, bytes),
                None => contents.other_written(family(path), offset, bytes.len() as u64),
            }
        };
        let mut linux = stack.linux.borrow_mut();
        for (offset, len, origin) in &parts {
            linux.note_origin(fd, *offset, *len, *origin);
        }
        let largest = parts.iter().max_by_key(|(_, len, _)| *len);
        largest.map(|(_, _, origin)| stack.recorder.write(*origin))
    }

    /// The kind that a file has for SQLite, by its name and its first bytes. None if it is not
    /// SQLite's.
    fn kind(&self, path: &str, offset: u64, bytes: &[u8]) -> Option<FileKind> {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        if name.starts_with(TEMPORARY) {
            return Some(FileKind::TemporaryDatabase);
        }
        if name.ends_with("-journal") {
            return Some(FileKind::Journal);
        }
        if name.ends_with("-wal") {
            return Some(FileKind::Wal);
        }
        let files = self.simulation.files();
        let host = files.on_host(path)?;
        if offset == 0 && bytes.starts_with(MAGIC) {
            files.made(host);
            return Some(FileKind::Database);
        }
        files.is_database(&host).then_some(FileKind::Database)
    }

    pub(super) fn resize(
        &mut self,
        node: u64,
        size: u64,
        changed_ms: u64,
    ) -> Result<Answer, Errno> {
        let found = self.nodes.of(node)?;
        found.changed_ms = changed_ms;
        let path = found.path.clone();
        if let Some(memory) = &mut found.memory {
            memory.resize(usize::try_from(size).map_err(|_| Errno::FBIG)?, 0);
            return self.attributes(node).map(Answer::Node);
        }
        self.settle(&path);
        self.simulation.files().changes.note_truncate(Some(&path), size);
        self.with_fd(node, &path, |linux, fd| linux.truncate(fd, size))?;
        self.attributes(node).map(Answer::Node)
    }

    pub(super) fn set_owner(&mut self, node: u64) -> Result<Answer, Errno> {
        let found = self.nodes.of(node)?;
        if found.memory.is_none() && !found.is_folder {
            let path = found.path.clone();
            self.with_fd(node, &path, Vfs::set_owner)?;
        }
        self.attributes(node).map(Answer::Node)
    }

    /// Make a call on a file. If it is not open, it is opened for this call.
    fn with_fd(
        &self,
        node: u64,
        path: &str,
        call: impl FnOnce(&mut Vfs, Fd) -> Result<(), FsError>,
    ) -> Result<(), Errno> {
        if let Some(fd) = self.fd_of(node) {
            return self.call(path, |linux| call(linux, fd));
        }
        self.call(path, |linux| {
            let fd = linux.open(path, false)?;
            call(linux, fd).and(linux.close(fd))
        })
    }

    pub(super) fn sync(&mut self, handle: u64, data_only: bool) -> Result<Answer, Errno> {
        let &Handle { node, fd } = self.handle(handle)?;
        let Some(fd) = fd else { return Ok(Answer::Done) };
        let path = self.nodes.path(node)?;
        self.simulation.files().changes.note_sync(Some(&path));
        self.call(&path, |linux| if data_only { linux.fdatasync(fd) } else { linux.fsync(fd) })?;
        if let Some(contents) = &self.simulation.stack().contents {
            contents.borrow_mut().synced(&path);
        }
        if label_of(&path) == "database" {
            self.settle(&path);
        }
        Ok(Answer::Done)
    }

    pub(super) fn release(&mut self, handle: u64) -> Result<Answer, Errno> {
        let Handle { node, fd } = self.handles.remove(&handle).ok_or(Errno::BADF)?;
        let path = self.nodes.path(node)?;
        self.settle(&path);
        match fd {
            Some(fd) => self.call(&path, |linux| linux.close(fd)).map(|()| Answer::Done),
            None => Ok(Answer::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn names_that_are_new_each_time_are_counted_together() {
        let cases = [
            ("a.db-mj53B830988", "a.db-mj"),
            ("d/etilqs_0a1b", "d/etilqs_"),
            ("d/a.db-journal", "d/a.db-journal"),
            ("a-mj.txt", "a-mj.txt"),
        ];
        for (name, wanted) in cases {
            assert_eq!(family(name), wanted);
        }
    }
}
