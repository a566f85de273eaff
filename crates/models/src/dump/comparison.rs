//! Fig. 12 (a) to (e) and Tables 4 and 5 at one million records.

use super::Entries;
use crate::bloom::{bucketed_rate, false_positive_rate};
use crate::pbfilter::{PbFilter, SummaryPages, Tuning};
use crate::reading::{Initial, Reading, costs, final_reads};
use crate::setting::Setting;
use crate::skimpystash;
use crate::tree::{Method, NodeCount, Tree};

/// Section 6.1.3: one million records, seven buffers, C = 5, chains of eight.
pub(super) const KEYS: u32 = 1_000_000;
pub(super) const BUFFERS: u32 = 7;
pub(super) const METHODS: [(&str, Method); 3] =
    [("BTree", Method::BTree), ("BFTL1", Method::Unbounded), ("BFTL2", Method::Compacted(5))];
const CHAIN_LEN: u32 = 8;

/// PBF1 after this many insertions.
pub(super) fn published(keys: u32) -> PbFilter {
    PbFilter::new(Setting::published(keys), Tuning::PUBLISHED, SummaryPages::ByKeys)
}

pub(super) fn put(entries: &mut Entries) {
    let setting = Setting::published(KEYS);
    for (name, method) in METHODS {
        let tree = Tree::new(setting, method, BUFFERS);
        entries.put_costs(&format!("fig12a-e/{name}"), &tree.costs(), "");
        entries.put_fields(&format!("table4/{name}"), &tree);
        let units = match method {
            Method::BTree => setting.entries_per_page(),
            Method::Unbounded | Method::Compacted(_) => setting.units_per_page(),
        };
        let printed = Tree::with(setting, method, BUFFERS, (units, NodeCount::Printed));
        let place = format!("fig12a-e/alt-printed-Nn/{name}");
        entries.put_costs(&place, &printed.costs(), "Nn as printed: sum of ceil(N / (fb M)^i)");
    }
    let tree = Tree::new(setting, Method::BTree, BUFFERS);
    let reads = tree.insertion_reads_with_whole_nodes();
    entries.put("fig12b/alt/BTree/IR one read per split", reads);
    entries.put_costs("fig12a-e/SStash", &skimpystash::costs(&setting, CHAIN_LEN), "");
    put_pbfilter(entries);
}

fn put_pbfilter(entries: &mut Entries) {
    let index = published(KEYS);
    entries.put_costs("fig12a-e/PBF", &costs(&index, Reading::FITTED), "");
    entries.put_fields("table4/PBF", &index);
    entries.put_fields("table4/PBF", &Reading::FITTED.lookup(&index));
    entries.put_noted("table4/PBF/SKA_KA", index.summary_share(), "paper: 0.1");
    entries.put_noted(
        "table4/PBF/SKA_KA_raw",
        index.summary_pages / index.key_pages,
        "without pages partly empty; paper: 0.1",
    );
    let total = |reading: Reading| reading.lookup(&index).total();
    let unrounded = Reading { is_rounded: false, ..Reading::CONSISTENT };
    entries.put("fig12a/PBF R reading C consistent", total(Reading::CONSISTENT));
    entries.put("fig12a/PBF R reading C unrounded", total(unrounded));
    for (name, initial) in INITIALS {
        for (rounding, is_rounded) in ROUNDINGS {
            let reading = Reading { initial, is_rounded, ..Reading::FITTED };
            let label = format!("fig12a/PBF R variant r1={name} fp={rounding}");
            entries.put(label, total(reading));
        }
    }
    let hashed = hashed_rate();
    entries.put("f nominal d=16,k=7", false_positive_rate(16.0, 7));
    entries.put("f hashed into 4 buckets d=16,k=7", hashed);
    entries.put_noted(
        "R PBF exact no rounding + 1 true KA read, hashed-bucket f",
        final_reads(&index)
            + hashed * (f64::from(KEYS) / index.keys_per_filter).floor() / 2.0
            + 1.0,
        "beside Table 6: 12.28 to 12.36",
    );
}

/// f of the published filter, in which keys are first hashed to one of four buckets.
pub(super) fn hashed_rate() -> f64 {
    bucketed_rate(2048, 128, 4, 7)
}

/// Interpretations of R1, by name; below, those of the rounding of false positives.
pub(super) const INITIALS: [(&str, Initial); 3] =
    [("prob", Initial::Probability), ("floor", Initial::Floor), ("ceil", Initial::Ceiling)];
pub(super) const ROUNDINGS: [(&str, bool); 2] = [("ceil", true), ("none", false)];
