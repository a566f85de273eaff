//! Directories: files that consist of slots for names. They are metadata.
//!
//! ```text
//! slot: 0..4 inode, or 0  4 kind  5 length of the name  8.. name
//! ```

use std::ops::Range;

use super::Plainfs;
use super::inode::{Inode, Kind};
use crate::filesystem::{CACHE_PAGE_SIZE, DirEntry, FileKind, FsError, Ino};

const NAME: usize = 8;
const NAME_SIZE_MAX: usize = 255;
const SLOT_SIZE: usize = NAME + NAME_SIZE_MAX + 1;
const SLOTS: usize = CACHE_PAGE_SIZE / SLOT_SIZE;
const FILE: u8 = 1;
const DIRECTORY: u8 = 2;
/// Number of blocks that a new name may take: one of slots, and two of pointers.
const BLOCKS_PER_NAME: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    block: u32,
    place: usize,
}

impl Slot {
    const fn bytes(self) -> Range<usize> {
        self.place * SLOT_SIZE..(self.place + 1) * SLOT_SIZE
    }
}

fn parse(slot: &[u8]) -> Option<DirEntry> {
    let ino = u32::from_le_bytes(slot[..4].try_into().expect("four bytes"));
    let kind = match slot[4] {
        FILE => FileKind::Regular,
        DIRECTORY => FileKind::Directory,
        _other => FileKind::Special,
    };
    let name = slot[NAME..NAME + usize::from(slot[5])].to_vec();
    (ino != 0).then_some(DirEntry { name, ino: Ino(ino), kind })
}

fn emit(entry: &DirEntry) -> [u8; SLOT_SIZE] {
    let mut slot = [0; SLOT_SIZE];
    slot[..4].copy_from_slice(&entry.ino.0.to_le_bytes());
    slot[4] = if entry.kind == FileKind::Directory { DIRECTORY } else { FILE };
    slot[5] = u8::try_from(entry.name.len()).expect("names are checked at the door");
    slot[NAME..NAME + entry.name.len()].copy_from_slice(&entry.name);
    slot
}

impl Plainfs {
    pub(super) fn find_name(
        &mut self,
        dir: u32,
        name: &[u8],
    ) -> Result<Option<(Slot, DirEntry)>, FsError> {
        let names = self.list_names(dir)?;
        Ok(names.into_iter().find(|(_, entry)| entry.name == name))
    }

    pub(super) fn list_names(&mut self, dir: u32) -> Result<Vec<(Slot, DirEntry)>, FsError> {
        let mut found = Vec::new();
        for block in self.directory_blocks(dir)? {
            let page = self.buffers.page(block)?;
            let slots = page.chunks_exact(SLOT_SIZE).enumerate();
            found.extend(slots.filter_map(|(place, slot)| {
                parse(slot).map(|entry| (Slot { block, place }, entry))
            }));
        }
        Ok(found)
    }

    pub(super) fn create_inode(
        &mut self,
        parent: u32,
        name: &[u8],
        kind: FileKind,
    ) -> Result<u32, FsError> {
        let of_inode = match kind {
            FileKind::Regular => Kind::File,
            FileKind::Directory => Kind::Directory,
            FileKind::Special => return Err(FsError::WrongKind),
        };
        self.begin(BLOCKS_PER_NAME)?;
        let ino = self.find_free_inode()?.ok_or(FsError::NoSpace)?;
        let inode = Inode { kind: of_inode, is_named: true, mtime_s: self.now_s(), ..Inode::FREE };
        self.store_inode(ino, &inode)?;
        self.resized.insert(ino);
        self.add_name(parent, &DirEntry { name: name.to_vec(), ino: Ino(ino), kind })?;
        Ok(ino)
    }

    pub(super) fn remove_name(&mut self, dir: u32, name: &[u8]) -> Result<(), FsError> {
        let (slot, entry) = self.find_name(dir, name)?.ok_or(FsError::NotFound)?;
        self.check_empty(&entry)?;
        self.begin(0)?;
        self.blank_slot(slot)?;
        self.lose_name(entry.ino.0)
    }

