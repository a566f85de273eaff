//! Fig. 12 (j) and (k), Table 1, and the examples of sections 4.3, 4.4 and 5.1.

use super::Entries;
use super::comparison::KEYS;
use crate::bitmap::{self, bitmaps};
use crate::bloom::false_positive_rate;
use crate::queries::{range_query, updated, updated_consistent};
use crate::reading::{Initial, Reading};

/// Updates as a share of the valid records: label and share.
pub(crate) const UPDATE_RATES: [(&str, f64); 11] = [
    ("0.0", 0.0),
    ("0.1", 0.1),
    ("0.2", 0.2),
    ("0.3", 0.3),
    ("0.4", 0.4),
    ("0.5", 0.5),
    ("0.6", 0.6),
    ("0.7", 0.7),
    ("0.8", 0.8),
    ("0.9", 0.9),
    ("1.0", 1.0),
];

/// Shares of the tuples that a range query selects: label and share.
pub(crate) const SELECTIVITIES: [(&str, f64); 14] = [
    ("0.0001", 0.0001),
    ("0.0005", 0.0005),
    ("0.001", 0.001),
    ("0.0025", 0.0025),
    ("0.005", 0.005),
    ("0.01", 0.01),
    ("0.02", 0.02),
    ("0.03", 0.03),
    ("0.04", 0.04),
    ("0.05", 0.05),
    ("0.1", 0.1),
    ("0.2", 0.2),
    ("0.5", 0.5),
    ("1.0", 1.0),
];

/// Section 5.1: 20 tuples of 100 bytes on each of 50,000 pages, and the pages that the space-time
/// optimal index reads.
pub(crate) const TABLE_PAGES: f64 = 50_000.0;
pub(crate) const BITMAP_PAGES: f64 = 200.0;

pub(super) fn put(entries: &mut Entries) {
    for rate in UPDATE_RATES {
        put_updated(entries, rate);
    }
    for selectivity in SELECTIVITIES {
        put_range(entries, selectivity);
    }
    for bits in [8, 12, 16] {
        for hash_count in 3..=8 {
            let rate = false_positive_rate(f64::from(bits), hash_count);
            entries.put(format!("table1/m_n={bits}/k={hash_count}"), rate);
        }
    }
    for (name, bases) in bitmap::PUBLISHED {
        for (count, tuples) in [("N=2^20", 1 << 20), ("N=1e6", KEYS)] {
            let bitmaps = bitmaps(tuples, 2048, bases);
            entries.put_fields(&format!("sec5.1/{name}/{count}"), &bitmaps);
        }
    }
    put_partitions(entries);
}

fn put_updated(entries: &mut Entries, (label, rate): (&str, f64)) {
    let updates = updates(rate);
    let place = format!("fig12j/u={label}");
    let ceiling = Reading { initial: Initial::Ceiling, ..Reading::FITTED };
    let taken = updated(KEYS, updates, Reading::FITTED, false);
    entries.put(format!("{place}/R"), taken.total());
    entries.put(format!("{place}/R key part"), taken.keys);
    entries.put(format!("{place}/R DA part"), taken.deletions);
    for (name, reads) in [
        ("r1=ceil, DA halved", updated(KEYS, updates, ceiling, true)),
        ("DA halved", updated(KEYS, updates, Reading::FITTED, true)),
        ("reading C, DA incl. all L1 pages, no rounding", updated_consistent(KEYS, updates)),
    ] {
        entries.put(format!("{place}/R alt({name})"), reads.total());
    }
}

/// The number of updates that is this share of the published million records.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a million")]
pub(crate) fn updates(rate: f64) -> u32 {
    (f64::from(KEYS) * rate).round() as u32
}

fn put_range(entries: &mut Entries, (label, selectivity): (&str, f64)) {
    let tuples = f64::from(KEYS);
    let query = range_query(tuples, TABLE_PAGES, BITMAP_PAGES, selectivity * tuples);
    for (name, pages) in [
        ("table scan", query.scan),
        ("ideal Yao", query.ideal),
        ("ideal min(q,pages)", query.ideal_apart),
        ("bitmap Yao", query.ideal + query.bitmaps),
        ("bitmap min(q,pages)", query.ideal_apart + query.bitmaps),
    ] {
        entries.put(format!("fig12k/sel={label}/{name}"), pages);
    }
}

/// Sections 4.3 and 4.4: filters of 2048 bits for pages of 256 entries of 8 bytes, in 32
/// partitions, with four sectors and seven hash functions.
fn put_partitions(entries: &mut Entries) {
    let page_bits = 2048.0 * 8.0;
    let filters = page_bits / (2048.0 / 32.0);
    let (k, s) = (7.0_f64, 4.0);
    entries.put("sec4.3/blooms per L3 page", filters);
    entries.put("sec4.3/keys per L3 page set", filters * 256.0);
    entries.put("sec4.3/lookup k+min(k,s)*s/2, k=7", k + k.min(s) * s / 2.0);
    entries.put("sec4.4/lookup k+s/2, k=7", k + s / 2.0);
}
