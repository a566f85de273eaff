//! Fastmaps: an attach reads fewer pages, and the files are the same.

use flysch_chip::{Ending, Event, EventKind, FaultPlan, Prng, Trace};
use flysch_linux::ubi::{AttachOptions, Ubi};
use flysch_linux::ubifs::{Compressor, Options};
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::content::read_all;
use super::device::Device;

fn device(blocks: u32, fastmap: bool) -> Device {
    let options = Options { compressor: Compressor::Lzo, fastmap, ..Options::default() };
    let device = Device::new(blocks, options);
    device.format().unwrap();
    device
}

/// Number of page reads and of page programs that have `cause` among their causes.
pub(super) fn counts(trace: &Trace, cause: &str) -> [u64; 2] {
    [EventKind::Read, EventKind::Program].map(|kind| {
        let of_kind = trace.events.iter().filter(|event| event.kind == kind);
        let path = |event: &&Event| trace.causes.path(event.cause).contains(cause);
        of_kind.filter(path).count() as u64
    })
}

/// A scan reads one page of each block, which holds both headers, and 22 pages of the volume table.
/// An attach by fastmap reads a page of 64 blocks and of those in the pools, 65 pages of the
/// fastmap, and the 22 pages. Writing a fastmap programs a LEB and its header. Linux 6.1 has the
/// same counts.
#[test]
fn attaching_reads_a_fifth_of_the_pages() {
    let cases = [
        (400, false, [422, 0], [0, 0]),
        (400, true, [181, 0], [0, 64]),
        (1024, false, [1046, 0], [0, 0]),
        (1024, true, [226, 0], [0, 64]),
    ];
    for (blocks, fastmap, attach, detach) in cases {
        let device = device(blocks, fastmap);
        let geometry = device.chip.borrow().device().chip().part().geometry;
        let mut vfs = device.mount().unwrap();
        let mut content = vec![0; 3_000_000];
        Prng::new(1).fill(&mut content);
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &content).unwrap();
        vfs.unmount().unwrap();
        drop(device.recorder.take(geometry));
        let mut vfs = device.mount().unwrap();
        let mounted = device.recorder.take(geometry);
        vfs.unmount().unwrap();
        let unmounted = device.recorder.take(geometry);
        let case = format!("{blocks} blocks, fastmap {fastmap}");
        println!("{case}: mount {:?}, unmount {:?}", counts(&mounted, ""), counts(&unmounted, ""));
        assert_eq!(counts(&mounted, "ubi_attach"), attach, "{case}");
        assert_eq!(counts(&unmounted, "ubi_fastmap"), detach, "{case}");
        assert!(read_all(&mut device.mount().unwrap(), "file").unwrap() == content, "{case}");
    }
}

/// The block with the newest anchor.
fn anchor(device: &Device) -> u32 {
    let mut chip = device.chip.borrow_mut();
    let mut newest = None;
    for block in 0..64 {
        let mut header = [0; 64];
        let _raw = chip.read(PageAddr(block * 64), 512, &mut header);
        if header[..4] == *b"UBI!" && header[8..12] == [0x7F, 0xFF, 0xF0, 0] {
            newest = newest.max(Some((header[40..48].to_vec(), block)));
        }
    }
    newest.expect("a fastmap was written").1
}

/// Whether no LEB is in a block.
fn is_free(device: &Device, block: u32) -> bool {
    let mut header = [0; 4];
    let _raw = device.chip.borrow_mut().read(PageAddr(block * 64), 512, &mut header);
    header == [0xFF; 4]
}

fn files(vfs: &mut Vfs) -> Vec<Vec<u8>> {
    (0..5).map(|number| read_all(vfs, &format!("file{number}")).unwrap()).collect()
}

/// Write files of random bytes, and make each durable.
fn fill(vfs: &mut Vfs, seed: u64) {
    let mut prng = Prng::new(seed);
    for number in 0..5 {
        let mut content = vec![0; 20_000 * (number + 1)];
        prng.fill(&mut content);
        let fd = vfs.open(&format!("file{number}"), true).unwrap();
        vfs.write(fd, 0, &content).unwrap();
        vfs.fsync(fd).unwrap();
        vfs.close(fd).unwrap();
    }
}

/// One flipped bit anywhere in the parts that are read makes the fastmap invalid, and all PEBs are
/// scanned.
#[test]
fn a_damaged_fastmap_is_not_believed() {
    let origin = device(80, true);
    let mut vfs = origin.mount().unwrap();
    fill(&mut vfs, 1);
    let wanted = files(&mut vfs);
    vfs.unmount().unwrap();
    drop(vfs);
    let anchor = anchor(&origin);
    // Headers, then the fields, pools, lists and tables of the fastmap, then the zeros behind.
    let headers = (512..532).chain(552..560);
    let map = (0..20).chain([144, 312, 316, 331, 344, 349, 400, 1392, 1400]).chain(2440..2460);
    let map = map.chain([3000, 3100, 3200, 3300, 3400, 4000, 100_000, 129_023]).map(|at| 2048 + at);
    for at in headers.chain(map) {
        let device = origin.fork();
        device.rewrite(anchor, |content| content[at] ^= 1 << (at % 8));
        let fs = device.mount_fs().unwrap();
        assert!(!fs.ubi().is_attached_by_fastmap(), "byte {at}");
        drop(fs);
        assert!(files(&mut device.mount().unwrap()) == wanted, "byte {at}");
    }
    assert!(origin.mount_fs().unwrap().ubi().is_attached_by_fastmap());
}

