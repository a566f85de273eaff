//! The shape of the tree: how many nodes it has, and how many bits each field takes.

use crate::ubifs::format::FLAG_BIG_LPT;
use crate::ubifs::geometry::LptAreas;

pub(in super::super) const FANOUT: u32 = 4;
const CRC_BITS: u32 = 16;
const TYPE_BITS: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct LptShape {
    pub big: bool,
    pub lebs: u32,
    pub leb_size: u32,
    pub page_size: u32,
    pub main_lebs: u32,
    pub save_count: u32,
    /// Number of nodes on each level, from the pnodes up to the root.
    pub counts: Vec<u32>,
    pub number_bits: u32,
    pub space_bits: u32,
    pub lnum_bits: u32,
    pub offset_bits: u32,
    pub table_bits: u32,
    pub save_bits: u32,
    pub pnode_size: u32,
    pub nnode_size: u32,
    pub table_size: u32,
    pub save_size: u32,
}

/// Number of bits that the number takes.
const fn width(number: u32) -> u32 {
    32 - number.leading_zeros()
}

impl LptShape {
    pub(in super::super) fn new(
        areas: LptAreas,
        (leb_count, leb_count_max): (u32, u32),
        flags: u32,
        save_count: u32,
    ) -> Self {
        let LptAreas { main_lebs, lpt_lebs: lebs, leb_size, page_size } = areas;
        let big = flags & FLAG_BIG_LPT != 0;
        let growth = leb_count_max - leb_count;
        let counts = level_counts(main_lebs, main_lebs + growth);
        let number_bits = width(leb_count_max.div_ceil(FANOUT) - 1);
        let space_bits = width(leb_size) - 3;
        let lnum_bits = width(lebs);
        let offset_bits = width(leb_size - 1);
        let table_bits = width(leb_size);
        let save_bits = width(leb_count_max - 1);
        let head = CRC_BITS + TYPE_BITS;
        let number = if big { number_bits } else { 0 };
        let bytes = |bits: u32| bits.div_ceil(8);
        Self {
            big,
            lebs,
            leb_size,
            page_size,
            main_lebs,
            save_count,
            counts,
            number_bits,
            space_bits,
            lnum_bits,
            offset_bits,
            table_bits,
            save_bits,
            pnode_size: bytes(head + number + (space_bits * 2 + 1) * FANOUT),
            nnode_size: bytes(head + number + (lnum_bits + offset_bits) * FANOUT),
            table_size: bytes(head + lebs * table_bits * 2),
            save_size: if big { bytes(head + save_bits * save_count) } else { 0 },
        }
    }

    /// Bytes of the whole tree on flash, with its tables.
    pub(in super::super) fn size(&self) -> u32 {
        let nnodes: u32 = self.counts[1..].iter().sum();
        let leaves = self.counts[0] * self.pnode_size;
        leaves + nnodes * self.nnode_size + self.table_size + self.save_size
    }

    /// The number that a node carries in the large form of the tree.
    pub(super) fn number(&self, level: usize, place: u32) -> u32 {
        if level == 0 {
            return place;
        }
        let depth = u32::try_from(self.counts.len() - 1 - level).expect("few levels");
        // A leading one, then two bits for each step down from the root, the steps near the leaves
        // on top.
        (0..depth).fold(1, |number, step| number << 2 | (place >> (2 * step) & 3))
    }
}

/// Number of nodes on each level for `main_lebs` LEBs. The tree is as high as `main_lebs_max` LEBs
/// need.
fn level_counts(main_lebs: u32, main_lebs_max: u32) -> Vec<u32> {
    let mut height = 1;
    let mut reach = FANOUT;
    while reach < main_lebs_max.div_ceil(FANOUT) {
        height += 1;
        reach *= FANOUT;
    }
    let mut counts = vec![main_lebs.div_ceil(FANOUT)];
    for level in 0..height {
        counts.push(counts[level].div_ceil(FANOUT));
    }
    counts
}
