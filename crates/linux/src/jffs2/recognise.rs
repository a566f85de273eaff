//! Whether bytes of unknown origin are JFFS2's.

use std::ops::Range;

use super::format::{NodeType, parse_header};
use super::move_node::sound_len;

/// The nodes that were found in bytes by their headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundNodes {
    /// The byte ranges of nodes whose checksums are all right.
    pub whole: Vec<Range<usize>>,
    /// Number of nodes whose header is right, and another checksum is not.
    pub broken: usize,
}

/// The nodes in `bytes`. Space between them is skipped, so a part of an image will do.
pub fn nodes_in(bytes: &[u8]) -> FoundNodes {
    let mut nodes = FoundNodes::default();
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
            nodes.whole.push(at..at + len);
        } else {
            nodes.broken += 1;
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
        assert_eq!(nodes_in(&bytes).whole, vec![8..48]);
    }
}
