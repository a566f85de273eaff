//! Objects: files, directories and the rest, all of them in memory from the mount on.

use std::collections::BTreeMap;

use super::format::Kind;

pub(super) const ROOT: u32 = 1;
pub(super) const LOST_AND_FOUND: u32 = 2;
/// The directory of what has lost its name and may be in use.
pub(super) const UNLINKED: u32 = 3;
/// The directory of what has ended.
pub(super) const DELETED: u32 = 4;
/// First number of an object that was made by a user.
const OBJECT_FIRST: u32 = 257;
/// Largest number that fits the tags of a header.
pub(super) const OBJECT_MAX: u32 = 0x0FFF_FFFF;

/// Permissions and types, as `stat` tells them.
pub(super) const MODE_FILE: u32 = 0o100_644;
pub(super) const MODE_DIRECTORY: u32 = 0o040_755;

/// An object.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of an object")]
pub(super) struct Object {
    pub kind: Kind,
    pub parent: u32,
    /// Known once the header was read.
    pub name: Vec<u8>,
    pub header: Option<u32>,
    /// Whether name and mode are known.
    pub is_loaded: bool,
    /// Whether the header on flash is behind.
    pub is_dirty: bool,
    /// Whether a renamed object has taken its name, and that is on flash.
    pub is_shadowed: bool,
    pub mode: u32,
    pub mtime: u32,
    pub size: u64,
    /// Size without what only the cache holds.
    pub stored_size: u64,
    /// Where each chunk of a file is.
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
            is_shadowed: false,
            mode: if kind == Kind::Directory { MODE_DIRECTORY } else { MODE_FILE },
            mtime: 0,
            size: 0,
            stored_size: 0,
            chunks: BTreeMap::new(),
        }
    }

    /// Whether it has a name that a user may know.
    pub(super) const fn is_named(&self) -> bool {
        !matches!(self.parent, UNLINKED | DELETED)
    }
}

/// All objects.
#[derive(Debug)]
pub(super) struct Objects {
    pub all: BTreeMap<u32, Object>,
    last: u32,
}

impl Objects {
    /// The directories that are there without a header.
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

    /// An object that is known to be there.
    pub(super) fn object(&self, id: u32) -> &Object {
        &self.all[&id]
    }

    pub(super) fn object_mut(&mut self, id: u32) -> &mut Object {
        self.all.get_mut(&id).expect("the object is there")
    }

    /// What is in a directory.
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

    /// Number new objects from here on.
    pub(super) fn number_from_last(&mut self) {
        let last = self.all.keys().next_back().copied().unwrap_or(0);
        self.last = last.max(OBJECT_FIRST - 1);
    }
}
