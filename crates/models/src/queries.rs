//! Lookups after updates, and range queries on secondary keys: Fig. 12 (j) and (k).

use super::pbfilter::{PbFilter, SummaryPages, Tuning};
use super::reading::{Initial, Reading};
use super::setting::Setting;
use super::yao::yao;

/// The reads of a lookup after updates, in two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updated {
    /// Reads to find the key among all versions of the records.
    pub keys: f64,
    /// Reads to find its pointer in the deletion area.
    pub deletions: f64,
}

impl Updated {
    /// The sum of both parts.
    pub fn total(self) -> f64 {
        self.keys + self.deletions
    }
}

/// Fig. 12 (j): the reads of a lookup among `valid` records after `updates` of them. The paper
/// gives no formula. Here the key area holds all versions of the records. The deletion area holds a
/// pointer of 4 bytes for each update, with a summary of the same parameters. If `is_halved` is
/// set, half of the deletion area is searched, as for a pointer that is in it. But the pointer of a
/// valid record is not in it, and the 22 reads that the text states for 100 % of updates only
/// result if all of it is searched.
pub fn updated(valid: u32, updates: u32, reading: Reading, is_halved: bool) -> Updated {
    let keys =
        PbFilter::new(Setting::published(valid + updates), Tuning::PUBLISHED, SummaryPages::ByKeys);
    let deletions = deletion_area(updates).map_or(0.0, |index| {
        let search = if is_halved { reading.lookup(&index) } else { reading.absent(&index) };
        search.total()
    });
    Updated { keys: reading.lookup(&keys).total(), deletions }
}

/// The page reads of [`updated`] by the consistent interpretation of the paper: counts are not
/// rounded, and all initial pages of the deletion area are read.
pub fn updated_consistent(valid: u32, updates: u32) -> Updated {
    let reading = Reading { is_rounded: false, ..Reading::CONSISTENT };
    let all = Reading { initial: Initial::Always, ..reading };
    let Updated { keys, .. } = updated(valid, updates, reading, false);
    let Updated { deletions, .. } = updated(valid, updates, all, false);
    Updated { keys, deletions }
}

fn deletion_area(updates: u32) -> Option<PbFilter> {
    let setting = Setting { key_size: 0, ..Setting::published(updates) };
    (updates > 0).then(|| PbFilter::new(setting, Tuning::PUBLISHED, SummaryPages::ByKeys))
}

/// Fig. 12 (k): the page reads of a range query, by several ways to execute it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeQuery {
    /// Scan all pages of the record area.
    pub scan: f64,
    /// An oracle that reads only pages with results. The results are spread randomly (Yao's
    /// formula).
    pub ideal: f64,
    /// An oracle that reads only pages with results, if each result is on a page of its own as long
    /// as there are enough pages. Then the paper's statement holds exactly: "all pages when
    /// selectivity is worse than 5 %".
    pub ideal_apart: f64,
    /// Pages of bitmaps that an index reads in addition.
    pub bitmaps: f64,
}

/// A range query that selects `selected` of `tuples`, on a table of `pages` pages, with a bitmap
/// index of which `bitmaps` pages are read.
pub fn range_query(tuples: f64, pages: f64, bitmaps: f64, selected: f64) -> RangeQuery {
    RangeQuery {
        scan: pages,
        ideal: yao(tuples, pages, selected),
        ideal_apart: selected.min(pages),
        bitmaps,
    }
}
