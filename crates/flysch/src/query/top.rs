//! The first rows by a value, in the program's memory.

use super::place_behind;
use crate::bytes::array;
use crate::db::DbError;
use crate::row::{RowView, Schema, Value, key};

/// Which rows come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of the least values.
    Ascending,
    /// Those of the greatest values.
    Descending,
}

/// Bytes in front of each row: its code in the order, and its length, of which one bit tells where
/// null stands.
const FRONT: usize = 8 + 2;
/// The bit: of two rows, the one without it comes first, whatever their codes.
const COMES_LATER: u16 = 1 << 15;

/// Keeps the rows that come first by a value, as many as the memory has slots for. With slots for
/// all rows it sorts them. Rows of equal value keep the order in which they were offered.
///
/// Null comes before all values. Text and blobs are compared by their first 8 bytes. Cost: none on
/// flash; a row that is kept is copied, and moves others. RAM: what is given.
#[derive(Debug)]
pub struct Top<'m> {
    memory: &'m mut [u8],
    /// Bytes of a slot: those of the longest row and the bytes in front of it.
    slot: usize,
    order: Order,
    count: usize,
}

impl<'m> Top<'m> {
    /// Keep rows of at most `row_max` bytes, and of 32,767, in this memory; each takes `row_max`
    /// and 10 bytes.
    pub const fn new(memory: &'m mut [u8], row_max: usize, order: Order) -> Self {
        Self { memory, slot: row_max.saturating_add(FRONT), order, count: 0 }
    }

    /// Offer the bytes of a row, to be ordered by `value`. [`DbError::RowTooLong`] where it has
    /// more bytes than a slot.
    pub fn offer(&mut self, value: &Value<'_>, row: &[u8]) -> Result<(), DbError> {
        if row.len() > self.slot - FRONT || row.len() >= usize::from(COMES_LATER) {
            return Err(DbError::RowTooLong { needed: row.len() });
        }
        let is_null = *value == Value::Null;
        let (comes_later, code) = match self.order {
            Order::Ascending => (!is_null, key::order(value)),
            Order::Descending => (is_null, !key::order(value)),
        };
        let place = self.rank_of((comes_later, code));
        let room = self.memory.len() / self.slot;
        if place >= room {
            return Ok(());
        }
        let end = (self.count + 1).min(room);
        let moved = place * self.slot..(end - 1) * self.slot;
        self.memory.copy_within(moved, (place + 1) * self.slot);
        let slot = &mut self.memory[place * self.slot..(place + 1) * self.slot];
        slot[..8].copy_from_slice(&code.to_le_bytes());
        let len = row.len() as u16 | if comes_later { COMES_LATER } else { 0 };
        slot[8..FRONT].copy_from_slice(&len.to_le_bytes());
        slot[FRONT..FRONT + row.len()].copy_from_slice(row);
        self.count = end;
        Ok(())
    }

    /// Number of rows that are kept.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether no row is kept.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The kept row of a rank, counted from 0. Its commit is not kept.
    pub fn row<'o, 's>(
        &'o self,
        schema: &Schema<'s>,
        rank: usize,
    ) -> Result<Option<RowView<'o, 's>>, DbError> {
        if rank >= self.count {
            return Ok(None);
        }
        let slot = &self.memory[rank * self.slot..(rank + 1) * self.slot];
        let len = usize::from(u16::from_le_bytes(array(&slot[8..FRONT])) & !COMES_LATER);
        Ok(Some(RowView::parse(schema, &slot[FRONT..FRONT + len], 0)?))
    }

    /// The rank behind all rows that come before this place in the order or have it.
    fn rank_of(&self, place: (bool, u64)) -> usize {
        place_behind(self.count, |rank| {
            let front = &self.memory[rank * self.slot..][..FRONT];
            let comes_later = u16::from_le_bytes(array(&front[8..])) & COMES_LATER != 0;
            (comes_later, u64::from_le_bytes(array(&front[..8]))) <= place
        })
    }
}
