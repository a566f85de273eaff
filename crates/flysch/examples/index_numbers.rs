//! Measure the indexes: pages, reads of a lookup, worst insert, RAM. Run it with `--release`.
#![expect(clippy::print_stdout, reason = "it prints a table")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails has no result")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "counts are far below 2^32"
)]

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use flysch::flash::Flash;
use flysch::index::IndexError;
use flysch::index::pbfilter::{FlushUnit, PbConfig, PbFilter};
use flysch::index::runs::{Output, Pace, Runs, RunsConfig};
use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_nand::{
    BlockAddr, Ecc, EraseError, Geometry, Nand, PageAddr, PowerLost, ProgramError, ReadError,
};

/// Records of 100 bytes on a page of 2 KiB.
const RECORDS_PER_PAGE: u32 = 20;

/// What happened on the chip.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u64,
    read_bytes: u64,
    programs: u64,
    programmed_bytes: u64,
    erases: u64,
    out_of_order: u64,
}

/// A chip whose operations are counted as they happen: a trace of tens of millions of events
/// would not fit.
struct Counter {
    chip: Chip,
    counts: Rc<Cell<Counts>>,
    frontier: Vec<u32>,
}

impl Counter {
    fn add(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
}

impl Nand for Counter {
    fn geometry(&self) -> Geometry {
        self.chip.geometry()
    }

    fn read(&mut self, page: PageAddr, column: u32, bytes: &mut [u8]) -> Result<Ecc, ReadError> {
        self.add(|counts| {
            counts.reads += 1;
            counts.read_bytes += bytes.len() as u64;
        });
        self.chip.read(page, column, bytes)
    }

