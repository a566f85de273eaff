//! The numbers (nodes) by which the kernel knows files and folders.
//!
//! A number is never used again. So the number of a removed file still names that file while it is
//! open.

use std::collections::BTreeMap;

use rustix::io::Errno;

/// The number of the folder itself.
const ROOT: u64 = 1;
const MODE_OF_FILE: u16 = 0o644;
const MODE_OF_FOLDER: u16 = 0o755;

/// A file or folder.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its path on the machine. A removed file keeps its last path.
    pub(super) path: String,
    pub(super) is_folder: bool,
    pub(super) mode: u16,
    pub(super) changed_ms: u64,
    /// Its content, if it is kept in memory. None if it is on the machine.
    pub(super) memory: Option<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Nodes {
    all: BTreeMap<u64, Node>,
    /// The nodes of files and folders that were not removed, by their paths.
    by_path: BTreeMap<String, u64>,
    next: u64,
}

impl Nodes {
    pub(super) fn of(&mut self, number: u64) -> Result<&mut Node, Errno> {
        if number == ROOT && !self.all.contains_key(&ROOT) {
            let root = Node::new("", true);
            self.all.insert(ROOT, root);
        }
        self.all.get_mut(&number).ok_or(Errno::STALE)
    }

    pub(super) fn path(&mut self, number: u64) -> Result<String, Errno> {
        Ok(self.of(number)?.path.clone())
    }

    /// The path of `name` in the folder `parent`.
    pub(super) fn path_of(&mut self, parent: u64, name: &str) -> Result<String, Errno> {
        Ok(joined(&self.of(parent)?.path, name))
    }

    pub(super) fn find(&self, path: &str) -> Option<u64> {
        self.by_path.get(path).copied()
    }

    pub(super) fn add(&mut self, path: &str, is_folder: bool) -> u64 {
        self.next += 1;
        let number = ROOT + self.next;
        self.all.insert(number, Node::new(path, is_folder));
        self.by_path.insert(path.to_owned(), number);
        number
    }

    /// Note that a file or folder was removed.
    pub(super) fn lose(&mut self, path: &str) {
        self.by_path.remove(path);
    }

    pub(super) fn is_memory(&self, path: &str) -> bool {
        let node = self.find(path).and_then(|number| self.all.get(&number));
        node.is_some_and(|node| node.memory.is_some())
    }

    /// Names of the files in a folder that are kept in memory.
    pub(super) fn memories(&self, folder: &str) -> Vec<String> {
        let paths = self.by_path.keys().filter(|path| self.is_memory(path));
        let names = paths.filter_map(|path| {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            (parent == folder).then(|| name.to_owned())
        });
        names.collect()
    }

    /// Change the path of the node at `old`, and those of all nodes below it.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        self.lose(new);
        let below = format!("{old}/");
        let moved: Vec<String> = self
            .by_path
            .keys()
            .filter(|it| *it == old || it.starts_with(&below))
            .cloned()
            .collect();
        for path in moved {
            let Some(number) = self.by_path.remove(&path) else { continue };
            let path = format!("{new}{}", path.strip_prefix(old).unwrap_or_default());
            if let Some(node) = self.all.get_mut(&number) {
                node.path.clone_from(&path);
            }
            self.by_path.insert(path, number);
        }
    }
}

impl Node {
    fn new(path: &str, is_folder: bool) -> Self {
        let mode = if is_folder { MODE_OF_FOLDER } else { MODE_OF_FILE };
        Self { path: path.to_owned(), is_folder, mode, changed_ms: 0, memory: None }
    }
}

/// The path of a name in a folder.
pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_takes_its_files_along_and_numbers_stay() {
        let mut nodes = Nodes::default();
        let folder = nodes.add("a", true);
        let file = nodes.add("a/f", false);
        let other = nodes.add("ab", false);
        nodes.rename("a", "b");
        assert_eq!((nodes.find("b"), nodes.find("b/f")), (Some(folder), Some(file)));
        assert_eq!((nodes.find("a/f"), nodes.find("ab")), (None, Some(other)));
        nodes.lose("b/f");
        assert_eq!(nodes.path(file).as_deref(), Ok("b/f"));
        assert!(nodes.add("b/f", false) > other);
    }
}
