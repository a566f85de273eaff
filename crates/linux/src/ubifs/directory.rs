//! Directories: their names are looked up, listed, added, removed and moved.

use super::Ubifs;
use super::budget::Request;
use super::fault::Fault;
use super::format::{DENT_SIZE, DentNode, aligned};
use super::inode::Dirt;
use super::key::{Key, KeyType};
use crate::filesystem::{DirEntry, FileKind, FsError, Ino};

const NAME_SIZE_MAX: usize = 255;

/// Bytes that a name adds to the size of its directory.
fn dent_share(name: &[u8]) -> u64 {
    u64::from(aligned(DENT_SIZE + u32::try_from(name.len()).expect("a name is short") + 1))
}

impl Ubifs {
    /// Find the entry of a name. A name that was met before is in memory: one that was created
    /// since the caches were dropped is not read from flash to be opened again.
    pub(super) fn look_up(&mut self, dir: u32, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let known = self.names.get(&(dir, name.to_vec()));
        if let Some(entry) = known {
            return Ok(entry.clone());
        }
        let entry = self.find_entry(dir, name)?;
        self.names.insert((dir, name.to_vec()), entry.clone());
        Ok(entry)
    }

    fn find_entry(&mut self, dir: u32, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let _scope = self.recorder.scope("ubifs_lookup");
        self.check_directory(dir)?;
        if name.len() > NAME_SIZE_MAX {
            return Err(FsError::TooLong);
        }
        match self.find_name(Key::dent(dir, name), name)? {
            Some(at) => Ok(Some(entry_of(self.read_dent(at)?))),
            None => Ok(None),
        }
    }

    fn check_directory(&mut self, dir: u32) -> Result<(), FsError> {
        let kind = self.inode(dir)?.kind();
        if kind == FileKind::Directory { Ok(()) } else { Err(FsError::WrongKind) }
    }

    pub(super) fn list_entries(&mut self, dir: u32) -> Result<Vec<DirEntry>, FsError> {
        let _scope = self.recorder.scope("ubifs_readdir");
        self.check_directory(dir)?;
        let mut entries = Vec::new();
        let mut at = self.seek_from(Key::first_dent(dir))?.map(|(at, ..)| at);
        while let Some(position) = at {
            let Some((key, _)) = self.leaf(position) else { break };
            if key.ino() != dir || key.kind() != KeyType::Dent {
                break;
            }
            entries.push(entry_of(self.read_dent(position)?));
            at = self.after(position)?;
        }
        Ok(entries)
    }

    fn has_entries(&mut self, dir: u32) -> Result<bool, Fault> {
        let first = self.seek_from(Key::first_dent(dir))?;
        Ok(first.is_some_and(|(_, key, _)| key.ino() == dir && key.kind() == KeyType::Dent))
    }

    pub(super) fn create_entry(
        &mut self,
        dir: u32,
        name: &[u8],
        kind: FileKind,
    ) -> Result<u32, FsError> {
        if kind == FileKind::Special {
            return Err(FsError::WrongKind);
        }
        let links = u32::from(kind == FileKind::Directory);
        let links_after = self.inode(dir)?.node.links.checked_add(links).ok_or(FsError::NoSpace)?;
        self.afford_names(Request::CREATION)?;
        let inode = self.new_inode(kind)?;
        let ino = inode.node.key.ino();
        self.inodes.insert(ino, inode);
        self.names.remove(&(dir, name.to_vec()));
        self.grow_directory(dir, name, true)?;
        self.inode(dir)?.node.links = links_after;
        let dent = DentNode { key: Key::dent(dir, name), ino, kind, name: name.to_vec() };
        if let Err(fault) = self.write_entries(&[dent], &[ino, dir]) {
            self.inodes.remove(ino);
            self.grow_directory(dir, name, false)?;
            self.inode(dir)?.node.links -= links;
            return Err(fault.into());
        }
        self.release_names(Request::CREATION);
        self.names.insert(
            (dir, name.to_vec()),
            Some(DirEntry { name: name.to_vec(), ino: Ino(ino), kind }),
        );
        Ok(ino)
    }

    /// Change the size of a directory, which gets a name or loses one.
    fn grow_directory(&mut self, dir: u32, name: &[u8], grows: bool) -> Result<(), Fault> {
        let time = self.file_time_ns();
        let node = &mut self.inode(dir)?.node;
        let share = dent_share(name);
        node.size =
            if grows { node.size.saturating_add(share) } else { node.size.saturating_sub(share) };
        node.mtime_ns = time;
        Ok(())
    }

