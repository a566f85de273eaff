//! Whether bytes of unknown origin are JFFS2's.

use std::ops::Range;

use super::format::{Dirent, INODE_SIZE, InodeNode, NodeType, crc32, parse_header};

/// Where the nodes are in `bytes` that all checksums call whole. Space between them is skipped, so
/// a part of an image will do.
pub fn whole_nodes(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut nodes = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((len, is_whole)) = node(rest) else {
            at += 4;
            continue;
        };
        nodes.extend(is_whole.then_some(at..at + len));
        at += len.next_multiple_of(4);
    }
    nodes
}

/// Length of the node with which `bytes` begin, by its header, whose checksum is right; and whether
/// its other checksums are. `None` if there is no such header.
fn node(bytes: &[u8]) -> Option<(usize, bool)> {
    let header = parse_header(bytes)?;
    let node = bytes.get(..header.total_len as usize)?;
    let is_whole = match header.node_type {
        NodeType::Inode => InodeNode::parse(node, header.total_len)
            .is_some_and(|inode| crc32(&node[INODE_SIZE as usize..]) == inode.data_crc),
        NodeType::Dirent => Dirent::parse(node, header.total_len).is_some(),
        NodeType::Cleanmarker | NodeType::Padding | NodeType::Summary | NodeType::Other { .. } => {
            true
        }
    };
    Some((node.len(), is_whole))
}

#[cfg(test)]
mod tests {
    use super::super::format::padding_node;
    use super::*;

    #[test]
    fn nodes_are_found_between_other_bytes() {
        let node = padding_node(40);
        let bytes = [&[0xFF; 8], &node[..], &[0; 12], &node[..20]].concat();
        assert_eq!(whole_nodes(&bytes), vec![8..48]);
    }
}
