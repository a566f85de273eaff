//! Whether bytes of unknown origin are JFFS2's.

use std::ops::Range;

use super::format::{NodeType, parse_header};
use super::move_node::sound_len;

/// The byte ranges of the nodes in `bytes` whose checksums are all right. Space between them is
/// skipped, so a part of an image will do.
pub fn whole_nodes(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut nodes = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let header = parse_header(rest);
        let Some(header) = header.filter(|it| it.total_len as usize <= rest.len()) else {
            at += 4;
            continue;
        };
        let len = header.total_len as usize;
        let has_more_checksums = matches!(header.node_type, NodeType::Inode | NodeType::Dirent);
        if !has_more_checksums || sound_len(rest).is_some() {
            nodes.push(at..at + len);
        }
        at += len.next_multiple_of(4);
    }
    nodes
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
