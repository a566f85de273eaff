//! Records in RAM, in the order of their keys.
//!
//! ```text
//! record | record | …          free          … | place of the second | place of the first
//! ```
//!
//! Records lie in the order in which they came, their places in that of their keys.

use core::cmp::Ordering;

use super::super::place_behind;
use super::Order;
use crate::bytes::array;

/// Bytes in front of a record: those of its key, and those of its row.
pub(super) const FRONT: usize = 1 + 2;
/// Bytes of a record's place.
pub(super) const PLACE: usize = 2;

/// A key and the row that it belongs to.
///
/// ```text
/// record   key length 1 | row length 2 | key | row
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) key: &'a [u8],
    pub(super) row: &'a [u8],
    /// The record as it is kept.
    pub(super) bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record that bytes begin with; None where they do not hold it whole.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let front = bytes.get(..FRONT)?;
        let key_len = usize::from(front[0]);
        let row_len = usize::from(u16::from_le_bytes(array(&front[1..])));
        let bytes = bytes.get(..FRONT + key_len + row_len)?;
        let (key, row) = bytes[FRONT..].split_at(key_len);
        Some(Self { key, row, bytes })
    }
}

impl Order {
    /// How two keys follow each other in this order.
    pub(super) fn compare(self, one: &[u8], other: &[u8]) -> Ordering {
        match self {
            Self::Ascending => one.cmp(other),
            Self::Descending => other.cmp(one),
        }
    }
}

/// How much of the memory is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buffer {
    used: usize,
    pub(super) count: usize,
}

impl Buffer {
    /// Put a record in its place, behind those of the same key; false where it does not fit.
    pub(super) fn insert(
        &mut self,
        memory: &mut [u8],
        (key, row): (&[u8], &[u8]),
        order: Order,
    ) -> bool {
        let len = FRONT + key.len() + row.len();
        let places = memory.len() - self.count * PLACE;
        if self.used + len + PLACE > places {
            return false;
        }
        let at = self.used;
        memory[at] = key.len() as u8;
        memory[at + 1..at + FRONT].copy_from_slice(&(row.len() as u16).to_le_bytes());
        memory[at + FRONT..][..key.len()].copy_from_slice(key);
        memory[at + FRONT + key.len()..][..row.len()].copy_from_slice(row);
        let rank = self.rank_of(memory, key, order);
        let behind = places..memory.len() - rank * PLACE;
        memory.copy_within(behind, places - PLACE);
        let place = memory.len() - (rank + 1) * PLACE;
        memory[place..place + PLACE].copy_from_slice(&(at as u16).to_le_bytes());
        (self.used, self.count) = (at + len, self.count + 1);
        true
    }

    /// The record of a rank.
    pub(super) fn record(self, memory: &[u8], rank: usize) -> Record<'_> {
        debug_assert!(rank < self.count, "there are so many");
        let place = memory.len() - (rank + 1) * PLACE;
        let at = usize::from(u16::from_le_bytes(array(&memory[place..place + PLACE])));
        let Some(record) = Record::parse(&memory[at..]) else {
            unreachable!("what was put is there")
        };
        record
    }

    /// The rank behind all records that come before this key or have it.
    fn rank_of(self, memory: &[u8], key: &[u8], order: Order) -> usize {
        place_behind(self.count, |rank| order.compare(self.record(memory, rank).key, key).is_le())
    }
}
