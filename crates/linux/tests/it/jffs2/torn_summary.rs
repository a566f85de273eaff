//! Power cuts within the summary of a block. It spans several pages if the block has many nodes, so
//! its first page may be on flash without the others. What is written then, and synced, must be
//! there after the next mount.

use flysch_chip::{Ending, FaultPlan};
use flysch_linux::filesystem::FsError;
use flysch_linux::jffs2::Options;
use flysch_linux::vfs::Vfs;

use super::{Bench, small_part};

/// Writes that fill a block with more nodes than a summary of one page lists.
const WRITES: u64 = 700;
const WRITE_LEN: usize = 100;

/// Write until the power goes.
fn fill(vfs: &mut Vfs) -> Result<(), FsError> {
    let fd = vfs.open("/filled", true)?;
    for number in 0..WRITES {
        let bytes = vec![u8::try_from(number % 251).expect("below 251"); WRITE_LEN];
        vfs.write(fd, number * WRITE_LEN as u64, &bytes)?;
    }
    vfs.fsync(fd)
}

/// Write a file and sync it.
fn write_synced(vfs: &mut Vfs, bytes: &[u8]) -> Result<(), FsError> {
    let fd = vfs.open("/synced", true)?;
    vfs.write(fd, 0, bytes)?;
    vfs.fsync(fd)?;
    vfs.close(fd)
}

fn bench() -> Bench {
    let mut bench = Bench::new(small_part(64, 12));
    bench.options = Options { summaries: true, compressors: Vec::new(), ..bench.options };
    bench.format().unwrap();
    bench
}

/// The operations since the mount that program summaries.
fn summary_programs(bench: &Bench) -> Vec<u64> {
    let geometry = bench.device.borrow().chip().part().geometry;
    let trace = bench.recorder.take(geometry);
    let operations = trace.events.iter().filter(|event| event.kind.is_operation());
    let is_summary = |cause| trace.causes.path(cause).contains("write_summary");
    let places = (0..).zip(operations).filter(|(_, event)| is_summary(event.cause));
    places.map(|(place, _)| place).collect()
}

#[test]
fn what_is_synced_after_a_torn_summary_stays() {
    let first = bench();
    let whole = first.fork();
    fill(&mut whole.mount().unwrap()).unwrap();
    let places = summary_programs(&whole);
    assert!(places.len() > 1, "a summary of several pages: {places:?}");
    for place in places {
        for ending in Ending::ALL {
            let bench = first.fork();
            let (cut_at, how) = (Some(place), Some(ending));
            bench.arm(FaultPlan { cut_at, ending: how, ..FaultPlan::default() });
            assert_eq!(fill(&mut bench.mount().unwrap()), Err(FsError::PowerLost));
            bench.device.borrow_mut().power_up();
            bench.arm(FaultPlan::default());
            let bytes = vec![7; 1000];
            write_synced(&mut bench.mount().unwrap(), &bytes).unwrap();
            // The power goes again: nothing but the chip is left.
            let mut vfs = bench.fork().mount().unwrap();
            let mut found = vec![0; bytes.len()];
            let fd = vfs.open("/synced", false).expect("a synced file has its name");
            let len = vfs.read(fd, 0, &mut found).unwrap();
            assert_eq!((len, &found), (bytes.len(), &bytes), "cut at {place}, {ending:?}");
        }
    }
}
