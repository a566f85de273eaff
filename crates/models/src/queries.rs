//! Lookups after updates and range queries on secondary keys: Fig. 12 (j) and (k).

use super::pbfilter::{PbFilter, SummaryPages, Tuning};
use super::reading::{Initial, Reading};
use super::setting::Setting;
use super::yao::yao;

/// Reads of a lookup among `valid` records after `updates` of them, in two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updated {
    /// Looking the key up among the records of now and before.
    pub keys: f64,
    /// Looking its pointer up among the deleted.
    pub deletions: f64,
}

impl Updated {
    /// Reads in all.
    pub fn total(self) -> f64 {
        self.keys + self.deletions
    }
}

/// Fig. 12 (j): the key area holds all versions, the deletion area a pointer of 4 bytes for each
/// update, under a summary of the same parameters. The paper gives no formula for it. With a
/// `is_halved` deletion area, half of it is searched, as if the pointer were there; the 22 stated
/// for 100 % of updates come out only if all is, and in truth the pointer is not there.
pub fn updated(valid: u32, updates: u32, reading: Reading, is_halved: bool) -> Updated {
    let keys =
        PbFilter::new(Setting::published(valid + updates), Tuning::PUBLISHED, SummaryPages::ByKeys);
    let deletions = deletion_area(updates).map_or(0.0, |index| {
        let search = if is_halved { reading.lookup(&index) } else { reading.absent(&index) };
        search.total()
    });
    Updated { keys: reading.lookup(&keys).total(), deletions }
}

/// The same by the consistent reading, not rounded, all initial pages of the deletion area read.
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

/// Fig. 12 (k): page reads of a query that selects `selected` of `tuples`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeQuery {
    /// The whole record area.
    pub scan: f64,
    /// An oracle, its tuples on pages by chance: Yao.
    pub ideal: f64,
    /// An oracle, each tuple on a page of its own while there are any. With it the text's "all
    /// pages when selectivity is worse than 5 %" holds exactly.
    pub ideal_apart: f64,
    /// Pages of bitmaps read besides.
    pub bitmaps: f64,
}

/// A range query on a table of so many pages with a bitmap index that is read in `bitmaps` pages.
pub fn range_query(tuples: f64, pages: f64, bitmaps: f64, selected: f64) -> RangeQuery {
    RangeQuery {
        scan: pages,
        ideal: yao(tuples, pages, selected),
        ideal_apart: selected.min(pages),
        bitmaps,
    }
}
