//! How many operations of the whole device the simulator does in a second of real time.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flysch_chip::{Chip, Clock, FaultInjector, Part, Recorder, Tracer};
use flysch_nand::{BlockAddr, Nand, PageAddr};

/// Number of blocks that are written and read. They hold 128 MiB, more than a processor's caches.
const BLOCKS: u32 = 1024;
const OOB: [u8; 16] = [0xFF; 16];

fn device() -> (Recorder, Tracer<FaultInjector>) {
    let part = Arc::new(Part::builtin("nandsim").expect("comes with the program"));
    let clock = Clock::new();
    let recorder = Recorder::new(clock.clone(), "bench");
    let chip = FaultInjector::new(Chip::new(part, clock, 1));
    (recorder.clone(), Tracer::new(chip, recorder))
}

/// Erase a block, then program and read each of its 64 pages.
fn rewrite(device: &mut Tracer<FaultInjector>, recorder: &Recorder, block: BlockAddr) {
    let data = [0x5A; 2048];
    let mut bytes = [0; 2048];
    let _scope = recorder.scope("rewrite");
    device.erase(block).expect("no fault is planned");
    let first = device.geometry().first_page(block).0;
    for page in (first..first + 64).map(PageAddr) {
        device.program(page, 0, &data, &OOB).expect("no fault is planned");
    }
    for page in (first..first + 64).map(PageAddr) {
        device.read(page, 0, black_box(&mut bytes)).expect("no fault is planned");
    }
}

fn mix(criterion: &mut Criterion) {
    let (recorder, mut device) = device();
    let mut group = criterion.benchmark_group("device");
    group.throughput(Throughput::Elements(129));
    let mut next = 0;
    group.bench_function("erase a block, program and read its 64 pages", |bencher| {
        bencher.iter(|| {
            rewrite(&mut device, &recorder, BlockAddr(next));
            next = (next + 1) % BLOCKS;
            if next == 0 {
                recorder.reset();
            }
        });
    });
    group.throughput(Throughput::Elements(1));
    let mut bytes = [0; 2048];
    let mut page = 0;
    group.bench_function("read a page", |bencher| {
        bencher.iter(|| {
            page = (page + 4099) % (BLOCKS * 64);
            if page % 64 == 0 {
                recorder.reset();
            }
            device.read(PageAddr(page), 0, black_box(&mut bytes))
        });
    });
    group.finish();
}

criterion_group!(benches, mix);
criterion_main!(benches);
