//! Cuts where the journal moves on: at references to its LEBs, at commits that nobody asked for,
//! and at the erases behind them; and once more where the mount and the work after it do so.

use std::collections::{BTreeMap, BTreeSet};

use flysch_chip::{Ending, Event, EventKind, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::{Compressor, Options};
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::content::read_all;
use super::device::{Device, PAGE};
use crate::jffs2::state::remove_all;

const FILES: u64 = 3;
const ROUNDS: u64 = 60;

/// The bytes that a file gets, from its start on.
fn stream(file: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(ROUNDS / FILES * 9000).unwrap()];
    Prng::new(file).fill(&mut bytes);
    bytes
}

/// Let files grow, and others come and go. Almost nothing is synced. Each life begins where the
/// files end.
fn grow(vfs: &mut Vfs, rounds: u64) -> Result<(), FsError> {
    let streams: Vec<Vec<u8>> = (0..FILES).map(stream).collect();
    for round in 0..rounds {
        let file = round % FILES;
        let fd = vfs.open(&format!("file{file}"), true)?;
        let from = usize::try_from(vfs.size(fd)?).unwrap();
        let to = (from + 9000).min(streams[0].len());
        vfs.write(fd, from as u64, &streams[usize::try_from(file).unwrap()][from..to])?;
        if round % 20 == 19 {
            vfs.fsync(fd)?;
        }
        vfs.close(fd)?;
        for number in 0..6 {
            let fd = vfs.open(&format!("a small file of a long name {number}"), true)?;
            vfs.write(fd, 0, &[1; 300])?;
            vfs.close(fd)?;
        }
        vfs.unlink(&format!("a small file of a long name {}", round % 6))?;
        vfs.sleep(1_700_000_000);
    }
    Ok(())
}

/// The numbers of the programs and erases that were made for one of these causes.
fn operations(device: &Device, causes: &[&str]) -> Vec<u64> {
    let geometry = device.chip.borrow().device().chip().part().geometry;
    let trace = device.recorder.take(geometry);
    let is_change = |event: &Event| matches!(event.kind, EventKind::Program | EventKind::Erase);
    let is_one = |event: &Event| {
        let path = trace.causes.path(event.cause);
        is_change(event) && causes.iter().any(|cause| path.contains(cause))
    };
    let operations = trace.events.iter().filter(|event| event.kind.is_operation());
    (0..).zip(operations).filter(|(_, event)| is_one(event)).map(|(at, _)| at).collect()
}

fn device() -> Device {
    let options = Options { compressor: Compressor::Lzo, ..Options::default() };
    let device = Device::with_pages(64, 16, options);
    device.format().unwrap();
    device
}

/// Mount and let the files grow until the power goes.
fn live(device: &Device, cut_at: u64, ending: Ending) {
    let plan = FaultPlan {
        seed: cut_at,
        cut_at: Some(cut_at),
        ending: Some(ending),
        ..FaultPlan::default()
    };
    device.arm(plan);
    if let Ok(mut vfs) = device.mount() {
        let _cut = grow(&mut vfs, ROUNDS);
    }
    device.power_up();
}

/// Files hold a part of what they were given, the space of each LEB is as it is said to be, and all
/// of it comes back when the files go.
fn check(device: &Device, empty: u64, case: &str) {
    let fork = device.fork();
    let mut fs = fork.mount_fs().unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(fs.find_wrong_leb(), Ok(None), "{case}");
    drop(fs);
    let mut vfs = fork.mount().unwrap_or_else(|error| panic!("{case}: {error}"));
    for entry in vfs.list("/").unwrap() {
        let name = String::from_utf8(entry.name).unwrap();
        let found = read_all(&mut vfs, &name).unwrap_or_else(|_| panic!("{case}: {name}"));
        let Some(file) = name.strip_prefix("file") else {
            assert!(found.iter().all(|&byte| byte <= 1), "{case}: {name}");
            continue;
        };
        let wanted = stream(file.parse().unwrap());
        for (found, wanted) in found.chunks(4096).zip(wanted.chunks(4096)) {
            let is_as_written = |(found, wanted): (&u8, &u8)| found == wanted || *found == 0;
            assert!(found.iter().zip(wanted).all(is_as_written), "{case}: {name}");
        }
    }
    assert_eq!(empty_space(&mut vfs), empty, "{case}: free space once all is removed");
}

fn empty_space(vfs: &mut Vfs) -> u64 {
    remove_all(vfs).unwrap();
    vfs.sync().unwrap();
    vfs.sleep(60_000_000_000);
    vfs.sync().unwrap();
    vfs.filesystem().free_bytes().unwrap()
}

const CAUSES: [&str; 4] = ["ubifs_log", "ubifs_commit", "ubifs_write_master", "ubi_erase"];

