//! Writing the index into gaps: if the index finds no empty LEBs, its nodes go to where obsolete
//! nodes were in a LEB of the index, and the LEB is written anew as a whole (`layout_in_gaps`).
//!
//! Nodes that the index of the last commit refers to are left where they are, because that index is
//! needed if the power goes before this commit is complete.

use super::znode::{Place, ZnodeId};
use crate::ubifs::Ubifs;
use crate::ubifs::category::Category;
use crate::ubifs::fault::Fault;
use crate::ubifs::format::{IndexNode, aligned, index_size, pad_bytes};
use crate::ubifs::lpt::Lprops;
use crate::ubifs::scan::Scan;

/// A LEB of the index that is written anew.
struct Filled {
    lnum: u32,
    bytes: Vec<u8>,
    /// Where what is written ends.
    end: u32,
    /// Bytes that hold nothing of the new index.
    dirty: u32,
    /// Number of nodes that were put into its gaps.
    count: usize,
}

impl Ubifs {
    /// Write the first znodes of a list into gaps, until the rest finds empty LEBs. Those that were
    /// written are taken from the list.
    pub(super) fn write_in_gaps(&mut self, order: &mut Vec<ZnodeId>) -> Result<(), Fault> {
        if self.has_index_lebs(self.index_lebs_for(order.len()))? {
            return Ok(());
        }
        let mut lebs: Vec<(u32, Lprops)> = self.known(Category::DirtyIndex).collect();
        lebs.sort_by_key(|(_, it)| it.gain());
        while let Some((lnum, _)) = lebs.pop() {
            let count = self.fill_gaps(lnum, order)?;
            order.drain(..count);
            if self.has_index_lebs(self.index_lebs_for(order.len()))? {
                break;
            }
        }
        Ok(())
    }

    /// Number of LEBs that this many znodes need beside the LEB of the index head, if all are of
    /// the largest size (`get_leb_cnt`).
    fn index_lebs_for(&self, znodes: usize) -> usize {
        let node = aligned(index_size(self.geometry.fanout));
        let of = |bytes: u32| (bytes / node) as usize;
        let rest = znodes.saturating_sub(of(self.geometry.leb_size - self.index_head.1));
        rest.div_ceil(of(self.geometry.leb_size).max(1))
    }

    /// Write the first znodes of a list into the gaps of a LEB. Returns how many.
    fn fill_gaps(&mut self, lnum: u32, order: &[ZnodeId]) -> Result<usize, Fault> {
        let _scope = self.recorder.scope("ubifs_fill_gaps");
        let scan = Scan::read(&mut self.ubi, lnum, 0)?;
        let mut bytes = vec![0xFF; self.geometry.leb_size as usize];
        bytes[..scan.good_bytes().len()].copy_from_slice(scan.good_bytes());
        let mut filled = Filled { lnum, bytes, end: self.geometry.leb_size, dirty: 0, count: 0 };
        let mut from = 0;
        for &node in &scan.nodes {
            let place = scan.place(node);
            let is_old = self.tnc.old.contains(&(lnum, place.offset));
            if !is_old && !self.has_index_node(&scan, place)? {
                continue;
            }
            self.fill_gap(&mut filled, (from, place.offset), order);
            from = place.offset + aligned(place.len);
            if is_old {
                filled.dirty += aligned(place.len);
            }
        }
        self.fill_gap(&mut filled, (from, self.geometry.leb_size), order);
        if filled.count > 0 {
            let Filled { bytes, end, dirty, .. } = &filled;
            let free = self.geometry.leb_size - end;
            let lprops = Lprops { free, dirty: *dirty, index: true, taken: false };
            self.set_lprops(lnum, lprops)?;
            self.ubi.change(lnum, &bytes[..*end as usize])?;
        }
        Ok(filled.count)
    }

    /// Whether the tree refers to the index node at this place.
    fn has_index_node(&mut self, scan: &Scan, place: Place) -> Result<bool, Fault> {
        let node = IndexNode::parse(scan.bytes_at(place));
        let first = node.and_then(|node| Some((node.branches.first()?.0, node.level)));
        Ok(match first {
            Some(node) => self.znode_at(node, place)?.is_some(),
            None => false,
        })
    }

    /// Put znodes into a gap, as long as the next one fits. The rest is padded, at the end of the
    /// LEB up to the next page.
    fn fill_gap(&mut self, filled: &mut Filled, (from, until): (u32, u32), order: &[ZnodeId]) {
        let mut at = from;
        while let Some(&id) = order.get(filled.count) {
            let len = self.znode_size(id);
            if len >= until - at {
                break;
            }
            let node = self.emit_znode(id);
            filled.bytes[at as usize..][..node.len()].copy_from_slice(&node);
            let end = at + aligned(len);
            filled.bytes[at as usize..end as usize][node.len()..].fill(0);
            self.settle_znode(id, Place { lnum: filled.lnum, offset: at, len });
            filled.count += 1;
            at = end;
        }
        let is_last = until == self.geometry.leb_size;
        let end = if is_last { self.geometry.pages(at) } else { until };
        let sequence = self.next_sequence();
        let padding = pad_bytes(end - at, sequence);
        filled.bytes[at as usize..end as usize].copy_from_slice(&padding);
        filled.dirty += end - at;
        if is_last {
            filled.end = end;
        }
    }
}
