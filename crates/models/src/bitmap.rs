//! Bitmap indexes in closed form: section 5.1, with the formulas of Chan and Ioannidis (SIGMOD
//! 1998) that it cites.

use serde::Serialize;

/// The costs of a range-encoded bitmap index.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bitmaps {
    /// Number of bitmaps stored: b - 1 for a component of base b, because the highest bitmap is all
    /// ones and left out.
    #[serde(rename = "bitmaps")]
    pub stored: f64,
    /// Pages that all bitmaps take.
    pub pages: f64,
    /// Mean number of bitmaps that a predicate scans: `2 (n - sum 1/b_i + (1/b_1 - 1)/3)`.
    pub scans: f64,
    /// Mean number of pages that a predicate reads.
    pub read: f64,
    /// Pages of one bitmap. The paper says 64 for "1 million" tuples, which is right for 2^20.
    pub pages_per_bitmap: f64,
}

/// The decompositions of section 5.1 for an attribute of 256 values: name and bases.
pub const PUBLISHED: [(&str, &[u32]); 3] = [
    ("time-optimal 256", &[256]),
    ("space-optimal 2^8", &[2, 2, 2, 2, 2, 2, 2, 2]),
    ("space-time 16x16", &[16, 16]),
];

/// The index of a number of tuples. Each value is decomposed into components with these bases, the
/// lowest first.
///
/// # Panics
/// If there is no base.
pub fn bitmaps(tuples: u32, page_size: u32, bases: &[u32]) -> Bitmaps {
    let [lowest, ..] = bases else { panic!("a value has a component") };
    let pages_per_bitmap = f64::from(tuples) / 8.0 / f64::from(page_size);
    let stored: f64 = bases.iter().map(|&base| f64::from(base) - 1.0).sum();
    let mean: f64 = bases.iter().map(|&base| 1.0 - 1.0 / f64::from(base)).sum();
    let scans = 2.0 * (mean + (1.0 / f64::from(*lowest) - 1.0) / 3.0);
    Bitmaps {
        stored,
        pages: stored * pages_per_bitmap,
        scans,
        read: scans * pages_per_bitmap,
        pages_per_bitmap,
    }
}
