//! The bytes of an index unit: a key and five words, as in the paper's first note to Table 4.
//!
//! ```text
//! | key | data u32 | parent u32 | node u32 | left u32 | right u32 |
//! ```
//!
//! An entry of a B+tree has one pointer, to a record or to a child. It is stored in the data word.
//! The parent word is unused, because a descent remembers the path. The left word is unused too,
//! and the right word holds the operation.

use flysch_nand::Geometry;

use super::super::entries::word;

/// The number of a node: its position in the node translation table.
pub(super) type NodeId = u32;

const WORDS: usize = 5;
const DATA: usize = 0;
const NODE: usize = 2;
const OPERATION: usize = 4;

/// What a unit does to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Add the entry. It replaces an entry with the same key.
    Insert,
    /// Remove the entry of the key.
    Delete,
    /// Remove this key and all greater ones, because they moved to a new neighbour.
    Cut,
}

/// The sizes that follow from the key size and the page size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) key_size: usize,
    /// How many units fit on a page. A node may have as many entries.
    pub(super) per_page: usize,
}

impl Shape {
    pub(super) const fn new(key_size: usize, geometry: &Geometry) -> Self {
        Self { key_size, per_page: geometry.page_size as usize / (key_size + 4 * WORDS) }
    }

    /// The longest key for which four units fit on a page.
    pub(super) const fn key_size_max(geometry: &Geometry) -> usize {
        (geometry.page_size as usize / 4).saturating_sub(4 * WORDS)
    }

    pub(super) const fn unit_size(self) -> usize {
        self.key_size + 4 * WORDS
    }
}

/// A unit as it is stored in a page or in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit<'a> {
    pub(super) op: Op,
    pub(super) node: NodeId,
    pub(super) key: &'a [u8],
    pub(super) pointer: u32,
}

impl<'a> Unit<'a> {
    /// Read a unit. None if erased bytes follow, so that the page has no more units.
    pub(super) fn parse(bytes: &'a [u8], shape: Shape) -> Option<Self> {
        let (key, words) = bytes.split_at(shape.key_size);
        let op = match word(&words[4 * OPERATION..]) {
            0 => Op::Insert,
            1 => Op::Delete,
            2 => Op::Cut,
            _ => return None,
        };
        let (node, pointer) = (word(&words[4 * NODE..]), word(&words[4 * DATA..]));
        Some(Self { op, node, key, pointer })
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        let op = match self.op {
            Op::Insert => 0,
            Op::Delete => 1,
            Op::Cut => 2,
        };
        bytes.extend_from_slice(self.key);
        for word in [self.pointer, 0, self.node, 0, op] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// The units of one node in a page. The units of a page are ordered by node.
pub(super) fn units_of(page: &[u8], node: NodeId, shape: Shape) -> impl Iterator<Item = Unit<'_>> {
    let size = shape.unit_size();
    let unit = move |place: usize| Unit::parse(&page[place * size..][..size], shape);
    let (mut low, mut high) = (0, shape.per_page);
    while low < high {
        let middle = usize::midpoint(low, high);
        if unit(middle).is_some_and(|unit| unit.node < node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low..shape.per_page).map_while(unit).take_while(move |unit| unit.node == node)
}