    pub(super) fn remove_entry(&mut self, dir: u32, name: &[u8]) -> Result<(), FsError> {
        let entry = self.look_up(dir, name)?.ok_or(FsError::NotFound)?;
        let ino = entry.ino.0;
        self.names.remove(&(dir, name.to_vec()));
        if entry.kind == FileKind::Directory && self.has_entries(ino)? {
            return Err(FsError::NotEmpty);
        }
        match self.afford_names(Request::REMOVAL) {
            // What is kept back for deletions is not counted as available.
            Ok(()) | Err(FsError::NoSpace) => {}
            Err(error) => return Err(error),
        }
        self.drop_link(ino)?;
        if entry.kind == FileKind::Directory {
            let node = &mut self.inode(dir)?.node;
            node.links = node.links.saturating_sub(1);
        }
        self.grow_directory(dir, name, false)?;
        let dent =
            DentNode { key: Key::dent(dir, name), ino: 0, kind: entry.kind, name: name.to_vec() };
        self.seek_attributes_of_orphan(ino)?;
        self.write_entries(&[dent], &[ino, dir])?;
        self.names.insert((dir, name.to_vec()), None);
        self.note_deletion(ino)?;
        Ok(())
    }

    /// Take a name from an inode. A directory has only one.
    fn drop_link(&mut self, ino: u32) -> Result<(), Fault> {
        let inode = self.inode(ino)?;
        let links = inode.node.links.saturating_sub(1);
        inode.node.links = if inode.kind() == FileKind::Directory { 0 } else { links };
        Ok(())
    }

    /// An inode without a name becomes an orphan, and so do its extended attributes, for which the
    /// kernel searches the index (`ubifs_add_orphan`).
    fn seek_attributes_of_orphan(&mut self, ino: u32) -> Result<(), Fault> {
        if self.inode(ino)?.node.links == 0 { self.look_for_attributes(ino) } else { Ok(()) }
    }

    /// Note an inode that lost its last name. It is an orphan until it is evicted.
    fn note_deletion(&mut self, ino: u32) -> Result<(), Fault> {
        let commit = self.commit_number;
        let inode = self.inode(ino)?;
        if inode.node.links == 0 {
            inode.deleted_at = Some(commit);
            self.orphans.insert(ino);
        }
        Ok(())
    }

    pub(super) fn move_entry(
        &mut self,
        from: u32,
        name: &[u8],
        to: u32,
        new_name: &[u8],
    ) -> Result<(), FsError> {
        let moved = self.look_up(from, name)?.ok_or(FsError::NotFound)?;
        let replaced = self.look_up(to, new_name)?;
        if let Some(old) = &replaced
            && old.kind == FileKind::Directory
            && self.has_entries(old.ino.0)?
        {
            return Err(FsError::NotEmpty);
        }
        self.afford_names(Request::MOVE)?;
        let mut inos = Vec::new();
        if let Some(old) = &replaced {
            self.drop_link(old.ino.0)?;
            inos.push(old.ino.0);
        } else {
            self.grow_directory(to, new_name, true)?;
        }
        self.grow_directory(from, name, false)?;
        self.move_links(&moved, replaced.as_ref(), from, to)?;
        let (kind, ino) = (moved.kind, moved.ino.0);
        let new = DentNode { key: Key::dent(to, new_name), ino, kind, name: new_name.to_vec() };
        let old = DentNode { key: Key::dent(from, name), ino: 0, kind, name: name.to_vec() };
        inos.push(from);
        if to != from {
            inos.push(to);
        }
        if let Some(old) = &replaced {
            self.seek_attributes_of_orphan(old.ino.0)?;
        }
        self.names.remove(&(from, name.to_vec()));
        self.names.remove(&(to, new_name.to_vec()));
        self.write_entries(&[new, old], &inos)?;
        self.release_names(Request::MOVE);
        if let Some(old) = replaced {
            self.note_deletion(old.ino.0)?;
        }
        Ok(())
    }

    /// Change the link counts of two directories when a directory moves from one to the other.
    fn move_links(
        &mut self,
        moved: &DirEntry,
        replaced: Option<&DirEntry>,
        from: u32,
        to: u32,
    ) -> Result<(), Fault> {
        if moved.kind == FileKind::Directory {
            let node = &mut self.inode(from)?.node;
            node.links = node.links.saturating_sub(1);
            let gain = u32::from(replaced.is_none());
            let node = &mut self.inode(to)?.node;
            node.links = node.links.saturating_add(gain);
        }
        Ok(())
    }

    /// Let an inode leave memory. The content of a file without a name is freed here.
    pub(super) fn evict_inode(&mut self, ino: u32) -> Result<(), Fault> {
        let Some(inode) = self.inodes.get(ino) else { return Ok(()) };
        let (links, deleted_at, dirt) = (inode.node.links, inode.deleted_at, inode.dirt());
        if links > 0 {
            if dirt == Dirt::None && inode.dirty_since_ns.is_none() {
                self.inodes.remove(ino);
            }
            return Ok(());
        }
        let _scope = self.recorder.scope("ubifs_evict");
        self.release_pages_from(ino, 0);
        if deleted_at == Some(self.commit_number) {
            self.remove_inode(ino)?;
            self.orphans.remove(&ino);
        } else {
            self.inode(ino)?.node.size = 0;
            self.write_inode(ino)?;
        }
        self.inodes.remove(ino);
        Ok(())
    }
}

fn entry_of(dent: DentNode) -> DirEntry {
    DirEntry { name: dent.name, ino: Ino(dent.ino), kind: dent.kind }
}
