//! Objects: files, directories and others. All of them are in memory from the mount on.

use std::collections::BTreeMap;

use super::format::Kind;

pub(super) const ROOT: u32 = 1;
pub(super) const LOST_AND_FOUND: u32 = 2;
/// The directory of objects that have lost their name but may be in use.
pub(super) const UNLINKED: u32 = 3;
/// The directory of objects that have been deleted.
pub(super) const DELETED: u32 = 4;
/// Number of the first object that a user creates.
const OBJECT_FIRST: u32 = 257;
/// Highest object number that fits in the tags of a header.
pub(super) const OBJECT_MAX: u32 = 0x0FFF_FFFF;

/// File modes, as `stat` returns them.
pub(super) const MODE_FILE: u32 = 0o100_644;
pub(super) const MODE_DIRECTORY: u32 = 0o040_755;

#[derive(Clone, Debug)]
pub(super) struct Object {
    pub kind: Kind,
    pub parent: u32,
    /// The object's name. It is empty until the header is read.
    pub name: Vec<u8>,
    pub header: Option<u32>,
    /// Whether name, mode and time are known.
    pub is_loaded: bool,
    /// Whether the header on flash is out of date.
    pub is_dirty: bool,
    pub mode: u32,
    pub mtime: u32,
    pub size: u64,
    /// Size without the bytes that are only in the cache for short operations.
    pub stored_size: u64,
    /// The place on flash of each chunk of a file.
    pub chunks: BTreeMap<u32, u32>,
}

impl Object {
    pub(super) fn new(kind: Kind, parent: u32, name: &[u8]) -> Self {
        Self {
            kind,
            parent,
            name: name.to_vec(),
            header: None,
            is_loaded: true,
            is_dirty: false,
            mode: if kind == Kind::Directory { MODE_DIRECTORY } else { MODE_FILE },
            mtime: 0,
            size: 0,
            stored_size: 0,
            chunks: BTreeMap::new(),
        }
    }

    /// Whether it has a name that a user can see.
    pub(super) const fn is_named(&self) -> bool {
        !matches!(self.parent, UNLINKED | DELETED)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Objects {
    pub all: BTreeMap<u32, Object>,
    last: u32,
}

impl Objects {
    /// The four directories that exist without a header.
    pub(super) fn new() -> Self {
        let directory = |parent, name: &[u8]| Object::new(Kind::Directory, parent, name);
        let all = BTreeMap::from([
            (ROOT, directory(0, b"")),
            (LOST_AND_FOUND, directory(ROOT, b"lost+found")),
            (UNLINKED, directory(0, b"")),
            (DELETED, directory(0, b"")),
        ]);
        Self { all, last: OBJECT_FIRST - 1 }
    }

    pub(super) fn get(&self, id: u32) -> Option<&Object> {
        self.all.get(&id)
    }

    /// An object that must exist.
    pub(super) fn object(&self, id: u32) -> &Object {
        &self.all[&id]
    }

    pub(super) fn object_mut(&mut self, id: u32) -> &mut Object {
        self.all.get_mut(&id).expect("the object is there")
    }

    /// The numbers of the objects in a directory.
    pub(super) fn children(&self, dir: u32) -> Vec<u32> {
        let children = self.all.iter().filter(|(_, object)| object.parent == dir);
        children.map(|(&id, _)| id).collect()
    }

    /// A number that no object has.
    pub(super) fn next_id(&mut self) -> u32 {
        loop {
            self.last = if self.last >= OBJECT_MAX { OBJECT_FIRST } else { self.last + 1 };
            if !self.all.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    /// Number new objects after the highest number in use.
    pub(super) fn number_from_last(&mut self) {
        let last = self.all.keys().next_back().copied().unwrap_or(0);
        self.last = last.max(OBJECT_FIRST - 1);
    }
}
