//! The bits of the tree's nodes.
//!
//! ```text
//! all     CRC 16 bits (of the bytes behind it) | type 4 bits | in the large model, for pnodes and
//!         nnodes: number
//! pnode   4 x: free / 8 | dirty / 8 | is index 1 bit
//! nnode   4 x: LEB less the area's first; its count of LEBs says that there is no child | offset
//! ltab    for each LEB of the area: free | dirty
//! lsave   LEB numbers
//! ```

use super::bits::{BitReader, BitWriter};
use super::shape::{FANOUT, LptShape};
use crate::crc16::crc16;

const PNODE: u32 = 0;
const NNODE: u32 = 1;
const LTAB: u32 = 2;
const LSAVE: u32 = 3;
const CRC_BITS: u32 = 16;
const TYPE_BITS: u32 = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Lprops {
    pub free: u32,
    pub dirty: u32,
    /// Whether it holds index nodes.
    pub index: bool,
    /// Whether the journal, the commit or the collector uses it. This is not stored on flash.
    pub taken: bool,
}

impl Lprops {
    /// Bytes that hold nothing valid: those that are gained by moving the rest elsewhere.
    pub(in super::super) const fn gain(&self) -> u32 {
        self.free + self.dirty
    }
}

/// The LEB and the offset of a child, if it was ever written.
pub(super) type Spot = Option<(u32, u32)>;
/// An inner node: the places of its children.
pub(super) type Nnode = [Spot; FANOUT as usize];
/// A leaf: the properties of 4 LEBs.
pub(super) type Pnode = [Lprops; FANOUT as usize];

impl LptShape {
    fn begin(&self, kind: u32, number: Option<u32>) -> BitWriter {
        let mut bits = BitWriter::default();
        bits.put(0, CRC_BITS);
        bits.put(kind, TYPE_BITS);
        if let Some(number) = number.filter(|_| self.big) {
            bits.put(number, self.number_bits);
        }
        bits
    }

    fn open<'a>(&self, bytes: &'a [u8], kind: u32, number: Option<u32>) -> Option<BitReader<'a>> {
        let mut bits = BitReader::new(bytes);
        let crc = bits.take(CRC_BITS);
        if crc != u32::from(crc16(!0, &bytes[2..])) || bits.take(TYPE_BITS) != kind {
            return None;
        }
        if let Some(number) = number.filter(|_| self.big)
            && bits.take(self.number_bits) != number
        {
            return None;
        }
        Some(bits)
    }

    pub(super) fn emit_pnode(&self, pnode: &Pnode, place: u32) -> Vec<u8> {
        let mut bits = self.begin(PNODE, Some(place));
        for lprops in pnode {
            bits.put(lprops.free / 8, self.space_bits);
            bits.put(lprops.dirty / 8, self.space_bits);
            bits.put(u32::from(lprops.index), 1);
        }
        sealed(bits.finish(self.pnode_size))
    }

    pub(super) fn parse_pnode(&self, bytes: &[u8], place: u32) -> Option<Pnode> {
        let mut bits = self.open(bytes, PNODE, Some(place))?;
        let mut pnode = Pnode::default();
        for lprops in &mut pnode {
            lprops.free = bits.take(self.space_bits) * 8;
            lprops.dirty = bits.take(self.space_bits) * 8;
            lprops.index = bits.take(1) == 1;
            // A head goes on where the free space begins, and programs whole pages. Linux refuses
            // what is not a whole number of them, too (`validate_pnode`).
            let is_whole = lprops.free.is_multiple_of(self.page_size);
            if !is_whole || lprops.free.checked_add(lprops.dirty)? > self.leb_size {
                return None;
            }
        }
        Some(pnode)
    }

    pub(super) fn emit_nnode(&self, nnode: &Nnode, first: u32, number: u32) -> Vec<u8> {
        let mut bits = self.begin(NNODE, Some(number));
        for spot in nnode {
            let (lnum, offset) = spot.unwrap_or((first + self.lebs, 0));
            bits.put(lnum - first, self.lnum_bits);
            bits.put(offset, self.offset_bits);
        }
        sealed(bits.finish(self.nnode_size))
    }

    pub(super) fn parse_nnode(&self, bytes: &[u8], first: u32, number: u32) -> Option<Nnode> {
        let mut bits = self.open(bytes, NNODE, Some(number))?;
        let mut nnode = Nnode::default();
        for spot in &mut nnode {
            let (lnum, offset) = (bits.take(self.lnum_bits), bits.take(self.offset_bits));
            *spot = (lnum < self.lebs).then_some((first + lnum, offset));
        }
        Some(nnode)
    }

    pub(super) fn emit_table(&self, table: &[(u32, u32)]) -> Vec<u8> {
        let mut bits = self.begin(LTAB, None);
        for &(free, dirty) in table {
            bits.put(free, self.table_bits);
            bits.put(dirty, self.table_bits);
        }
        sealed(bits.finish(self.table_size))
    }

    pub(super) fn parse_table(&self, bytes: &[u8]) -> Option<Vec<(u32, u32)>> {
        let mut bits = self.open(bytes, LTAB, None)?;
        let mut entry = || {
            let (free, dirty) = (bits.take(self.table_bits), bits.take(self.table_bits));
            (free.checked_add(dirty)? <= self.leb_size).then_some((free, dirty))
        };
        (0..self.lebs).map(|_| entry()).collect()
    }

    pub(super) fn emit_save(&self, main_first: u32) -> Vec<u8> {
        let mut bits = self.begin(LSAVE, None);
        for place in 0..self.save_count {
            bits.put(main_first + place % self.main_lebs, self.save_bits);
        }
        sealed(bits.finish(self.save_size))
    }
}

/// Put the checksum into the first two bytes.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc16(!0, &bytes[2..]);
    bytes[..2].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ubifs::geometry::LptAreas;

    #[test]
    fn free_space_that_is_no_whole_page_is_refused() {
        let areas = LptAreas { main_lebs: 20, lpt_lebs: 2, leb_size: 30_720, page_size: 2048 };
        let shape = LptShape::new(areas, (30, 30), 0, 256);
        let check = |free: u32, is_good: bool| {
            let pnode = [Lprops { free, dirty: 16, ..Lprops::default() }; FANOUT as usize];
            let found = shape.parse_pnode(&shape.emit_pnode(&pnode, 1), 1);
            assert_eq!(found, is_good.then_some(pnode), "{free}");
        };
        check(0, true);
        check(4096, true);
        check(4096 + 8, false);
        check(30_720, false);
    }
}
