//! What `jffs2dump` says of an image, and files read back with `jffs2reader` by its help.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Where a node's header tells its inode.
const INO_AT: u64 = 12;
/// An inode that no name leads to.
const HIDDEN: u64 = 0xFFFF_FFF0;

/// Names and nodes of an image.
#[derive(Default)]
pub(crate) struct Dump {
    /// By directory and name: version and inode.
    names: BTreeMap<(u64, String), (u64, u64)>,
    /// By inode and version.
    nodes: BTreeMap<(u64, u64), Node>,
}

/// A node of a file's content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Where it is in the image.
    at: u64,
    /// Bytes of the file once it was written.
    file_len: usize,
    /// Where its data are in the file.
    offset: usize,
    /// Bytes of its data.
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
                dump.nodes.insert((number("ino"), number("version")), node);
            }
        }
        dump
    }

    /// The inode of each path.
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

    /// The nodes of an inode, oldest first.
    pub(crate) fn nodes_of(&self, ino: u64) -> Vec<Node> {
        self.nodes.range((ino, 0)..=(ino, u64::MAX)).map(|(_, node)| *node).collect()
    }
}

/// Read a file back with a reader that knows only its first node.
///
/// `jffs2reader` 2.1.5 gives a file in its whole length, but only the data of one node: the rest are
/// zeros, of images of `mkfs.jffs2` too. So it is asked once for each node, with the file's other
/// nodes given to an inode that no name leads to, and what it gives is put together as the format
/// says, oldest first.
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