    pub(super) fn move_name(
        &mut self,
        from: (u32, &[u8]),
        to: (u32, &[u8]),
    ) -> Result<(), FsError> {
        let (_, entry) = self.find_name(from.0, from.1)?.ok_or(FsError::NotFound)?;
        let replaced = self.find_name(to.0, to.1)?;
        if let Some((_, replaced)) = &replaced {
            self.check_empty(replaced)?;
        }
        self.begin(BLOCKS_PER_NAME)?;
        if let Some((slot, replaced)) = replaced {
            self.blank_slot(slot)?;
            self.lose_name(replaced.ino.0)?;
        }
        let (slot, _) = self.find_name(from.0, from.1)?.ok_or(FsError::NotFound)?;
        self.blank_slot(slot)?;
        self.add_name(to.0, &DirEntry { name: to.1.to_vec(), ..entry })
    }

    /// Free the blocks of a directory that has no name.
    pub(super) fn free_directory(&mut self, ino: u32, inode: &Inode) -> Result<(), FsError> {
        for block in self.directory_blocks(ino)? {
            self.free_metadata(block)?;
        }
        // Only blocks of pointers are left.
        self.cut_blocks(ino, &mut inode.clone(), 0)
    }

    fn add_name(&mut self, dir: u32, entry: &DirEntry) -> Result<(), FsError> {
        for block in self.directory_blocks(dir)? {
            let page = self.buffers.page(block)?;
            let free = page.chunks_exact(SLOT_SIZE).position(|slot| parse(slot).is_none());
            if let Some(place) = free {
                let bytes = Slot { block, place }.bytes();
                self.buffers.page_mut(block)?[bytes].copy_from_slice(&emit(entry));
                return Ok(());
            }
        }
        let mut inode = self.inode(dir)?;
        let index = u32::try_from(inode.size / CACHE_PAGE_SIZE as u64).expect("a short file");
        let block = self.add_block(dir, &mut inode, index)?;
        self.buffers.blank(block);
        let bytes = Slot { block, place: 0 }.bytes();
        self.buffers.page_mut(block)?[bytes].copy_from_slice(&emit(entry));
        inode.size += CACHE_PAGE_SIZE as u64;
        self.store_inode(dir, &inode)
    }

    fn blank_slot(&mut self, slot: Slot) -> Result<(), FsError> {
        debug_assert!(slot.place < SLOTS, "a slot of the page");
        self.buffers.page_mut(slot.block)?[slot.bytes()].fill(0);
        Ok(())
    }

    fn lose_name(&mut self, ino: u32) -> Result<(), FsError> {
        let inode = self.inode(ino)?;
        self.store_inode(ino, &Inode { is_named: false, ..inode })
    }

    fn find_free_inode(&mut self) -> Result<Option<u32>, FsError> {
        for ino in 1..=self.layout.inode_count {
            match self.inode(ino) {
                Err(FsError::NotFound) => return Ok(Some(ino)),
                Ok(_) | Err(FsError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn directory_blocks(&mut self, dir: u32) -> Result<Vec<u32>, FsError> {
        let inode = self.inode(dir)?;
        if inode.kind != Kind::Directory {
            return Err(FsError::WrongKind);
        }
        let count = inode.size.div_ceil(CACHE_PAGE_SIZE as u64).min(u64::from(u32::MAX));
        let mut blocks = Vec::new();
        for index in 0..u32::try_from(count).expect("capped") {
            let block = self.find_block(dir, &inode, index)?;
            let damaged = FsError::Damaged { ino: Ino(dir), offset: u64::from(index) << 12 };
            blocks.push(block.ok_or(damaged)?);
        }
        Ok(blocks)
    }

    fn check_empty(&mut self, entry: &DirEntry) -> Result<(), FsError> {
        let is_directory = entry.kind == FileKind::Directory;
        if is_directory && !self.list_names(entry.ino.0)?.is_empty() {
            return Err(FsError::NotEmpty);
        }
        Ok(())
    }
}
