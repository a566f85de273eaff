//! Directory entries (dents): the node that gives an inode a name.
//!
//! ```text
//! 24 key[16] | 40 inode u64 (0 = deletion) | 49 type u8 | 50 name length u16 | 52 cookie
//! 56 name, 0
//! ```

use super::{Group, KEY_AT, NodeType, check_node, put_u16, put_u64, seal, u16_at, u64_at};
use crate::filesystem::FileKind;
use crate::ubifs::key::Key;

pub(in super::super) const DENT_SIZE: u32 = 56;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct DentNode {
    pub key: Key,
    /// The inode that has the name. 0 says that the name is deleted.
    pub ino: u32,
    pub kind: FileKind,
    pub name: Vec<u8>,
}

impl DentNode {
    pub(in super::super) fn emit(&self, sequence: u64, group: Group) -> Vec<u8> {
        let mut node = vec![0; DENT_SIZE as usize];
        self.key.emit(&mut node[KEY_AT..]);
        put_u64(&mut node, 40, u64::from(self.ino));
        node[49] = match self.kind {
            FileKind::Regular => 0,
            FileKind::Directory => 1,
            FileKind::Special => 2,
        };
        put_u16(&mut node, 50, u16::try_from(self.name.len()).expect("at most 255 bytes"));
        node.extend(&self.name);
        node.push(0);
        seal(&mut node, NodeType::Dent, sequence, group);
        node
    }

    pub(in super::super) fn parse(bytes: &[u8]) -> Option<Self> {
        let node = check_node(bytes, NodeType::Dent)?;
        if node.len() <= DENT_SIZE as usize {
            return None;
        }
        let name = node[DENT_SIZE as usize..].get(..usize::from(u16_at(node, 50)))?;
        Some(Self {
            key: Key::parse(&node[KEY_AT..]),
            ino: u32::try_from(u64_at(node, 40)).ok()?,
            kind: match node[49] {
                0 => FileKind::Regular,
                1 => FileKind::Directory,
                _ => FileKind::Special,
            },
            name: name.to_vec(),
        })
    }
}
