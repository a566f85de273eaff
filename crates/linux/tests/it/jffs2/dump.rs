//! Parsing the output of `jffs2dump`, which helps to read files back with `jffs2reader`.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Offset of the inode number in a node.
const INO_AT: u64 = 12;
/// An inode number that no name leads to.
const HIDDEN: u64 = 0xFFFF_FFF0;

/// The names and nodes in an image.
#[derive(Default)]
pub(crate) struct Dump {
    /// Version and inode, by directory and name.
    names: BTreeMap<(u64, String), (u64, u64)>,
    /// By inode, version and place. A node that the collector has copied, and whose block is not
    /// erased yet, is there twice.
    nodes: BTreeMap<(u64, u64, u64), Node>,
}

/// A node with content of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Offset of the node in the image, bytes.
    at: u64,
    /// Size of the file when the node was written, bytes.
    file_len: usize,
    /// Offset of the node's data in the file, bytes.
    offset: usize,
    /// Length of the node's data, bytes.
    len: usize,
}

impl Dump {
    pub(crate) fn of(text: &str) -> Self {
        let mut dump = Self::default();
        for line in text.lines() {
            let fields = line.split(',').map(|field| field.trim().trim_start_matches('#'));
            let fields: BTreeMap<&str, &str> =
                fields.filter_map(|field| field.split_once(' ')).collect();
            let number = |key: &str| fields[key].trim().parse::<u64>().unwrap();
            let size = |key: &str| usize::try_from(number(key)).unwrap();
            if line.contains("Dirent     node") {
                let key = (number("pino"), fields["name"].to_owned());
                let newest = dump.names.entry(key).or_default();
                *newest = (*newest).max((number("version"), number("ino")));
            } else if let Some((_, place)) = line.split_once("Inode      node at 0x") {
                let at = u64::from_str_radix(&place[..8], 16).unwrap();
                let (file_len, offset) = (size("isize"), size("offset"));
                let node = Node { at, file_len, offset, len: size("dsize") };
                dump.nodes.insert((number("ino"), number("version"), at), node);
            }
        }
        dump
    }

    pub(crate) fn inodes(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![(1, String::new())];
        while let Some((dir, path)) = waiting.pop() {
            let children = self.names.iter().filter(|((parent, _), _)| *parent == dir);
            for ((_, name), &(_, ino)) in children.filter(|(_, (_, ino))| *ino != 0) {
                found.insert(format!("{path}{name}"), ino);
                waiting.push((ino, format!("{path}{name}/")));
            }
        }
        found
    }

    pub(crate) fn nodes_of(&self, ino: u64) -> Vec<Node> {
        self.nodes.range((ino, 0, 0)..=(ino, u64::MAX, u64::MAX)).map(|(_, node)| *node).collect()
    }
}

/// Read a file back with a reader that knows only its first node.
///
/// `jffs2reader` 2.1.5 returns a file in its full length, but only with the data of one node; the
/// rest is zeros, even in images of `mkfs.jffs2`. It is therefore called once for each node. Each
/// time the other nodes of the file are given to an inode that no name leads to. The parts are then
/// put together, oldest first, as the format says.
pub(crate) fn read_node_by_node(
    image: &File,
    (ino, nodes): (u64, &[Node]),
    read: impl Fn() -> Option<Vec<u8>>,
) -> Vec<u8> {
    let name = |node: &Node, ino: u64| {
        let ino = u32::try_from(ino).unwrap().to_le_bytes();
        image.write_all_at(&ino, node.at + INO_AT).unwrap();
    };
    for node in nodes {
        name(node, HIDDEN);
    }
    let mut content = Vec::new();
    for node in nodes {
        content.resize(node.file_len, 0);
        let data = node.offset..node.offset + node.len;
        name(node, ino);
        let Some(given) = read() else { return content };
        name(node, HIDDEN);
        assert_eq!(given.len(), node.file_len, "at {:#x}", node.at);
        content[data.clone()].copy_from_slice(&given[data]);
    }
    for node in nodes {
        name(node, ino);
    }
    content
}
