//! The flusher writes dirty pages without being asked, alone or at the same time as an fsync. Power
//! cuts meanwhile lose nothing that was durable.

use flysch_chip::{EventKind, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::{Compressor, DirtyLimit, Options};
use flysch_linux::vfs::{Advice, Vfs};

use super::content::read_all;
use super::device::Device;

const PAGE: usize = 4096;
const PAGES: usize = 60;
const SECOND_NS: u64 = 1_000_000_000;

fn device(dirty_limit: DirtyLimit) -> Device {
    let options = Options { compressor: Compressor::None, dirty_limit, ..Options::default() };
    let device = Device::new(40, options);
    device.format().unwrap();
    device
}

fn content() -> Vec<u8> {
    let mut bytes = vec![0; PAGES * PAGE];
    Prng::new(9).fill(&mut bytes);
    bytes
}

/// The programs since the last call: for each, whether the flusher made it, and when it began.
fn programs(device: &Device) -> Vec<(bool, u64)> {
    let geometry = device.chip.borrow().device().chip().part().geometry;
    let trace = device.recorder.take(geometry);
    let is_flusher: Vec<bool> =
        trace.tasks.iter().map(|name| name.starts_with("flush-ubifs")).collect();
    let programs = trace.events.iter().filter(|event| event.kind == EventKind::Program);
    programs.map(|event| (is_flusher[usize::from(event.task.0)], event.time_ns)).collect()
}

/// The number of programs that the flusher made, and the number of others.
fn counts(device: &Device) -> [usize; 2] {
    let programs = programs(device);
    let flusher = programs.iter().filter(|&&(is_flusher, _)| is_flusher).count();
    [flusher, programs.len() - flusher]
}

/// When the flusher writes the pages of [`work`] if nothing else does so before, nanoseconds.
fn wakes_ns() -> u64 {
    let device = device(DirtyLimit::Shared);
    let mut vfs = device.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &content()).unwrap();
    vfs.sleep(8 * SECOND_NS);
    let first = programs(&device).into_iter().find(|&(is_flusher, _)| is_flusher);
    first.expect("it wakes").1
}

/// A device that has written nothing lately has no share of the limit, so that its pages are
/// written as soon as the flusher wakes. If there are no shares, pages are written when they are 30
/// s old.
#[test]
fn dirty_pages_are_written_unasked() {
    for (limit, first_ns) in
        [(DirtyLimit::Shared, 5 * SECOND_NS), (DirtyLimit::Whole, 30 * SECOND_NS)]
    {
        let device = device(limit);
        let mut vfs = device.mount().unwrap();
        let fd = vfs.open("file", true).unwrap();
        vfs.sync().unwrap();
        vfs.write(fd, 0, &content()).unwrap();
        vfs.sleep(first_ns - SECOND_NS);
        assert_eq!(counts(&device)[0], 0, "before {first_ns}");
        vfs.sleep(8 * SECOND_NS);
        let flusher = counts(&device)[0];
        assert!(flusher >= PAGES * PAGE / 2048 - 2, "{flusher} programs after {first_ns}");
        assert!(read_all(&mut vfs, "file").unwrap() == content());
    }
}

/// Write a file, and begin an fsync at `fsync_ns`.
fn work(vfs: &mut Vfs, device: &Device, fsync_ns: u64) -> Result<(), FsError> {
    let fd = vfs.open("file", true)?;
    vfs.write(fd, 0, &content())?;
    vfs.sleep(fsync_ns - device.recorder.clock().now_ns());
    vfs.fsync(fd)
}

/// Both tasks write pages, and each page is written once.
#[test]
fn an_fsync_and_the_flusher_share_the_pages() {
    let (wakes_ns, mut both) = (wakes_ns(), 0);
    for before_ns in (0..16_000_000).step_by(1_000_000) {
        let device = device(DirtyLimit::Shared);
        let mut vfs = device.mount().unwrap();
        counts(&device);
        work(&mut vfs, &device, wakes_ns - before_ns).unwrap();
        let [flusher, fsync] = counts(&device);
        assert!(flusher + fsync <= PAGES * PAGE / 2048 + 12, "{flusher} and {fsync}");
        both += u32::from(flusher > 20 && fsync > 20);
        vfs.drop_caches().unwrap();
        assert!(read_all(&mut vfs, "file").unwrap() == content(), "{before_ns} ns");
    }
    assert!(both > 0, "they never met");
}

#[test]
fn cuts_while_both_write_lose_nothing_durable() {
    let fsync_ns = wakes_ns() - 1_000_000;
    let whole = device(DirtyLimit::Shared);
    let mut vfs = whole.mount().unwrap();
    whole.arm(FaultPlan::default());
    work(&mut vfs, &whole, fsync_ns).unwrap();
    let count = whole.operations();
    for cut in (0..count).step_by(3) {
        let device = device(DirtyLimit::Shared);
        let mut vfs = device.mount().unwrap();
        let old = vfs.open("old", true).unwrap();
        vfs.write(old, 0, b"durable").unwrap();
        vfs.fsync(old).unwrap();
        device.arm(FaultPlan { seed: cut, cut_at: Some(cut), ..FaultPlan::default() });
        let outcome = work(&mut vfs, &device, fsync_ns);
        device.power_up();
        let mut vfs = device.mount().unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        assert_eq!(read_all(&mut vfs, "old").unwrap(), b"durable", "cut {cut}");
        if outcome.is_ok() {
            assert!(read_all(&mut vfs, "file").unwrap() == content(), "cut {cut}");
        }
    }
}

/// Who needs pages no more (`POSIX_FADV_DONTNEED`) makes the kernel write them, and loses nothing.
#[test]
fn dirty_pages_that_are_not_needed_are_written() {
    let device = device(DirtyLimit::Shared);
    let mut vfs = device.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &content()).unwrap();
    programs(&device);
    vfs.advise(fd, Advice::DontNeed { offset: 0, len: 0 }).unwrap();
    let [flusher, own] = counts(&device);
    assert!(flusher == 0 && own >= PAGES * PAGE / 2048, "{flusher} and {own} programs");
    assert_eq!((vfs.cache().len(), vfs.cache().dirty_count()), (0, 0));
    assert!(read_all(&mut vfs, "file") == Ok(content()), "the file is as it was written");
}

/// The flusher gets its turn at the beginning of a call, and the call keeps its cause.
#[test]
fn a_call_before_which_the_flusher_writes_keeps_its_cause() {
    let device = device(DirtyLimit::Shared);
    let mut vfs = device.mount().unwrap();
    let read = vfs.open("read", true).unwrap();
    vfs.write(read, 0, &content()).unwrap();
    vfs.fsync(read).unwrap();
    vfs.drop_caches().unwrap();
    let written = vfs.open("written", true).unwrap();
    vfs.write(written, 0, &content()).unwrap();
    counts(&device);
    device.recorder.clock().advance(40 * SECOND_NS);
    let scope = device.recorder.scope("request");
    vfs.read(read, 0, &mut [0; PAGE]).unwrap();
    drop(scope);
    let trace = device.recorder.take(device.chip.borrow().device().chip().part().geometry);
    let is_flusher = |task: usize| trace.tasks[task].starts_with("flush-ubifs");
    let others = trace.events.iter().filter(|event| !is_flusher(usize::from(event.task.0)));
    let paths: Vec<String> = others.map(|event| trace.causes.path(event.cause)).collect();
    assert!(paths.len() < trace.events.len(), "the flusher wrote");
    assert!(!paths.is_empty() && paths.iter().all(|path| path.starts_with("request > read")));
}
