//! The mean reads of a lookup in a `PBFilter`, computed from its layout instead of from the printed
//! R.
//!
//! A lookup searches the newest filters first: filters in RAM, pages of initial partitions, final
//! partitions of the current generation, full generations. A key is equally likely to be in each
//! filter. The paper has no such formula; its R leaves this out.

use super::layout::Layout;
use super::pbfilter::PbFilter;
use super::reading::final_reads;

/// The mean reads of a lookup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reads {
    /// Reads for a present key, without the page that holds the key.
    pub present_without_key_page: f64,
    /// Reads for a present key, with the page that holds it if that page is not in RAM.
    pub present: f64,
    /// Reads for an absent key.
    pub absent: f64,
}

/// A group of filters that are searched together, and the page reads that the search takes.
struct Part {
    filters: u32,
    reads: f64,
}

/// The expected reads if filters give false positives with probability `rate`.
pub fn reads(index: &PbFilter, layout: &Layout, rate: f64) -> Reads {
    let mut before = 0.0;
    let mut present = 0.0;
    for part in parts(index, layout) {
        let filters = f64::from(part.filters);
        let share = filters * index.keys_per_filter / f64::from(index.setting.keys);
        before += part.reads;
        // On average, half of the part's filters are tested before the one with the key.
        present += share * (before + rate * filters / 2.0);
        before += rate * filters;
    }
    let on_flash = f64::from(layout.blooms) * index.keys_per_filter / f64::from(index.setting.keys);
    Reads { present_without_key_page: present, present: present + on_flash, absent: before }
}

fn parts(index: &PbFilter, layout: &Layout) -> Vec<Part> {
    let sectors = index.tuning.sectors;
    let mut parts = vec![Part { filters: layout.ram_blooms, reads: 0.0 }];
    for page in (0..layout.flushes_pending.div_ceil(sectors)).rev() {
        let flushes = (layout.flushes_pending - page * sectors).min(sectors);
        parts.push(Part { filters: flushes * layout.filters_per_flush, reads: 1.0 });
    }
    let per_step = layout.filters_per_flush * sectors * sectors;
    if layout.last_partitions > 0 {
        parts.push(Part { filters: layout.steps * per_step, reads: final_reads(index) });
    }
    let steps = index.steps();
    for _ in 0..layout.gens {
        let reads = f64::from(index.tuning.hash_count);
        parts.push(Part { filters: steps * per_step, reads });
    }
    parts
}
