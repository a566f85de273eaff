//! Fig. 12 (f) and (l) to (n), and the numbers that the text states about C, d and k.

use super::Entries;
use super::comparison::{BUFFERS, KEYS};
use crate::pbfilter::{PbFilter, SummaryPages, Tuning};
use crate::reading::{Rate, Reading, costs};
use crate::setting::Setting;
use crate::tree::{Method, NodeCount, Tree};

/// The bits per key that Fig. 12 (l) and (m) show, and some higher numbers.
pub(crate) const BITS_PER_KEY: [u32; 13] = [8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64];

pub(super) fn put(entries: &mut Entries) {
    for most in 2..=50 {
        let tree = Tree::new(Setting::published(KEYS), Method::Compacted(most), BUFFERS);
        let (costs, place) = (tree.costs(), format!("fig12f/C={most}"));
        entries.put(format!("{place}/W"), costs.w_pages);
        // The paper's text says the opposite: OP = W and VP = 0. This follows Table 5.
        entries.put(format!("{place}/VP (Table 5)"), costs.vp_pages);
        entries.put(format!("{place}/OP (Table 5)"), costs.op_pages);
        entries.put(format!("{place}/R"), costs.r_pages);
        entries.put(format!("{place}/RAM"), costs.ram_kb);
        entries.put(format!("{place}/Nc"), tree.compactions.unwrap_or(0.0));
    }
    for bits_per_key in BITS_PER_KEY {
        put_bits(entries, bits_per_key);
    }
    for hash_count in 1..=16 {
        let tuning = Tuning { hash_count, ..Tuning::PUBLISHED };
        let index = tuned(KEYS, tuning);
        let place = format!("fig12n/k={hash_count}");
        entries.put(format!("{place}/R"), Reading::FITTED.lookup(&index).total());
        entries.put(format!("{place}/R unrounded fp"), unrounded(&index));
    }
    put_stated(entries);
    put_large(entries);
}

fn tuned(keys: u32, tuning: Tuning) -> PbFilter {
    PbFilter::new(Setting::published(keys), tuning, SummaryPages::ByKeys)
}

fn unrounded(index: &PbFilter) -> f64 {
    Reading { is_rounded: false, ..Reading::FITTED }.lookup(index).total()
}

fn put_bits(entries: &mut Entries, bits_per_key: u32) {
    let tuning = Tuning { bits_per_key, ..Tuning::PUBLISHED };
    let index = tuned(KEYS, tuning);
    let place = format!("fig12l/d={bits_per_key}");
    entries.put(format!("{place}/R reading C"), Reading::CONSISTENT.lookup(&index).total());
    entries.put(format!("{place}/R"), Reading::FITTED.lookup(&index).total());
    entries.put(format!("{place}/R unrounded fp"), unrounded(&index));
    let place = format!("fig12m/d={bits_per_key}");
    let printed = PbFilter::new(Setting::published(KEYS), tuning, SummaryPages::ByKeyPages);
    for (index, suffix) in [(&index, ""), (&printed, " (printed floor(N_KA/Mb))")] {
        entries.put(format!("{place}/W{suffix}"), index.w_pages());
        entries.put(format!("{place}/VP{suffix}"), index.vp_pages());
        entries.put(format!("{place}/OP{suffix}"), index.erasable_pages);
    }
    entries.put(format!("{place}/Sb"), index.filter_bits);
    entries.put(format!("{place}/M1"), index.keys_per_filter);
    entries.put(format!("{place}/SKA_KA"), index.summary_share());
}

/// Numbers that the text of the paper states.
fn put_stated(entries: &mut Entries) {
    let setting = Setting::published(KEYS);
    let method = Method::Compacted(30);
    let tree = |units, count| Tree::with(setting, method, BUFFERS, (units, count)).costs();
    let units = setting.units_per_page();
    let taken = tree(units, NodeCount::ChildPerGap);
    entries.put_noted("prose/BFTL2 C=30 R", taken.r_pages, "paper: 105");
    entries.put_noted("prose/BFTL2 C=30 RAM", taken.ram_kb, "paper: 2728");
    let printed = tree(units, NodeCount::Printed);
    entries.put_noted("prose/BFTL2 C=30 RAM, Nn as printed", printed.ram_kb, "paper: 2728");
    // The paper prints M as floor(Sp / ( + 5 Sr)), where the size of the key is missing.
    let without_key = setting.page_size / (5 * setting.pointer_size);
    let without_key = tree(without_key, NodeCount::ChildPerGap);
    entries.put("RAM/BFTL2 C=30 if M=Sp/(5*Sr)", without_key.ram_kb);
    let (few, many) = (Tuning::PUBLISHED, Tuning::MORE_PARTITIONS);
    let sectors = f64::from(few.sectors);
    let by_sector = |tuning: Tuning| setting.buffers_kb(tuning.buffers) / sectors;
    entries.put_noted("RAM/PBF sector granularity KB", by_sector(few), "paper: 3.5");
    let added = setting.buffers_kb(many.buffers - few.buffers) / sectors;
    entries.put(
        "RAM/PBF2 sector granularity for the 12 extra buffers KB",
        setting.buffers_kb(few.buffers) + added,
    );
    entries.put("RAM/PBF2 all sector granularity KB", by_sector(many));
}

/// Section 6.2 says that N = 5 million, d = 24 and k = 4 give R = 9. One of the interpretations
/// does.
fn put_large(entries: &mut Entries) {
    const LARGE: u32 = 5_000_000;
    let tuning = Tuning { bits_per_key: 24, hash_count: 4, ..Tuning::PUBLISHED };
    let index = tuned(LARGE, tuning);
    let printed = PbFilter::new(Setting::published(LARGE), tuning, SummaryPages::ByKeyPages);
    let with = |rate| Reading { rate, ..Reading::FITTED };
    for (name, reading, index) in [
        ("primary (f with m=Sb,n=M; N/M1 blooms)", Reading::FITTED, &index),
        ("primary, printed SKA pages", Reading::FITTED, &printed),
        ("f nominal d=24, N/M1 blooms, 1 KA page each", with(Rate::NominalByFilter(1)), &index),
        ("f nominal d=24, f*|KA|/2 (prose 6.2), r1 prob (reading C)", Reading::CONSISTENT, &index),
        (
            "f nominal d=24, N/M1 blooms, ceil(M1/M)=2 KA pages each",
            with(Rate::NominalByFilter(2)),
            &index,
        ),
        ("f at Sb/M, f*|KA|/2", with(Rate::OfFilterByPage), &index),
    ] {
        let label = format!("prose/N=5M d=24 k=4/{name}/R");
        entries.put_noted(label, reading.lookup(index).total(), "paper: 9");
    }
    for hash_count in 3..=11 {
        let index = tuned(LARGE, Tuning { hash_count, ..tuning });
        let label = format!("extra/N=5M d=24/k={hash_count}/R reading C");
        entries.put(label, Reading::CONSISTENT.lookup(&index).total());
    }
    for bits_per_key in (24..=48).step_by(4) {
        let index = tuned(LARGE, Tuning { bits_per_key, ..tuning });
        let (costs, place) =
            (costs(&index, Reading::CONSISTENT), format!("extra/N=5M k=4/d={bits_per_key}"));
        entries.put(format!("{place}/R reading C"), costs.r_pages);
        entries.put(format!("{place}/W"), costs.w_pages);
        entries.put(format!("{place}/OP"), costs.op_pages);
    }
}
