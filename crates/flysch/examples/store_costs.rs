//! What the index store costs on the simulated chip, by exact counts.
//!
//! `store_costs N RAM [one|many|key] [random|ascending|descending|bursty] [rows per key]
//! [replacements] [levels]`, where RAM counts the store, a page and a cell, but not the table of
//! blocks.
#![expect(clippy::unwrap_used, reason = "a measurement fails by panicking")]
#![expect(clippy::print_stdout, reason = "it prints a table")]
#![expect(clippy::cast_precision_loss, reason = "means of counts")]
#![expect(clippy::cast_possible_truncation, reason = "counts are small")]

use std::sync::Arc;

use flysch::media::Partition;
use flysch::store::{Entry, IndexPlan, Order, Probe, Rows, Solo, Store, StoreConfig};
use flysch_chip::{Chip, Clock, Counts, Hooked, Part, Prng};
use flysch_nand::Geometry;

/// A chip whose operations are counted.
type Counted = Hooked<Chip, Counts>;

fn hash(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x7FB5_D329_728E_A185);
    (mixed ^ mixed >> 27).wrapping_mul(0x81DA_DEF4_BC2D_D44D) >> 7
}

struct Load {
    plan: IndexPlan,
    keys: String,
    per_key: u64,
    bits: u8,
    pointers: u32,
}

impl Load {
    fn code(&self, number: u64) -> u64 {
        let key = match self.keys.as_str() {
            "ascending" => number,
            "descending" => (1 << 40) - number,
            "bursty" => number / 64 * 1_000_003 + number % 64,
            _ => hash(number) >> 8,
        };
        let key = if self.per_key > 1 {
            hash(number) % (u64::from(self.plan.capacity) / self.per_key)
        } else {
            key
        };
        match self.plan.order {
            Order::Key => key,
            Order::Hash => hash(key + 77) & (u64::MAX >> (64 - self.bits)),
        }
    }

    /// Twenty rows a page, one after the other.
    fn entry(&self, number: u64, row: u64) -> Entry {
        let (page, within) = (row / 20, row % 20 / 5);
        let pointer = (page * 4 + within) as u32 % self.pointers;
        Entry { index: 0, code: self.code(number), pointer, flags: 0 }
    }
}

fn percentiles(name: &str, mut counts: Vec<u64>) {
    counts.sort_unstable();
    let at = |per_mille: usize| counts[(counts.len() - 1) * per_mille / 1000];
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let last = counts[counts.len() - 1];
    print!(" | {name} {mean:.2} p99 {} p99.9 {} max {last}", at(990), at(999));
}

fn lookups(solo: &mut Solo<'_, Counted>, load: &Load, range: (u64, u64), rows: u64) -> Vec<u64> {
    let mut prng = Prng::new(5);
    let mut counts = Vec::new();
    for _ in 0..20_000.min(range.1 - range.0) {
        let number = range.0 + prng.below(range.1 - range.0);
        let code = load.code(number);
        let before = solo.nand_mut().hooks.0[0];
        let mut probe = Probe::new(solo.store().config(), 0, code);
        let found = solo.next(&mut probe).unwrap();
        counts.push(solo.nand_mut().hooks.0[0] - before + if found.is_some() { rows } else { 0 });
    }
    counts
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |at: usize, or: &str| arguments.get(at).cloned().unwrap_or_else(|| or.to_owned());
    let count: u64 = argument(0, "100000").parse().unwrap();
    let ram: usize = argument(1, "14336").parse().unwrap();
    let (order, rows) = match argument(2, "one").as_str() {
        "key" => (Order::Key, Rows::One),
        "many" => (Order::Hash, Rows::Many),
        _ => (Order::Hash, Rows::One),
    };
    let per_key: u64 = argument(4, "1").parse().unwrap();
    let replacements: u64 = argument(5, "0").parse().unwrap();
    let levels: u8 = argument(6, "3").parse().unwrap();
    let is_updated = replacements > 0;
    let plan = IndexPlan { order, rows, is_updated, levels, capacity: count as u32 };
    let part = Part::named("w25n01gv").unwrap();
    let blocks = if count > 4_000_000 { 2048 } else { 1024 };
    let part = Part { geometry: Geometry { block_count: blocks, ..part.geometry }, ..part };
    let geometry = part.geometry;
    let lent = geometry.page_size as usize + 512;
    let config = StoreConfig::plan(ram - lent, &[plan], &geometry, geometry.block_count).unwrap();
    let partition = Partition { first: 0, count: geometry.block_count };
    let mut memory = vec![0; Solo::<Counted>::carved(&config, partition)];
    let device = Chip::new(Arc::new(part), Clock::new(), 1);
    let chip = Counted { device, hooks: Counts::default() };
    let mut solo = Solo::new(chip, partition, config, &mut memory);
    let load = Load {
        plan,
        keys: argument(3, "random"),
        per_key,
        bits: plan.code_bits(),
        pointers: 1 << config.pointer_bits(),
    };
    let mut worst = [0; 3];
    let mut insert = |solo: &mut Solo<'_, Counted>, entry: &Entry| {
        let before = solo.nand_mut().hooks.0;
        solo.insert(entry).unwrap();
        let after = solo.nand_mut().hooks.0;
        for at in 0..3 {
            worst[at] = worst[at].max(after[at] - before[at]);
        }
    };
    for number in 0..count {
        insert(&mut solo, &load.entry(number, number));
    }
    let loaded = solo.nand_mut().hooks.0;
    let (runs, pages) = solo.store().run_count();
    let page = f64::from(geometry.page_size);
    let each = |value: u64, of: u64| value as f64 / of as f64;
    print!("N {count} RAM {ram} {config:?}\n  fields {}", size_of::<Store<'_>>());
    print!(" | W {:.1} B/key", each(loaded[1], count) * page);
    print!(" | merge reads {:.3}/key | runs {runs} pages {pages}", each(loaded[0], count));
    percentiles("present", lookups(&mut solo, &load, (0, count), 1));
    percentiles("absent", lookups(&mut solo, &load, (1 << 33, 1 << 34), 0));
    if replacements > 0 {
        let before = solo.nand_mut().hooks.0;
        let mut prng = Prng::new(9);
        let mut most = 0;
        for row in 0..replacements {
            let entry = load.entry(prng.below(count), count + row);
            insert(&mut solo, &entry);
            most = most.max(solo.store().run_count().1);
        }
        let after = solo.nand_mut().hooks.0;
        print!("\n  W {:.1} B/update", each(after[1] - before[1], replacements) * page);
        print!(" | reads {:.3}/update", each(after[0] - before[0], replacements));
        print!(" | pages now {} most {most}", solo.store().run_count().1);
        percentiles("present", lookups(&mut solo, &load, (0, count), 1));
    }
    println!("\n  worst insert: {} reads, {} programs, {} erases", worst[0], worst[1], worst[2]);
}
