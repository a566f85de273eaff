//! CPU time of an insertion and of a lookup, the simulated chip's own included.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use flysch_chip::{Chip, Clock, Part, Prng};
use flysch_indexes::IndexError;
use flysch_indexes::flash::Flash;
use flysch_indexes::pbfilter::{PbConfig, PbFilter};
use flysch_indexes::runs::{Runs, RunsConfig};

const KEYS: u32 = 100_000;

fn key(number: u32) -> [u8; 12] {
    let mut key = [0; 12];
    Prng::new(u64::from(number)).fill(&mut key);
    key
}

fn chip() -> Chip {
    let part = Part::builtin("gemalto-vfl").expect("comes with the program");
    Chip::new(Arc::new(part), Clock::new(), 1)
}

fn runs(criterion: &mut Criterion) {
    let device = chip();
    let geometry = device.part().geometry;
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut flash = Flash::mount(device, &mut table).expect("no fault is planned");
    let config = RunsConfig::for_keys(1_000_000, 12_600, &geometry).expect("it is enough");
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut index = Runs::create(&mut flash, config, &mut ram).expect("no fault is planned");
    for number in 0..KEYS {
        index.insert(&mut flash, &key(number), number / 20).expect("no fault is planned");
    }
    let mut drawn = 0;
    criterion.bench_function("runs: look up a key of 100,000", |bencher| {
        bencher.iter(|| {
            drawn = (drawn + 7919) % KEYS;
            let stop = |_: &mut Flash<'_, Chip>, pointer| {
                black_box(pointer);
                Ok::<_, IndexError>(ControlFlow::Break(()))
            };
            index.lookup(&mut flash, &key(drawn), stop)
        });
    });
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    criterion.bench_function("runs: load 100,000 keys", |bencher| {
        bencher.iter(|| {
            // Blocks of an index that was dropped stay taken until the chip is mounted again.
            let mut flash = Flash::mount(chip(), &mut table).expect("no fault is planned");
            let mut index =
                Runs::create(&mut flash, config, &mut ram).expect("no fault is planned");
            for number in 0..KEYS {
                index.insert(&mut flash, &key(number), number / 20).expect("no fault is planned");
            }
            index.flushed()
        });
    });
}

fn pbfilter(criterion: &mut Criterion) {
    let device = chip();
    let geometry = device.part().geometry;
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    let mut flash = Flash::mount(device, &mut table).expect("no fault is planned");
    let config = PbConfig::published(12, KEYS, &geometry);
    let mut ram = vec![0; config.ram_size(&geometry)];
    let mut index = PbFilter::create(&mut flash, config, &mut ram).expect("no fault is planned");
    for number in 0..KEYS {
        index.insert(&mut flash, &key(number), number).expect("no fault is planned");
    }
    let mut drawn = 0;
    criterion.bench_function("PBFilter: look up a key of 100,000", |bencher| {
        bencher.iter(|| {
            drawn = (drawn + 7919) % KEYS;
            let stop = |_: &mut Flash<'_, Chip>, pointer| {
                black_box(pointer);
                Ok::<_, IndexError>(ControlFlow::Break(()))
            };
            index.lookup(&mut flash, &key(drawn), stop)
        });
    });
    let mut table = vec![0; Flash::<Chip>::ram_size(&geometry)];
    criterion.bench_function("PBFilter: load 100,000 keys", |bencher| {
        bencher.iter(|| {
            let mut flash = Flash::mount(chip(), &mut table).expect("no fault is planned");
            let mut index =
                PbFilter::create(&mut flash, config, &mut ram).expect("no fault is planned");
            for number in 0..KEYS {
                index.insert(&mut flash, &key(number), number).expect("no fault is planned");
            }
            index.count()
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = runs, pbfilter
}
criterion_main!(benches);
