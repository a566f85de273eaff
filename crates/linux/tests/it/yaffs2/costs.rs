//! How many operations of the chip each call costs.

use std::sync::Arc;

use flysch_chip::{EventKind, Part};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;
use flysch_linux::yaffs2::{Options, Profile};

use super::{ALL_OPTIONS, Bench};

const TODAY: Options = ALL_OPTIONS[0];
const OLD: Options = ALL_OPTIONS[1];

fn bench(options: Options) -> Bench {
    let bench = Bench::new(Arc::new(Part::builtin("nandsim").unwrap()), options);
    bench.format().unwrap();
    bench
}

/// Page reads, page programs, block erases and OOB reads since the last reset.
fn costs(bench: &Bench) -> [u64; 4] {
    let kinds = [EventKind::Read, EventKind::Program, EventKind::Erase, EventKind::ReadOob];
    kinds.map(|kind| bench.recorder.count(kind))
}

/// Call `act`, and return what it cost.
fn cost(
    bench: &Bench,
    vfs: &mut Vfs,
    act: impl FnOnce(&mut Vfs) -> Result<(), FsError>,
) -> [u64; 4] {
    bench.recorder.reset();
    act(vfs).unwrap();
    costs(bench)
}

fn append(vfs: &mut Vfs, name: &str, writes: u64, len: usize) -> Result<(), FsError> {
    let fd = vfs.open(name, true)?;
    for number in 0..writes {
        vfs.write(fd, number * len as u64, &vec![7; len])?;
    }
    vfs.fsync(fd)?;
    vfs.close(fd)
}

#[test]
fn calls_cost_what_the_format_says() {
    for options in [TODAY, OLD] {
        let bench = bench(options);
        let mut vfs = bench.mount().unwrap();
        append(&mut vfs, "other", 1, 100).unwrap();
        append(&mut vfs, "a", 0, 0).unwrap();
        let parent = u64::from(options.profile == Profile::Today);
        let appended = cost(&bench, &mut vfs, |vfs| append(vfs, "a", 4, 1024));
        assert_eq!(appended, [1, 3, 0, 0], "4 x 1 KiB: 2 chunks, and a header read and written");
        let created = cost(&bench, &mut vfs, |vfs| append(vfs, "b", 0, 0));
        assert_eq!(created, [parent, 1 + parent, 0, 0], "a header, and today the parent's");
        vfs.drop_caches().unwrap();
        let read = cost(&bench, &mut vfs, |vfs| {
            let fd = vfs.open("a", false)?;
            vfs.read(fd, 0, &mut [0; 4096])?;
            vfs.close(fd)
        });
        assert_eq!(
            read,
            [if options.caches > 0 { 0 } else { 2 }, 0, 0, 0],
            "both chunks are cached"
        );
        let unlinked = cost(&bench, &mut vfs, |vfs| vfs.unlink("a"));
        assert_eq!(unlinked, [2 + parent, 2 + parent, 0, 0], "two headers, and the parent's");
    }
}

#[test]
fn cold_reads_and_overwrites() {
    let bench = bench(TODAY);
    let mut vfs = bench.mount().unwrap();
    append(&mut vfs, "a", 16, 4096).unwrap();
    vfs.unmount().unwrap();
    let mut vfs = bench.mount().unwrap();
    assert!(vfs.exists("a").unwrap());
    vfs.set_read_ahead(0);
    let fd = vfs.open("a", false).unwrap();
    let read = |vfs: &mut Vfs| vfs.read(fd, 4096, &mut [0; 4096]).map(drop);
    assert_eq!(cost(&bench, &mut vfs, read), [2, 0, 0, 0], "a page is two chunks");
    vfs.write(fd, 0, &[1]).unwrap();
    vfs.fsync(fd).unwrap();
    let overwrite = |vfs: &mut Vfs| {
        vfs.write(fd, 4096, &[1; 1024])?;
        vfs.fsync(fd)
    };
    let wanted = [2, 2, 0, 0];
    assert_eq!(
        cost(&bench, &mut vfs, overwrite),
        wanted,
        "old chunk and header read, both written"
    );
    let data_only = |vfs: &mut Vfs| {
        vfs.write(fd, 4096, &[2; 1024])?;
        vfs.fdatasync(fd)
    };
    assert_eq!(cost(&bench, &mut vfs, data_only), [0, 1, 0, 0], "no header");
}

#[test]
fn a_checkpoint_is_written_once_and_erased_by_the_next_write() {
    let bench = bench(TODAY);
    let mut vfs = bench.mount().unwrap();
    append(&mut vfs, "a", 1, 100).unwrap();
    let synced = cost(&bench, &mut vfs, Vfs::sync);
    assert!(synced[1] > 5 && synced[2] == 0, "{synced:?}");
    assert_eq!(cost(&bench, &mut vfs, Vfs::sync), [0; 4], "nothing new");
    assert_eq!(
        cost(&bench, &mut vfs, |vfs| append(vfs, "a", 0, 0)),
        [0; 4],
        "a read changes nothing"
    );
    let written = cost(&bench, &mut vfs, |vfs| append(vfs, "a", 1, 10));
    assert_eq!(written, [1, 2, 1, 0], "chunk, header, and the checkpoint's block erased");
    vfs.sync().unwrap();
    bench.mount().unwrap();
    let by_checkpoint = costs(&bench);
    assert!(by_checkpoint[3] < 2 * 2048 + 5 && by_checkpoint[1] == 0, "{by_checkpoint:?}");
}

#[test]
fn an_empty_block_is_erased_at_once_and_one_with_a_summary_by_the_thread() {
    for (options, at_once) in [(OLD, 3), (TODAY, 0)] {
        let bench = bench(options);
        let mut vfs = bench.mount().unwrap();
        append(&mut vfs, "a", 3 * 64, 2048).unwrap();
        vfs.unlink("a").unwrap();
        let geometry = bench.device.borrow().chip().part().geometry;
        let trace = bench.recorder.take(geometry);
        let erases = trace.events.iter().filter(|event| event.kind == EventKind::Erase);
        let direct = erases.filter(|event| !trace.causes.path(event.cause).contains("yaffs_gc"));
        assert_eq!(direct.count(), at_once, "{options:?}");
        vfs.sleep(100_000_000_000);
        let erased_later = bench.recorder.count(EventKind::Erase) > 0;
        assert_eq!(erased_later, options.profile == Profile::Today);
    }
}

#[test]
fn every_event_has_a_cause() {
    let bench = bench(TODAY);
    let mut vfs = bench.mount().unwrap();
    append(&mut vfs, "a", 200, 4096).unwrap();
    vfs.rename("a", "b").unwrap();
    vfs.truncate_named("b");
    vfs.unlink("b").unwrap();
    vfs.sleep(10_000_000_000);
    vfs.unmount().unwrap();
    let geometry = bench.device.borrow().chip().part().geometry;
    let trace = bench.recorder.take(geometry);
    let paths = trace.events.iter().map(|event| trace.causes.path(event.cause));
    assert!(paths.filter(String::is_empty).count() == 0, "an event without a scope");
}

trait TruncateNamed {
    fn truncate_named(&mut self, name: &str);
}

impl TruncateNamed for Vfs {
    fn truncate_named(&mut self, name: &str) {
        let fd = self.open(name, false).unwrap();
        self.truncate(fd, 5000).unwrap();
        self.close(fd).unwrap();
    }
}
