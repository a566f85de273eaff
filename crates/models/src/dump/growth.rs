//! Fig. 12 (g) to (i): one to seven million records, and the number of records from which on a
//! lookup costs more with `PBFilter` than with BFTL2.

use super::Entries;
use super::comparison::{BUFFERS, INITIALS, METHODS, ROUNDINGS, published};
use crate::Costs;
use crate::pbfilter::{PbFilter, SummaryPages, Tuning};
use crate::reading::{Generations, Initial, Reading, costs};
use crate::setting::Setting;
use crate::tree::{Method, Tree};

const MILLION: u32 = 1_000_000;

/// Numbers of records at which both methods are compared. They are around every crossing of the
/// curves.
const CROSSINGS: [u32; 13] = [
    1_500_000, 2_000_000, 2_097_152, 2_200_000, 2_500_000, 2_550_000, 2_560_000, 3_500_000,
    4_150_000, 4_160_000, 4_190_000, 4_200_000, 4_220_000,
];

pub(super) fn put(entries: &mut Entries) {
    for millions in 1..=7 {
        let keys = millions * MILLION;
        let place = format!("N={millions}M");
        for (name, method) in &METHODS[1..] {
            let tree = Tree::new(Setting::published(keys), *method, BUFFERS);
            put_method(entries, &place, name, &tree.costs());
        }
        for (name, tuning) in [("PBF1", Tuning::PUBLISHED), ("PBF2", Tuning::MORE_PARTITIONS)] {
            let index = PbFilter::new(Setting::published(keys), tuning, SummaryPages::ByKeys);
            put_method(entries, &place, name, &costs(&index, Reading::FITTED));
        }
        let lookup = |reading: Reading| reading.lookup(&published(keys)).total();
        let ceiling = Reading { initial: Initial::Ceiling, ..Reading::FITTED };
        entries.put(format!("fig12g/{place}/PBF1/R reading C"), lookup(Reading::CONSISTENT));
        entries.put(format!("fig12g/{place}/PBF1/R r1=ceil"), lookup(ceiling));
    }
    for keys in CROSSINGS {
        let place = format!("crossing/N={keys}");
        entries.put(format!("{place}/PBF R"), Reading::FITTED.lookup(&published(keys)).total());
        entries.put(format!("{place}/BFTL2 R"), compacted_lookup(keys));
    }
    put_crossings(entries);
}

fn put_method(entries: &mut Entries, place: &str, name: &str, costs: &Costs) {
    entries.put(format!("fig12g/{place}/{name}/R"), costs.r_pages);
    entries.put(format!("fig12h/{place}/{name}/W"), costs.w_pages);
    entries.put(format!("fig12i/{place}/{name}/RAM"), costs.ram_kb);
    entries.put(format!("extra/{place}/{name}/IR"), costs.ir_pages);
    entries.put(format!("extra/{place}/{name}/VP"), costs.vp_pages);
    entries.put(format!("extra/{place}/{name}/OP"), costs.op_pages);
}

fn compacted_lookup(keys: u32) -> f64 {
    Tree::new(Setting::published(keys), Method::Compacted(5), BUFFERS).costs().r_pages
}

/// The number of records at which the curves cross, for every interpretation of R, in steps of
/// 10,000.
fn put_crossings(entries: &mut Entries) {
    let generations = [
        ("floor(x)/2", Generations::HalfOfFloor),
        ("floor(x/2)", Generations::FloorOfHalf),
        ("floor(x)", Generations::Floor),
        ("x/2", Generations::Half),
        ("ceil(x/2)", Generations::CeilingOfHalf),
    ];
    let grid: Vec<(u32, PbFilter, f64)> = (MILLION..=7 * MILLION)
        .step_by(10_000)
        .map(|keys| (keys, published(keys), compacted_lookup(keys)))
        .collect();
    for (r1, initial) in INITIALS {
        for (r3, generations) in generations {
            for (fp, is_rounded) in ROUNDINGS {
                let reading = Reading { initial, generations, is_rounded, ..Reading::FITTED };
                let is_worse = |(_, index, other): &&(u32, PbFilter, f64)| {
                    reading.lookup(index).total() > *other
                };
                let keys = |found: Option<&(u32, PbFilter, f64)>| {
                    f64::from(found.expect("they cross between 1 and 7 million").0)
                };
                let place = format!("crossing/r1={r1},r3={r3},fp={fp}");
                let first = keys(grid.iter().find(is_worse));
                let last = keys(grid.iter().rev().find(|row| !is_worse(row)));
                entries.put(format!("{place}/first N with PBF worse"), first);
                entries.put(format!("{place}/last N with PBF not worse"), last);
            }
        }
    }
}
