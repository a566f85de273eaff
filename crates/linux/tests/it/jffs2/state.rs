//! The state of a file system: what it should hold, and what it does hold.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use flysch_linux::filesystem::{DirEntry, FileKind, FsError, Ino};
use flysch_linux::vfs::{Fd, Vfs};

pub(crate) type Content = Rc<Vec<u8>>;

/// All names of a file system with the contents of files. Directories have no content.
pub(crate) type Names = BTreeMap<String, Option<Content>>;

/// What a file system should hold. Each file has a number of its own, whatever its name is.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) dirs: BTreeSet<String>,
    pub(crate) names: BTreeMap<String, u32>,
    /// Files that have a name or are held open.
    pub(crate) files: BTreeMap<u32, Content>,
    pub(crate) next_file: u32,
}

impl State {
    pub(crate) fn visible(&self) -> Names {
        let dirs = self.dirs.iter().map(|dir| (dir.clone(), None));
        let files = self.names.iter();
        dirs.chain(files.map(|(name, file)| (name.clone(), Some(self.files[file].clone()))))
            .collect()
    }

    pub(crate) fn content(&self, name: &str) -> Option<&Content> {
        self.files.get(self.names.get(name)?)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.dirs.contains(name) || self.names.contains_key(name)
    }

    pub(crate) fn change(&mut self, file: u32, change: impl FnOnce(&mut Vec<u8>)) {
        let content = self.files.get_mut(&file).unwrap();
        change(Rc::make_mut(content));
    }
}

pub(crate) fn read_file(vfs: &mut Vfs, fd: Fd) -> Result<Vec<u8>, FsError> {
    let mut bytes = vec![0; usize::try_from(vfs.size(fd)?).unwrap()];
    let len = vfs.read(fd, 0, &mut bytes)?;
    assert_eq!(len, bytes.len(), "a read is short only at the end of the file");
    Ok(bytes)
}

pub(crate) fn read_named(vfs: &mut Vfs, name: &str) -> Result<Vec<u8>, FsError> {
    let fd = vfs.open(name, false)?;
    let bytes = read_file(vfs, fd);
    vfs.close(fd)?;
    bytes
}

/// All entries of a file system, by path.
fn entries(vfs: &mut Vfs) -> Result<BTreeMap<String, DirEntry>, FsError> {
    match undamaged_entries(vfs)? {
        (found, None) => Ok(found),
        (_, Some(damage)) => Err(damage),
    }
}

/// All entries but those of directories that cannot be read, and the last damage that was met.
fn undamaged_entries(
    vfs: &mut Vfs,
) -> Result<(BTreeMap<String, DirEntry>, Option<FsError>), FsError> {
    let (mut found, mut damage) = (BTreeMap::new(), None);
    let mut waiting = vec![String::new()];
    while let Some(dir) = waiting.pop() {
        let listed = match vfs.list(&dir) {
            Err(error @ FsError::Damaged { .. }) => {
                found.remove(&dir);
                damage = Some(error);
                continue;
            }
            other => other?,
        };
        for entry in listed {
            let name = String::from_utf8(entry.name.clone()).unwrap();
            let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            if entry.kind == FileKind::Directory {
                waiting.push(path.clone());
            }
            let twin = found.insert(path.clone(), entry);
            assert!(twin.is_none(), "{path} is listed twice");
        }
    }
    Ok((found, damage))
}

/// Remove all names, those in directories first.
pub(crate) fn remove_all(vfs: &mut Vfs) -> Result<(), FsError> {
    let found = entries(vfs)?;
    found.keys().rev().filter(|path| *path != "lost+found").try_for_each(|path| vfs.unlink(path))
}

/// Read all files of a file system.
pub(crate) fn read_all(vfs: &mut Vfs) -> Result<Names, FsError> {
    match read_undamaged(vfs)? {
        (found, None) => Ok(found),
        (_, Some(damage)) => Err(damage),
    }
}

/// Read all files that can be read, and return the last damage that was met.
pub(crate) fn read_undamaged(vfs: &mut Vfs) -> Result<(Names, Option<FsError>), FsError> {
    let (listed, mut damage) = undamaged_entries(vfs)?;
    let mut found = Names::new();
    for (path, entry) in listed {
        if entry.kind != FileKind::Regular {
            found.insert(path, None);
            continue;
        }
        match read_named(vfs, &path) {
            Ok(content) => {
                found.insert(path, Some(Rc::new(content)));
            }
            Err(error @ FsError::Damaged { .. }) => damage = Some(error),
            Err(error) => return Err(error),
        }
    }
    Ok((found, damage))
}

/// The inode number behind each name.
pub(crate) fn inodes(vfs: &mut Vfs) -> Result<BTreeMap<String, Ino>, FsError> {
    Ok(entries(vfs)?.into_iter().map(|(path, entry)| (path, entry.ino)).collect())
}

/// A short description of the first difference between two trees, if there is one.
pub(crate) fn difference(found: &Names, wanted: &Names) -> Option<String> {
    for (name, content) in wanted {
        match (found.get(name), content) {
            (None, _) => return Some(format!("{name} is missing")),
            (Some(None), None) => {}
            (Some(Some(found)), Some(wanted)) if found == wanted => {}
            (Some(Some(found)), Some(wanted)) => {
                let same = found.iter().zip(wanted.iter()).take_while(|(a, b)| a == b).count();
                let (len, wanted_len) = (found.len(), wanted.len());
                return Some(format!("{name}: {len} bytes, not {wanted_len}; differs at {same}"));
            }
            (Some(_), _) => return Some(format!("{name} is of the wrong kind")),
        }
    }
    let extra = found.keys().find(|name| !wanted.contains_key(*name));
    extra.map(|name| format!("{name} should not be there"))
}
