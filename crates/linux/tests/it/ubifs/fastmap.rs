//! Fastmaps: fewer pages are read at an attach, the same files come back.

use flysch_chip::{EventKind, Prng};
use flysch_linux::ubifs::{Compressor, Options};

use super::content::read_all;
use super::device::Device;

fn device(blocks: u32, fastmap: bool) -> Device {
    let options = Options { compressor: Compressor::Lzo, fastmap, ..Options::default() };
    let device = Device::new(blocks, options);
    device.format().unwrap();
    device
}

/// Flash operations of mounts and unmounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    attach_reads: u64,
    attach_programs: u64,
    reads: u64,
    programs: u64,
}

/// What a mount costs, with its attach alone.
fn mount_cost(device: &Device) -> (Cost, bool) {
    let geometry = device.chip.borrow().device().chip().part().geometry;
    drop(device.recorder.take(geometry));
    let fs = device.mount_fs().unwrap();
    let trace = device.recorder.take(geometry);
    let attach = |kind| {
        let of_kind = trace.events.iter().filter(|event| event.kind == kind);
        of_kind.filter(|event| trace.causes.path(event.cause).contains("ubi_attach")).count() as u64
    };
    let cost = Cost {
        attach_reads: attach(EventKind::Read),
        attach_programs: attach(EventKind::Program),
        reads: trace.count(EventKind::Read),
        programs: trace.count(EventKind::Program),
    };
    (cost, fs.ubi().is_attached_by_fastmap())
}

#[test]
fn attaching_reads_a_fifth_of_the_pages() {
    for fastmap in [false, true] {
        let device = device(1024, fastmap);
        let mut vfs = device.mount().unwrap();
        let mut content = vec![0; 3_000_000];
        Prng::new(1).fill(&mut content);
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &content).unwrap();
        vfs.unmount().unwrap();
        let (cost, found) = mount_cost(&device);
        println!("{fastmap}: {cost:?} {found}");
        let mut vfs = device.mount().unwrap();
        assert!(read_all(&mut vfs, "file").unwrap() == content);
    }
}