    fn program(
        &mut self,
        page: PageAddr,
        column: u32,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), ProgramError> {
        let geometry = self.chip.geometry();
        let frontier = &mut self.frontier[geometry.block_of(page).0 as usize];
        let back = geometry.page_in_block(page) < *frontier;
        *frontier = (*frontier).max(geometry.page_in_block(page));
        self.add(|counts| {
            counts.programs += 1;
            counts.programmed_bytes += data.len() as u64;
            counts.out_of_order += u64::from(back);
        });
        self.chip.program(page, column, data, oob)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EraseError> {
        self.frontier[block.0 as usize] = 0;
        self.add(|counts| counts.erases += 1);
        self.chip.erase(block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, PowerLost> {
        self.chip.is_bad(block)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), PowerLost> {
        self.chip.mark_bad(block)
    }
}

struct Bench {
    clock: Clock,
    counts: Rc<Cell<Counts>>,
    counter: Option<Counter>,
    geometry: Geometry,
}

impl Bench {
    fn new(blocks: u32) -> Self {
        let mut part = Part::named("gemalto-vfl").unwrap();
        part.geometry.block_count = blocks;
        let geometry = part.geometry;
        let clock = Clock::new();
        let chip = Chip::new(Arc::new(part), clock.clone(), 1);
        let counts = Rc::new(Cell::new(Counts::default()));
        let frontier = vec![0; blocks as usize];
        let counter = Some(Counter { chip, counts: Rc::clone(&counts), frontier });
        Self { clock, counts, counter, geometry }
    }
}

/// The key of a record: 12 random bytes.
fn key(number: u64) -> [u8; 12] {
    let mut key = [0; 12];
    Prng::new(number ^ 0x5DEE_CE66_D1CE_4E5B).fill(&mut key);
    key
}

/// Reads of lookups, averaged.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    lookups: u64,
    probes: u64,
    records: u64,
    ns: u64,
    worst: u64,
}

impl Reads {
    fn mean(&self) -> f64 {
        (self.probes + self.records) as f64 / self.lookups as f64
    }
}

fn look_up(
    runs: &mut Runs<'_>,
    flash: &mut Flash<'_, Counter>,
    bench: &Bench,
    key_number: u64,
    inserted: u64,
    into: &mut Reads,
) -> bool {
    let wanted = key(key_number);
    let (before, began) = (bench.counts.get(), bench.clock.now_ns());
    let mut records = 0;
    let mut found = false;
    runs.lookup(flash, &wanted, |_, pointer| {
        records += 1;
        let first = u64::from(pointer * RECORDS_PER_PAGE);
        found = (first..first + u64::from(RECORDS_PER_PAGE))
            .any(|record| record < inserted && key(record) == wanted);
        Ok::<_, IndexError>(if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
    .unwrap();
    let reads = bench.counts.get().reads - before.reads;
    into.lookups += 1;
    into.probes += reads;
    into.records += records;
    into.worst = into.worst.max(reads + records);
    into.ns += bench.clock.now_ns() - began;
    found
}

fn measure_runs(name: &str, keys: u64, config: RunsConfig) {
    let mut bench = Bench::new(4096);
    let mut table = vec![0; Flash::<Counter>::ram_size(&bench.geometry)];
    let mut flash = Flash::mount(bench.counter.take().unwrap(), &mut table).unwrap();
    let mut ram = vec![0; config.ram_size(&bench.geometry)];
    let mut runs = Runs::create(&mut flash, config, &mut ram).unwrap();
    bench.counts.set(Counts::default());
    let (mut present, mut absent) = (Reads::default(), Reads::default());
    let mut prng = Prng::new(7);
    let mut next = keys / 2;
    let (mut worst, mut load_ns, mut peak) = (0, 0, 0);
    for number in 0..keys {
        let began = bench.clock.now_ns();
        let pointer = number as u32 / RECORDS_PER_PAGE;
        runs.insert(&mut flash, &key(number), pointer).unwrap();
        let took = bench.clock.now_ns() - began;
        worst = worst.max(took);
        load_ns += took;
        peak = peak.max(runs.block_count());
        if number == next || number + 1 == keys {
            next += keys / 80 + prng.below(200);
            let counts = bench.counts.get();
            for _ in 0..500 {
                let drawn = prng.below(number + 1);
                assert!(look_up(&mut runs, &mut flash, &bench, drawn, number + 1, &mut present));
                let drawn = (1 << 40) + prng.below(1 << 40);
                assert!(!look_up(&mut runs, &mut flash, &bench, drawn, number + 1, &mut absent));
            }
            bench.counts.set(counts);
        }
    }
    let counts = bench.counts.get();
    let page = u64::from(bench.geometry.page_size);
    let fields = size_of::<Runs<'_>>() + size_of::<Flash<'_, ()>>();
    println!(
        "{name:24} N={keys} S={} k={} RAM={}+{fields}+{} W={} ({:.1} B/key) IR={} ({} reads) VP={} \
         peak={} erases={} R={:.3}/{:.3} worst {}/{} {:.3}/{:.3} ms, insert {:.2} ms mean {:.4}, ooo {}",
        config.recents_max,
        config.levels,
        config.ram_size(&bench.geometry),
        bench.geometry.block_count.min(1024) / 8,
        counts.programmed_bytes / page,
        counts.programmed_bytes as f64 / keys as f64,
        counts.read_bytes / page,
        counts.reads,
        runs.page_count(&bench.geometry),
        peak * bench.geometry.pages_per_block,
        counts.erases,
        present.mean(),
        absent.mean(),
        present.worst,
        absent.worst,
        present.ns as f64 / present.lookups as f64 / 1e6,
        absent.ns as f64 / absent.lookups as f64 / 1e6,
        worst as f64 / 1e6,
        load_ns as f64 / keys as f64 / 1e6,
        counts.out_of_order,
    );
}

fn measure_pbfilter(name: &str, keys: u64, config: PbConfig) {
    let mut bench = Bench::new(4096);
    let mut table = vec![0; Flash::<Counter>::ram_size(&bench.geometry)];
    let mut flash = Flash::mount(bench.counter.take().unwrap(), &mut table).unwrap();
    let mut ram = vec![0; config.ram_size(&bench.geometry)];
    let mut index = PbFilter::create(&mut flash, config, &mut ram).unwrap();
    bench.counts.set(Counts::default());
    let mut worst = 0;
    for number in 0..keys {
        let began = bench.clock.now_ns();
        index.insert(&mut flash, &key(number), number as u32).unwrap();
        worst = worst.max(bench.clock.now_ns() - began);
    }
    let counts = bench.counts.get();
    let mut prng = Prng::new(7);
    let mut reads = [Reads::default(); 2];
    for (into, is_present) in [(0, true), (1, false)] {
        for _ in 0..5_000 {
            let number =
                if is_present { prng.below(keys) } else { (1 << 40) + prng.below(1 << 40) };
            let before = bench.counts.get().reads;
            let began = bench.clock.now_ns();
            let mut found = None;
            index
                .lookup(&mut flash, &key(number), |_, pointer| {
                    found = Some(u64::from(pointer));
                    Ok::<_, IndexError>(ControlFlow::Break(()))
                })
                .unwrap();
            assert_eq!(found, is_present.then_some(number));
            let reads = &mut reads[into];
            let cost = bench.counts.get().reads - before;
            reads.lookups += 1;
            reads.probes += cost;
            reads.records += u64::from(is_present);
            reads.worst = reads.worst.max(cost + u64::from(is_present));
            reads.ns += bench.clock.now_ns() - began;
        }
    }
    let page = u64::from(bench.geometry.page_size);
    println!(
        "{name:24} N={keys} RAM={} (table {}) +{} W={:.2} programs={} IR={:.2} VP={} erases={} \
         R={:.3}/{:.3} worst {}/{} insert {:.1} ms ooo {}",
        config.ram_size(&bench.geometry),
        config.blocks_max * 2,
        size_of::<PbFilter<'_>>(),
        counts.programmed_bytes as f64 / page as f64,
        counts.programs,
        counts.read_bytes as f64 / page as f64,
        index.page_count(),
        counts.erases,
        reads[0].mean(),
        reads[1].mean(),
        reads[0].worst,
        reads[1].worst,
        worst as f64 / 1e6,
        counts.out_of_order,
    );
}

fn main() {
    let geometry = Part::named("gemalto-vfl").unwrap().geometry;
    let keys = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().unwrap());
    if keys > 5_000_000 {
        let config = RunsConfig::for_keys(keys as u32, 12_800, &geometry).unwrap();
        return measure_runs("spread", keys, config);
    }
    let published = PbConfig::published(12, keys as u32, &geometry);
    measure_pbfilter("pbfilter", keys, published);
    measure_pbfilter("pbfilter2", keys, PbConfig { partitions: 16, ..published });
    let whole = PbConfig { flush: FlushUnit::Page, ..published };
    measure_pbfilter("pbfilter, whole pages", keys, whole);
    let base = RunsConfig::for_keys(keys as u32, 12_752, &geometry).unwrap();
    println!("{base:?}");
    measure_runs("spread", keys, base);
    let synchronous = RunsConfig { pace: Pace::Synchronous, ..base };
    measure_runs("synchronous", keys, synchronous);
    let filter = RunsConfig { filter_bits: 7, recents_max: 7_700, ..synchronous };
    measure_runs("synchronous + filter", keys, filter);
    measure_runs("spread + filter", keys, RunsConfig { pace: Pace::Spread, ..filter });
    let small = RunsConfig::for_keys(keys as u32, 2_582, &geometry).unwrap();
    assert_eq!(small.output, Output::Sector);
    println!("{small:?}");
    measure_runs("small", keys, RunsConfig { pace: Pace::Synchronous, ..small });
    measure_runs("small, spread", keys, small);
}
