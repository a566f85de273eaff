//! The summary of a page of rows: what a scan must know to pass over the page.
//!
//! ```text
//! 0        2           4       12         20
//! | tables | row count | least | greatest |      u16, u16, i64, i64
//! ```
//!
//! 1. A row belongs to the page in which it begins. Tombstones count; they have no zone value.
//! 2. The least and the greatest zone value are over all tables on the page. Where no row has a
//!    zone value, `least` is the greatest number there is, and `greatest` the least.
//! 3. A summary may claim too much, never too little. So a scan may read a page that holds nothing
//!    it looks for, but never passes over one that does.

use core::ops::{Range, RangeInclusive};

use super::TABLES_MAX;
use crate::bytes::array;

/// What is known about the rows of a page, or of several pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// A bit for each table that has rows on the page, table 0 lowest.
    pub tables: u16,
    /// Number of rows that begin on the page, tombstones included. It does not grow beyond 65,535.
    pub row_count: u16,
    /// The least zone value; the greatest number there is where there is none.
    pub least: i64,
    /// The greatest zone value; the least number there is where there is none.
    pub greatest: i64,
}

/// Bytes of a summary.
pub const SUMMARY_SIZE: usize = 20;

mod field {
    use super::Range;

    pub(super) const TABLES: Range<usize> = 0..2;
    pub(super) const ROW_COUNT: Range<usize> = 2..4;
    pub(super) const LEAST: Range<usize> = 4..12;
    pub(super) const GREATEST: Range<usize> = 12..20;
}

const _: () = assert!(field::GREATEST.end == SUMMARY_SIZE, "the fields fill the bytes");
const _: () = assert!(TABLES_MAX == u16::BITS as usize, "there is a bit for each table");

impl Summary {
    /// The summary of a page in which no row begins.
    pub const EMPTY: Self = Self { tables: 0, row_count: 0, least: i64::MAX, greatest: i64::MIN };

    /// Read a summary; none where the bytes are not one.
    pub fn parse(bytes: &[u8; SUMMARY_SIZE]) -> Option<Self> {
        let summary = Self {
            tables: u16::from_le_bytes(array(&bytes[field::TABLES])),
            row_count: u16::from_le_bytes(array(&bytes[field::ROW_COUNT])),
            least: i64::from_le_bytes(array(&bytes[field::LEAST])),
            greatest: i64::from_le_bytes(array(&bytes[field::GREATEST])),
        };
        summary.is_sound().then_some(summary)
    }

    /// The summary's bytes.
    ///
    /// # Panics
    /// Where the fields, set by hand, are no summary: they could not be read.
    pub fn emit(&self) -> [u8; SUMMARY_SIZE] {
        assert!(self.is_sound(), "what is written can be read");
        let mut bytes = [0; SUMMARY_SIZE];
        bytes[field::TABLES].copy_from_slice(&self.tables.to_le_bytes());
        bytes[field::ROW_COUNT].copy_from_slice(&self.row_count.to_le_bytes());
        bytes[field::LEAST].copy_from_slice(&self.least.to_le_bytes());
        bytes[field::GREATEST].copy_from_slice(&self.greatest.to_le_bytes());
        debug_assert!(Self::parse(&bytes) == Some(*self), "what was written is what is read");
        bytes
    }

    /// Count a row in, with its zone value if it has one.
    ///
    /// # Panics
    /// Where no schema can have the table.
    pub fn add(&mut self, table: u8, zone: Option<i64>) {
        assert!(usize::from(table) < TABLES_MAX, "a schema has at most 16 tables");
        self.tables |= 1 << table;
        self.row_count = self.row_count.saturating_add(1);
        if let Some(zone) = zone {
            self.least = self.least.min(zone);
            self.greatest = self.greatest.max(zone);
        }
        debug_assert!(self.is_sound(), "a summary with a row is one");
    }

    /// The summary of the rows of two summaries together.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let merged = Self {
            tables: self.tables | other.tables,
            row_count: self.row_count.saturating_add(other.row_count),
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
        };
        debug_assert!(merged.is_sound(), "of two summaries comes one");
        merged
    }

    /// Whether rows of the table may begin on the page.
    ///
    /// # Panics
    /// Where no schema can have the table.
    pub fn may_hold(&self, table: u8) -> bool {
        assert!(usize::from(table) < TABLES_MAX, "a schema has at most 16 tables");
        self.tables >> table & 1 != 0
    }

    /// Whether rows of the table with a zone value in the range may begin on the page.
    ///
    /// # Panics
    /// Where no schema can have the table.
    pub fn may_meet(&self, table: u8, zones: &RangeInclusive<i64>) -> bool {
        self.may_hold(table) && self.least <= *zones.end() && *zones.start() <= self.greatest
    }

    /// Whether the parts agree: tables if and only if there are rows, and zone values only with
    /// rows.
    fn is_sound(&self) -> bool {
        let has_zone = self.least <= self.greatest;
        let is_without = self.least == i64::MAX && self.greatest == i64::MIN;
        let has_rows = self.row_count > 0;
        (has_zone && has_rows || is_without)
            && has_rows == (self.tables != 0)
            && self.tables.count_ones() <= u32::from(self.row_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(rows: &[(u8, Option<i64>)]) -> Summary {
        rows.iter().fold(Summary::EMPTY, |mut summary, &(table, zone)| {
            summary.add(table, zone);
            summary
        })
    }

    #[test]
    fn a_summary_comes_back_and_two_merge_to_that_of_all_rows() {
        let cases: [&[(u8, Option<i64>)]; 5] = [
            &[],
            &[(3, None)],
            &[(0, Some(5)), (15, Some(-7)), (0, None)],
            &[(1, Some(i64::MAX))],
            &[(1, Some(i64::MIN)), (1, Some(i64::MAX))],
        ];
        for one in cases {
            let bytes = summary(one).emit();
            assert_eq!(Summary::parse(&bytes), Some(summary(one)));
            for other in cases {
                let mut all = summary(one);
                for &(table, zone) in other {
                    all.add(table, zone);
                }
                assert_eq!(summary(one).merge(&summary(other)), all, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_scan_passes_over_what_cannot_meet_it() {
        let page = summary(&[(0, Some(10)), (0, Some(20)), (2, None)]);
        let cases = [
            (0, 0..=9, false),
            (0, 0..=10, true),
            (0, 12..=13, true),
            (0, 20..=30, true),
            (0, 21..=30, false),
            (1, 0..=30, false),
        ];
        for (table, zones, expected) in cases {
            assert_eq!(page.may_meet(table, &zones), expected, "{table} {zones:?}");
        }
        assert!(page.may_hold(2) && !page.may_hold(1));
        assert!(!summary(&[(2, None)]).may_meet(2, &(i64::MIN + 1..=i64::MAX - 1)));
    }

    #[test]
    fn bytes_of_no_summary_are_refused() {
        let mut rowless = Summary::EMPTY.emit();
        rowless[field::TABLES][0] = 1;
        let mut crossed = summary(&[(0, Some(5))]).emit();
        crossed[field::LEAST][0] = 6;
        for bytes in [[0; SUMMARY_SIZE], rowless, crossed] {
            assert_eq!(Summary::parse(&bytes), None, "{bytes:x?}");
        }
    }
}
