//! Names. Each name is in its inode. A directory consists of the inodes that name it as their
//! parent.

use super::format::dentry::Dentry;
use super::format::inode::{Inode, Kind, State};
use super::format::rename::Rename;
use super::format::{RECORD_SIZE, RENAME_ADDR};
use super::{Pramfs, memory};
use crate::filesystem::{DirEntry, FileKind, FsError, Ino};

/// Address of the byte that says whether the rename record is in use.
const RENAME_IN_USE: u32 = RENAME_ADDR + 2;

impl Pramfs {
    pub(super) fn find_name(&self, dir: u32, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        self.check_directory(dir)?;
        let Some(&ino) = self.names.get(&(dir, name.to_vec())) else { return Ok(None) };
        let kind = match self.state(ino)?.kind {
            Kind::Directory => FileKind::Directory,
            Kind::File | Kind::Free => FileKind::Regular,
        };
        Ok(Some(DirEntry { name: name.to_vec(), ino: Ino(ino), kind }))
    }

    pub(super) fn list_names(&self, dir: u32) -> Result<Vec<DirEntry>, FsError> {
        self.check_directory(dir)?;
        let names = self.names.range((dir, Vec::new())..(dir + 1, Vec::new()));
        let entries = names.map(|((_, name), _)| self.find_name(dir, name));
        Ok(entries.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    pub(super) fn create_inode(
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
        let free = (1..=self.shape.inode_count).find(|ino| !self.inodes.contains_key(ino));
        let ino = free.ok_or(FsError::NoSpace)?;
        let bytes: [u8; RECORD_SIZE as usize] = self.memory.read(memory::inode_addr(ino))?;
        let mut inode = Inode::parse(ino, &bytes);
        inode.set_dentry(&Dentry { parent, name: name.to_vec() });
        self.inodes.insert(ino, inode);
        let mtime_s = self.now_s();
        self.store_state(ino, State { kind, is_named: true, mtime_s, ..State::FREE })?;
        self.names.insert((parent, name.to_vec()), ino);
        Ok(ino)
    }

    pub(super) fn remove_name(&mut self, dir: u32, name: &[u8]) -> Result<(), FsError> {
        let entry = self.find_name(dir, name)?.ok_or(FsError::NotFound)?;
        self.check_empty(entry.ino.0)?;
        self.names.remove(&(dir, name.to_vec()));
        self.lose_name(entry.ino.0)
    }

    pub(super) fn move_name(
        &mut self,
        from: (u32, &[u8]),
        to: (u32, &[u8]),
    ) -> Result<(), FsError> {
        let ino = self.find_name(from.0, from.1)?.ok_or(FsError::NotFound)?.ino.0;
        let replaced = self.find_name(to.0, to.1)?.map(|entry| entry.ino.0);
        replaced.map_or(Ok(()), |replaced| self.check_empty(replaced))?;
        let dentry = Dentry { parent: to.0, name: to.1.to_vec() };
        let rename = Rename { ino, replaced, dentry };
        self.memory.write(RENAME_ADDR, &rename.emit())?;
        self.finish_rename(&rename)?;
        self.names.remove(&(from.0, from.1.to_vec()));
        self.names.insert((to.0, to.1.to_vec()), ino);
        Ok(())
    }

    /// Do what the rename record says. To do it twice does no harm.
    pub(super) fn finish_rename(&mut self, rename: &Rename) -> Result<(), FsError> {
        if let Some(replaced) = rename.replaced
            && self.inodes.contains_key(&replaced)
        {
            self.lose_name(replaced)?;
        }
        if let Some(inode) = self.inodes.get_mut(&rename.ino) {
            inode.set_dentry(&rename.dentry);
            let bytes = *inode.bytes();
            self.memory.write(memory::inode_addr(rename.ino), &bytes)?;
        }
        Ok(self.memory.write(RENAME_IN_USE, &[0])?)
    }

    /// Free an inode and its blocks.
    pub(super) fn free_inode(&mut self, ino: u32) -> Result<(), FsError> {
        let root = self.state(ino)?.root;
        self.store_state(ino, State::FREE)?;
        self.inodes.remove(&ino);
        self.free_root(root)
    }

    fn lose_name(&mut self, ino: u32) -> Result<(), FsError> {
        let state = self.state(ino)?;
        self.store_state(ino, State { is_named: false, ..state })
    }

    fn check_directory(&self, ino: u32) -> Result<(), FsError> {
        let kind = self.state(ino)?.kind;
        if kind == Kind::Directory { Ok(()) } else { Err(FsError::WrongKind) }
    }

    fn check_empty(&self, ino: u32) -> Result<(), FsError> {
        let mut inside = self.names.range((ino, Vec::new())..(ino + 1, Vec::new()));
        if inside.next().is_some() { Err(FsError::NotEmpty) } else { Ok(()) }
    }
}
