//! A file system in RAM. It has no device and no page cache, and nothing in it survives.
//!
//! It is the lower bound of every comparison: what a database costs without any flash below it. The
//! tests also compare other file systems with it. Space is counted in whole pages, and a hole takes
//! as much as data.

use std::collections::BTreeMap;

use crate::cache::PageCache;
use crate::filesystem::{
    CACHE_PAGE_SIZE, CachePolicy, DirEntry, FileKind, FileSystem, FsError, Ino,
};

const ROOT: Ino = Ino(1);

#[derive(Clone, Debug)]
pub struct Tmpfs {
    nodes: BTreeMap<Ino, Node>,
    next_ino: u32,
    page_count: u64,
    page_count_max: u64,
}

#[derive(Clone, Debug)]
struct Node {
    has_name: bool,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    File(Vec<u8>),
    Directory(BTreeMap<Vec<u8>, Ino>),
}

impl Tmpfs {
    /// Make an empty file system with room for `size_max` bytes of file content.
    pub fn new(size_max: u64) -> Self {
        let root = Node { has_name: true, content: Content::Directory(BTreeMap::new()) };
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            next_ino: ROOT.0 + 1,
            page_count: 0,
            page_count_max: size_max / CACHE_PAGE_SIZE as u64,
        }
    }

    fn node(&mut self, ino: Ino) -> Result<&mut Node, FsError> {
        self.nodes.get_mut(&ino).ok_or(FsError::NotFound)
    }

    fn directory(&mut self, ino: Ino) -> Result<&mut BTreeMap<Vec<u8>, Ino>, FsError> {
        match &mut self.node(ino)?.content {
            Content::Directory(entries) => Ok(entries),
            Content::File(_) => Err(FsError::WrongKind),
        }
    }

    fn file(&mut self, ino: Ino) -> Result<&mut Vec<u8>, FsError> {
        match &mut self.node(ino)?.content {
            Content::File(bytes) => Ok(bytes),
            Content::Directory(_) => Err(FsError::WrongKind),
        }
    }

    fn resize(&mut self, ino: Ino, size: u64) -> Result<(), FsError> {
        let page_size = CACHE_PAGE_SIZE as u64;
        let old_pages = (self.file(ino)?.len() as u64).div_ceil(page_size);
        let page_count = self.page_count - old_pages + size.div_ceil(page_size);
        if page_count > self.page_count_max.max(self.page_count) {
            return Err(FsError::NoSpace);
        }
        self.page_count = page_count;
        let size = usize::try_from(size).map_err(|_| FsError::TooLong)?;
        self.file(ino)?.resize(size, 0);
        Ok(())
    }

    fn drop_name(&mut self, ino: Ino) -> Result<(), FsError> {
        let node = self.node(ino)?;
        if matches!(&node.content, Content::Directory(entries) if !entries.is_empty()) {
            return Err(FsError::NotEmpty);
        }
        node.has_name = false;
        Ok(())
    }
}

impl FileSystem for Tmpfs {
    fn name(&self) -> &'static str {
        "tmpfs"
    }

    fn cache_policy(&self) -> CachePolicy {
        CachePolicy::Direct
    }

    fn maps_shared(&self) -> bool {
        true
    }

    fn root(&self) -> Ino {
        ROOT
    }

    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Option<DirEntry>, FsError> {
        let Some(&ino) = self.directory(parent)?.get(name) else {
            return Ok(None);
        };
        let kind = match self.node(ino)?.content {
            Content::File(_) => FileKind::Regular,
            Content::Directory(_) => FileKind::Directory,
        };
        Ok(Some(DirEntry { name: name.to_vec(), ino, kind }))
    }

    fn entries(&mut self, dir: Ino) -> Result<Vec<DirEntry>, FsError> {
        let names: Vec<Vec<u8>> = self.directory(dir)?.keys().cloned().collect();
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            entries.extend(self.lookup(dir, &name)?);
        }
        Ok(entries)
    }

    fn create(&mut self, parent: Ino, name: &[u8], kind: FileKind) -> Result<Ino, FsError> {
        let content = match kind {
            FileKind::Regular => Content::File(Vec::new()),
            FileKind::Directory => Content::Directory(BTreeMap::new()),
            FileKind::Special => return Err(FsError::WrongKind),
        };
        let ino = Ino(self.next_ino);
        self.next_ino += 1;
        self.nodes.insert(ino, Node { has_name: true, content });
        self.directory(parent)?.insert(name.to_vec(), ino);
        Ok(ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8]) -> Result<(), FsError> {
        let ino = *self.directory(parent)?.get(name).ok_or(FsError::NotFound)?;
        self.drop_name(ino)?;
        self.directory(parent)?.remove(name);
        Ok(())
    }

    fn rename(&mut self, from: Ino, name: &[u8], to: Ino, new_name: &[u8]) -> Result<(), FsError> {
        let ino = *self.directory(from)?.get(name).ok_or(FsError::NotFound)?;
        let replaced = self.directory(to)?.get(new_name).copied();
        if let Some(replaced) = replaced {
            self.drop_name(replaced)?;
        }
        self.directory(from)?.remove(name);
        self.directory(to)?.insert(new_name.to_vec(), ino);
        Ok(())
    }

    fn load(&mut self, ino: Ino) -> Result<u64, FsError> {
        Ok(self.file(ino)?.len() as u64)
    }

    fn evict(&mut self, ino: Ino) -> Result<(), FsError> {
        if self.node(ino)?.has_name {
            return Ok(());
        }
        if self.file(ino).is_ok() {
            self.resize(ino, 0)?;
        }
        self.nodes.remove(&ino);
        Ok(())
    }

    fn read_direct(&mut self, ino: Ino, offset: u64, bytes: &mut [u8]) -> Result<usize, FsError> {
        let file = self.file(ino)?;
        let start = usize::try_from(offset).map_or(file.len(), |offset| offset.min(file.len()));
        let len = bytes.len().min(file.len() - start);
        bytes[..len].copy_from_slice(&file[start..start + len]);
        Ok(len)
    }

    fn write(
        &mut self,
        _cache: &mut PageCache,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), FsError> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(FsError::TooLong)?;
        if end > self.load(ino)? {
            self.resize(ino, end)?;
        }
        let start = usize::try_from(offset).map_err(|_| FsError::TooLong)?;
        self.file(ino)?[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, _cache: &mut PageCache, ino: Ino, size: u64) -> Result<(), FsError> {
        self.resize(ino, size)
    }

    fn fsync(&mut self, _: &mut PageCache, ino: Ino, _data_only: bool) -> Result<(), FsError> {
        self.node(ino).map(drop)
    }

    fn sync(&mut self, _cache: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(self.page_count_max.saturating_sub(self.page_count) * CACHE_PAGE_SIZE as u64)
    }

    fn copy(&self) -> Option<Box<dyn FileSystem>> {
        Some(Box::new(self.clone()))
    }

    fn unmount(&mut self, _cache: &mut PageCache) -> Result<(), FsError> {
        Ok(())
    }
}
