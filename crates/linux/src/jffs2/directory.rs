//! Directories: a dirent gives a file a name, and a deletion dirent takes the name away.

use super::Jffs2;
use super::append::Writer;
use super::format::{Dirent, DirentType};
use super::inode::{Entry, Inode, InodeCache, MODE_DIRECTORY, MODE_REGULAR};
use super::nodes::NodeState;
use super::reserve::{Need, Purpose};
use crate::cache::PageCache;
use crate::filesystem::{DirEntry, FileKind, FsError, Ino};

const fn kind_of(kind: DirentType) -> FileKind {
    match kind {
        DirentType::REGULAR => FileKind::Regular,
        DirentType::DIRECTORY => FileKind::Directory,
        DirentType(_) => FileKind::Special,
    }
}

impl Jffs2 {
    pub(super) fn find_entry(
        &mut self,
        parent: u32,
        name: &[u8],
    ) -> Result<Option<DirEntry>, FsError> {
        self.load_inode(parent)?;
        let entry = self.inode(parent).entries.get(name);
        let living = entry.and_then(|entry| Some((entry.ino?, entry.kind)));
        Ok(living.map(|(ino, kind)| DirEntry {
            name: name.to_vec(),
            ino: Ino(ino),
            kind: kind_of(kind),
        }))
    }

    /// List the names in a directory, without the deleted ones.
    pub(super) fn list_entries(&mut self, dir: u32) -> Result<Vec<DirEntry>, FsError> {
        self.load_inode(dir)?;
        let living = self.inode(dir).entries.iter().filter_map(|(name, entry)| {
            let ino = Ino(entry.ino?);
            Some(DirEntry { name: name.clone(), ino, kind: kind_of(entry.kind) })
        });
        Ok(living.collect())
    }

    /// Create a file or directory. This writes an inode node and a dirent.
    pub(super) fn create_entry(
        &mut self,
        parent: u32,
        name: &[u8],
        kind: FileKind,
    ) -> Result<u32, FsError> {
        let (mode, dirent_kind) = match kind {
            FileKind::Regular => (MODE_REGULAR, DirentType::REGULAR),
            FileKind::Directory => (MODE_DIRECTORY, DirentType::DIRECTORY),
            FileKind::Special => return Err(FsError::WrongKind),
        };
        self.ino_max += 1;
        let ino = self.ino_max;
        let loaded = Some(Box::new(Inode::empty(mode)));
        let cache = InodeCache { links: 1, checked: true, loaded, ..InodeCache::default() };
        self.inodes.insert(ino, cache);
        let written = self.write_birth(parent, name, ino, dirent_kind);
        if written.is_err() {
            self.cache_of(ino).links = 0;
            self.evict_inode(ino);
        }
        self.wake_collector();
        written.map(|()| ino)
    }

    fn write_birth(
        &mut self,
        parent: u32,
        name: &[u8],
        ino: u32,
        kind: DirentType,
    ) -> Result<(), FsError> {
        // The collector may need cached pages of the file, but a new file has none.
        let cache = &mut PageCache::default();
        self.write_metadata(cache, ino, 0, Purpose::Write)?;
        self.write_dirent(cache, parent, name, Some(ino), kind)
    }

    /// Remove a name. This writes a deletion dirent.
    pub(super) fn remove_entry(&mut self, parent: u32, name: &[u8]) -> Result<(), FsError> {
        let entry = self.find_entry(parent, name)?.ok_or(FsError::NotFound)?;
        if entry.kind == FileKind::Directory && !self.list_entries(entry.ino.0)?.is_empty() {
            return Err(FsError::NotEmpty);
        }
        self.write_dirent(&mut PageCache::default(), parent, name, None, DirentType(0))?;
        self.drop_link(entry.ino.0);
        self.wake_collector();
        Ok(())
    }

    /// Rename. This writes a dirent of the new name, then a deletion dirent of the old one.
    pub(super) fn move_entry(
        &mut self,
        from: u32,
        name: &[u8],
        to: u32,
        new_name: &[u8],
    ) -> Result<(), FsError> {
        let entry = self.find_entry(from, name)?.ok_or(FsError::NotFound)?;
        let replaced = self.find_entry(to, new_name)?;
        if replaced.as_ref().is_some_and(|old| old.kind != entry.kind) {
            return Err(FsError::WrongKind);
        }
        if let Some(old) = replaced.as_ref().filter(|old| old.kind == FileKind::Directory)
            && !self.list_entries(old.ino.0)?.is_empty()
        {
            return Err(FsError::NotEmpty);
        }
        let cache = &mut PageCache::default();
        let kind = self.inode(from).entries[name].kind;
        self.write_dirent(cache, to, new_name, Some(entry.ino.0), kind)?;
        self.cache_of(entry.ino.0).links += 1;
        if let Some(replaced) = replaced {
            self.drop_link(replaced.ino.0);
        }
        self.write_dirent(cache, from, name, None, DirentType(0))?;
        self.drop_link(entry.ino.0);
        self.wake_collector();
        Ok(())
    }

    fn drop_link(&mut self, ino: u32) {
        let cache = self.cache_of(ino);
        cache.links = cache.links.saturating_sub(1);
    }

    /// Write a dirent. The dirent that it supersedes becomes obsolete.
    fn write_dirent(
        &mut self,
        cache: &mut PageCache,
        parent: u32,
        name: &[u8],
        ino: Option<u32>,
        kind: DirentType,
    ) -> Result<(), FsError> {
        let (mctime, name) = (self.now_s(), name.to_vec());
        let mut dirent = Dirent { parent, version: 0, ino: ino.unwrap_or(0), mctime, kind, name };
        let purpose = if ino.is_some() { Purpose::Write } else { Purpose::Deletion };
        self.reserve(cache, Need::dirent(&dirent), purpose)?;
        // The version is taken last, because the collector may have moved the name's older dirent
        // to make room.
        dirent.version = self.inode_mut(parent).next_version();
        self.append_dirent(dirent, Writer::User)
    }

    /// Append a dirent at the reserved place and make the one that it supersedes obsolete.
    pub(super) fn append_dirent(&mut self, dirent: Dirent, writer: Writer) -> Result<(), FsError> {
        let node = self.append(&dirent.emit(), Some(dirent.parent), NodeState::Pristine, writer)?;
        let ino = (dirent.ino != 0).then_some(dirent.ino);
        let entry = Entry { node, version: dirent.version, ino, kind: dirent.kind };
        let superseded = self.inode_mut(dirent.parent).entries.insert(dirent.name, entry);
        if let Some(superseded) = superseded {
            self.mark_obsolete(superseded.node);
        }
        Ok(())
    }
}
