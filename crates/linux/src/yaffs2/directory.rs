//! Names. The name of an object is only in its own header. A file that loses its name is moved to
//! the directory of unlinked objects until its last user closes it, and then to that of deleted
//! objects.

use super::Yaffs2;
use super::format::Kind;
use super::headers::Change;
use super::objects::{DELETED, LOST_AND_FOUND, Object, UNLINKED};
use super::options::Profile;
use crate::filesystem::{DirEntry, FileKind, FsError, Ino};

const fn kind_of(kind: Kind) -> FileKind {
    match kind {
        Kind::File => FileKind::Regular,
        Kind::Directory => FileKind::Directory,
        Kind::Other(_) => FileKind::Special,
    }
}

impl Yaffs2 {
    fn find_child(&mut self, dir: u32, name: &[u8]) -> Result<Option<u32>, FsError> {
        for id in self.objects.children(dir) {
            self.load_details(id)?;
            if self.objects.object(id).name == name {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn entry_of(&self, id: u32) -> DirEntry {
        let object = self.objects.object(id);
        DirEntry { name: object.name.clone(), ino: Ino(id), kind: kind_of(object.kind) }
    }

    pub(super) fn find_entry(
        &mut self,
        parent: u32,
        name: &[u8],
    ) -> Result<Option<DirEntry>, FsError> {
        Ok(self.find_child(parent, name)?.map(|id| self.entry_of(id)))
    }

    /// List a directory. The directory `lost+found` is listed only if it holds something.
    pub(super) fn list_entries(&mut self, dir: u32) -> Result<Vec<DirEntry>, FsError> {
        let mut entries = Vec::new();
        for id in self.objects.children(dir) {
            self.load_details(id)?;
            if id != LOST_AND_FOUND || !self.objects.children(id).is_empty() {
                entries.push(self.entry_of(id));
            }
        }
        Ok(entries)
    }

    /// Create a file or directory, which writes one header.
    pub(super) fn create_entry(
        &mut self,
        parent: u32,
        name: &[u8],
        kind: FileKind,
    ) -> Result<u32, FsError> {
        let kind = match kind {
            FileKind::Regular => Kind::File,
            FileKind::Directory => Kind::Directory,
            FileKind::Special => return Err(FsError::WrongKind),
        };
        let id = self.objects.next_id();
        let mtime = self.now_s();
        self.objects.all.insert(id, Object { mtime, ..Object::new(kind, parent, name) });
        if let Err(error) = self.write_header(id, Change::default()) {
            self.objects.all.remove(&id);
            return Err(error);
        }
        self.note_changed(parent)?;
        Ok(id)
    }

    /// Note that a directory has changed. Today's code writes its header with the new time at once.
    /// (An option leaves this to the background thread. The kernel runs of the reference do not use
    /// it: their counts have one read and one program more for each name that comes or goes, even
    /// in short runs.)
    fn note_changed(&mut self, dir: u32) -> Result<(), FsError> {
        if self.options.profile == Profile::Y2009 || !self.objects.object(dir).is_named() {
            return Ok(());
        }
        let now = self.now_s();
        let object = self.objects.object_mut(dir);
        (object.is_dirty, object.mtime) = (true, now);
        match self.write_header(dir, Change::default()) {
            // The name has changed already. The time waits for the next sync.
            Err(FsError::NoSpace) => Ok(()),
            other => other,
        }
    }

    /// Remove a name. Its object moves to the directory of unlinked objects.
    pub(super) fn remove_entry(&mut self, parent: u32, name: &[u8]) -> Result<(), FsError> {
        let id = self.find_child(parent, name)?.ok_or(FsError::NotFound)?;
        if id == LOST_AND_FOUND || !self.objects.children(id).is_empty() {
            return Err(FsError::NotEmpty);
        }
        self.note_changed(parent)?;
        self.unlink_object(id)
    }

    fn unlink_object(&mut self, id: u32) -> Result<(), FsError> {
        self.rename_object(id, UNLINKED, b"unlinked", Change::default())
    }

    /// Move an object. If its header cannot be written, it stays where it was.
    fn rename_object(
        &mut self,
        id: u32,
        to: u32,
        name: &[u8],
        change: Change,
    ) -> Result<(), FsError> {
        let object = self.objects.object_mut(id);
        let old = (object.parent, std::mem::replace(&mut object.name, name.to_vec()));
        object.parent = to;
        object.is_dirty = true;
        let written = self.write_header(id, change);
        if written.is_err() {
            let object = self.objects.object_mut(id);
            (object.parent, object.name) = old;
        }
        written
    }

    /// Free an object that has no name left, with its chunks.
    pub(super) fn end_object(&mut self, id: u32) -> Result<(), FsError> {
        let Some(object) = self.objects.get(id).filter(|object| !object.is_named()) else {
            return Ok(());
        };
        let is_deleted = object.parent == DELETED;
        self.short_ops.remove_object(id);
        self.drop_chunks(id, 0)?;
        if !is_deleted {
            let change = Change { is_shrink: true, shadows: 0 };
            self.rename_object(id, DELETED, b"deleted", change)?;
        }
        let object = self.objects.all.remove(&id).expect("it was just there");
        object.header.map_or(Ok(()), |header| self.delete_chunk(header))
    }

    /// Rename. If the new name is taken, the first header says that it shadows the object with that
    /// name, which is then unlinked. A second header does not shadow it. No garbage is collected
    /// meanwhile, since copies of headers shadow nothing; the code of 2009 collects all the same.
    pub(super) fn move_entry(
        &mut self,
        from: u32,
        name: &[u8],
        to: u32,
        new_name: &[u8],
    ) -> Result<(), FsError> {
        let id = self.find_child(from, name)?.ok_or(FsError::NotFound)?;
        if id <= LOST_AND_FOUND {
            return Err(FsError::WrongKind);
        }
        let replaced = self.find_child(to, new_name)?;
        if let Some(replaced) = replaced {
            self.check_replaceable(id, replaced)?;
            let change = Change { is_shrink: false, shadows: replaced };
            self.collector.is_off = self.options.profile == Profile::Today;
            let renamed = self.rename_object(id, to, new_name, change);
            let unlinked = renamed.and_then(|()| self.unlink_object(replaced));
            self.collector.is_off = false;
            unlinked?;
        }
        self.rename_object(id, to, new_name, Change::default())?;
        self.note_changed(from)?;
        if to == from { Ok(()) } else { self.note_changed(to) }
    }

    fn check_replaceable(&self, id: u32, replaced: u32) -> Result<(), FsError> {
        if self.objects.object(id).kind != self.objects.object(replaced).kind {
            Err(FsError::WrongKind)
        } else if replaced == LOST_AND_FOUND || !self.objects.children(replaced).is_empty() {
            Err(FsError::NotEmpty)
        } else {
            Ok(())
        }
    }
}