/// Data written after the last fastmap is in PEBs of its pools, which are scanned.
#[test]
fn what_came_after_the_fastmap_is_found() {
    let device = device(120, true);
    let mut vfs = device.mount().unwrap();
    fill(&mut vfs, 1);
    vfs.unmount().unwrap();
    for seed in 2..8 {
        let mut vfs = device.mount().unwrap();
        fill(&mut vfs, seed);
        let wanted = files(&mut vfs);
        drop(vfs);
        let fs = device.mount_fs().unwrap();
        assert!(fs.ubi().is_attached_by_fastmap(), "seed {seed}");
        drop(fs);
        assert!(files(&mut device.mount().unwrap()) == wanted, "seed {seed}");
    }
}

/// A device that has a fastmap goes on writing them, with or without the option. A device of 64
/// blocks or fewer never has one.
#[test]
fn a_fastmap_is_kept_up_where_there_is_one() {
    for (blocks, makes, mounts, wanted) in
        [(80, true, false, true), (80, false, false, false), (64, true, true, false)]
    {
        let mut device = device(blocks, makes);
        for fastmap in [makes, mounts, mounts] {
            device.options.fastmap = fastmap;
            let mut vfs = device.mount().unwrap();
            fill(&mut vfs, 1);
            vfs.unmount().unwrap();
        }
        let found = device.mount_fs().unwrap().ubi().is_attached_by_fastmap();
        assert_eq!(found, wanted, "{blocks} blocks, {makes}");
    }
}

/// A LEB that was unmapped after the fastmap has no block any more, although the fastmap names one.
/// What is written to it then is found without a fastmap, too.
#[test]
fn a_mapping_that_is_gone_is_not_used() {
    let device = device(90, true);
    for round in 0..8_u64 {
        let mut vfs = device.mount().unwrap();
        fill(&mut vfs, round);
        vfs.unmount().unwrap();
        let mut vfs = device.mount().unwrap();
        for number in 0..5 {
            vfs.unlink(&format!("file{number}")).unwrap();
        }
        vfs.sync().unwrap();
        vfs.sleep(2_000_000_000);
        drop(vfs);
        let mut vfs = device.mount().unwrap();
        fill(&mut vfs, round + 100);
        let wanted = files(&mut vfs);
        drop(vfs);
        let scanned = device.fork();
        scanned.rewrite(anchor(&scanned), |content| content[2048] ^= 1);
        assert!(files(&mut scanned.mount().unwrap()) == wanted, "round {round}");
        assert!(files(&mut device.mount().unwrap()) == wanted, "round {round}");
    }
}

/// The same of UBI by itself: what is written to such a LEB is found by a scan.
#[test]
fn a_leb_that_was_unmapped_is_mapped_anew() {
    let device = device(80, true);
    let options = AttachOptions { volume: 0, wear_threshold: 4096, fastmap: true };
    let attach = || Ubi::attach(device.partition().unwrap(), &device.recorder, options).unwrap();
    let mut ubi = attach();
    for lnum in 0..12 {
        ubi.write(lnum, 0, &[1; 2048]).unwrap();
    }
    ubi.detach().unwrap();
    let mut ubi = attach();
    assert!(ubi.is_attached_by_fastmap());
    for lnum in 3..6 {
        ubi.unmap(lnum);
    }
    while ubi.has_work() {
        ubi.work().unwrap();
    }
    drop(ubi);
    let mut ubi = attach();
    assert!(ubi.is_attached_by_fastmap());
    let mut bytes = [0; 2048];
    ubi.read(3, 0, &mut bytes).unwrap();
    assert_eq!((bytes, ubi.is_mapped(3)), ([0xFF; 2048], false));
    for lnum in 3..6 {
        ubi.write(lnum, 0, &[2; 2048]).unwrap();
    }
    drop(ubi);
    device.rewrite(anchor(&device), |content| content[2048] ^= 1);
    let mut ubi = attach();
    assert!(!ubi.is_attached_by_fastmap());
    for lnum in 0..12 {
        ubi.read(lnum, 0, &mut bytes).unwrap();
        assert_eq!(bytes, [if (3..6).contains(&lnum) { 2 } else { 1 }; 2048], "LEB {lnum}");
    }
}

/// Two fastmaps are on flash, and the newer is damaged: whenever the power goes while they are
/// erased, the older is never taken for the newest.
#[test]
fn an_older_fastmap_is_never_the_newest() {
    let origin = device(80, true);
    let mut vfs = origin.mount().unwrap();
    fill(&mut vfs, 1);
    vfs.unmount().unwrap();
    let older = anchor(&origin);
    let mut saved = Vec::new();
    origin.rewrite(older, |content| saved = content.to_vec());
    // So much is written that what the older one says of most blocks is wrong.
    let mut wanted = Vec::new();
    for seed in 2..40 {
        let mut vfs = origin.mount().unwrap();
        fill(&mut vfs, seed);
        wanted = files(&mut vfs);
        vfs.sleep(1_000_000_000);
        vfs.unmount().unwrap();
        if seed > 8 && is_free(&origin, older) {
            break;
        }
    }
    assert!(is_free(&origin, older));
    let newer = anchor(&origin);
    origin.rewrite(older, |content| content.copy_from_slice(&saved));
    origin.rewrite(newer, |content| content[2048] ^= 1);
    origin.arm(FaultPlan::default());
    drop(origin.fork().mount_fs().unwrap());
    let mut cuts = 0;
    for cut_at_change in 0..12 {
        let device = origin.fork();
        let ending = Some(Ending::Complete);
        device.arm(FaultPlan {
            cut_at_change: Some(cut_at_change),
            ending,
            ..FaultPlan::default()
        });
        drop(device.mount_fs());
        cuts += u32::from(!device.is_on());
        device.power_up();
        assert!(files(&mut device.mount().unwrap()) == wanted, "cut at change {cut_at_change}");
    }
    assert!(cuts > 2, "{cuts}");
}