#[test]
fn the_journal_moves_on_through_cuts() {
    let origin = device();
    let empty = empty_space(&mut origin.fork().mount().unwrap());
    let whole = origin.fork();
    whole.arm(FaultPlan::default());
    grow(&mut whole.mount().unwrap(), ROUNDS).unwrap();
    let places = operations(&whole, &CAUSES);
    assert!(places.len() > 60, "{} places", places.len());
    for (number, &place) in places.iter().enumerate() {
        let device = origin.fork();
        let ending = [Ending::Torn, Ending::Complete, Ending::Torn, Ending::NotBegun][number % 4];
        live(&device, place, ending);
        let case = format!("cut at {place} {ending:?}");
        check(&device, empty, &case);
        if number % 5 > 0 {
            continue;
        }
        let whole = device.fork();
        whole.arm(FaultPlan::default());
        let _full = grow(&mut whole.mount().unwrap(), 12);
        for again in operations(&whole, &CAUSES).into_iter().take(12) {
            let device = device.fork();
            live(
                &device,
                again,
                [Ending::Complete, Ending::Torn][usize::try_from(again % 2).unwrap()],
            );
            check(&device, empty, &format!("{case}, again at {again}"));
        }
    }
}

/// Change a small file and commit, again and again.
fn commit_often(vfs: &mut Vfs, rounds: u32) -> Result<(), FsError> {
    for round in 0..rounds {
        let fd = vfs.open(&format!("a small file of a long name {}", round % 30), true)?;
        vfs.write(fd, 0, &[1; 300])?;
        vfs.close(fd)?;
        vfs.sync()?;
    }
    Ok(())
}

/// The index moves through the LEBs: those that it leaves are used again, but not before the commit
/// that leaves them is on flash.
#[test]
fn the_index_moves_on_through_cuts() {
    let new = device();
    let empty = empty_space(&mut new.fork().mount().unwrap());
    commit_often(&mut new.mount().unwrap(), 12).unwrap();
    for age in 0..3 {
        let origin = new.fork();
        commit_often(&mut origin.mount().unwrap(), 9 * age).unwrap();
        let whole = origin.fork();
        whole.arm(FaultPlan::default());
        commit_often(&mut whole.mount().unwrap(), 25).unwrap();
        let places = operations(&whole, &["ubifs_commit"]);
        assert!(places.len() > 60, "{} places", places.len());
        for place in places {
            let device = origin.fork();
            let (cut_at, ending) = (Some(place), Some(Ending::NotBegun));
            device.arm(FaultPlan { cut_at, ending, ..FaultPlan::default() });
            let _cut = device.mount().map(|mut vfs| commit_often(&mut vfs, 25));
            device.power_up();
            check(&device, empty, &format!("{age}, cut at {place}"));
        }
    }
}

/// The type of a padding node.
const PADDING: u8 = 5;

/// The nodes on flash whose checksums are right, by sequence number, without padding.
fn nodes(device: &Device) -> BTreeMap<u64, BTreeSet<Vec<u8>>> {
    let mut chip = device.chip.borrow_mut();
    let pages = chip.geometry().page_count();
    let mut bytes = vec![0; pages as usize * PAGE];
    for (page, bytes) in (0..).zip(bytes.chunks_mut(PAGE)) {
        let _quality = chip.read(PageAddr(page), 0, bytes);
    }
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut found: BTreeMap<u64, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for at in (0..bytes.len() - 24).step_by(8).filter(|&at| word(at) == 0x0610_1831) {
        let node = bytes.get(at..at + word(at + 16) as usize).unwrap_or_default();
        let is_node = node.len() >= 24 && word(at + 4) == !crc32fast::hash(&node[8..]);
        let sequence = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        if is_node && bytes[at + 20] != PADDING {
            found.entry(sequence).or_default().insert(node.to_vec());
        }
    }
    found
}

/// A number belongs to one node, whether the file system was unmounted or the power went. Copies of
/// a node have its number.
#[test]
fn no_sequence_number_is_given_twice() {
    let device = device();
    for round in 0..12_u8 {
        let mut vfs = device.mount().unwrap();
        for number in 0..3 {
            let fd = vfs.open(&format!("file{number}"), true).unwrap();
            vfs.write(fd, 0, &vec![round; 3000]).unwrap();
            vfs.fsync(fd).unwrap();
            vfs.close(fd).unwrap();
        }
        if round % 4 == 3 {
            vfs.unmount().unwrap();
        }
        drop(vfs);
        let twice = nodes(&device).into_iter().find(|(_, nodes)| nodes.len() > 1);
        assert!(twice.is_none(), "round {round}: {twice:?}");
    }
}
