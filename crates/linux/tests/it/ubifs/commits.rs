//! Commits that nobody asked for, and garbage that is collected on a device that is nearly full:
//! what they rest on is on flash before they are.

use std::collections::BTreeMap;

use flysch_chip::{Ending, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::Options;
use flysch_linux::vfs::Vfs;

use super::content::read_all;
use super::device::Device;

/// Make files and never sync one. The journal is full from time to time.
fn make_files(vfs: &mut Vfs, count: u32) -> Result<(), FsError> {
    for number in 0..count {
        let fd = vfs.open(&format!("a file of a rather long name {number}"), true)?;
        vfs.close(fd)?;
        if number % 3 == 2 {
            vfs.unlink(&format!("a file of a rather long name {}", number - 1))?;
        }
    }
    Ok(())
}

#[test]
fn a_commit_names_nothing_that_is_not_on_flash() {
    let origin = Device::new(32, Options::default());
    origin.format().unwrap();
    drop(origin.mount().unwrap());
    origin.arm(FaultPlan::default());
    let whole = origin.fork();
    make_files(&mut whole.mount().unwrap(), 2500).unwrap();
    let geometry = whole.chip.borrow().device().chip().part().geometry;
    let [_, commits] = super::fastmap::counts(&whole.recorder.take(geometry), "ubifs_commit");
    assert!(commits > 5, "{commits} programs of commits");
    for cut in 0..60 {
        let device = origin.fork();
        let ending = Some(Ending::Complete);
        let cut_at_change = Some(cut * 6);
        device.arm(FaultPlan { cut_at_change, ending, ..FaultPlan::default() });
        let mounted = device.mount();
        let _cut = mounted.map(|mut vfs| make_files(&mut vfs, 2500));
        device.power_up();
        let mut vfs = device.mount().unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        for entry in vfs.list("/").unwrap() {
            let name = String::from_utf8(entry.name).unwrap();
            let found = read_all(&mut vfs, &name);
            assert_eq!(found, Ok(Vec::new()), "cut {cut}");
        }
    }
}

/// What was synced is there after a cut, while collections make room all the time.
///
/// This test found a cut after which UBIFS could not be mounted: a LEB that the log named was
/// collected, and joined the journal again from its start.
#[test]
fn collections_lose_nothing_that_was_synced() {
    let origin = Device::new(32, Options::default());
    origin.format().unwrap();
    let mut vfs = origin.mount().unwrap();
    let mut prng = Prng::new(1);
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // Files are written in turns, so that each LEB holds pieces of many.
    for number in 0..14 {
        files.insert(format!("file{number}"), vec![0; 80_000]);
    }
    for content in files.values_mut() {
        prng.fill(content);
    }
    for at in (0..80_000).step_by(4000) {
        for (name, content) in &files {
            let fd = vfs.open(name, true).unwrap();
            vfs.write(fd, at as u64, &content[at..at + 4000]).unwrap();
            vfs.close(fd).unwrap();
        }
        vfs.sync().unwrap();
    }
    vfs.unmount().unwrap();
    assert_eq!(origin.fork().mount_fs().unwrap().find_wrong_leb(), Ok(None));
    let mut collected = 0;
    for cut in 0..80_u64 {
        let device = origin.fork();
        let mut files = files.clone();
        let mut prng = Prng::new(cut);
        let cut_at_change = Some(20 + cut * 9);
        device.arm(FaultPlan { seed: cut, cut_at_change, ..FaultPlan::default() });
        let mut last = None;
        let Ok(mut vfs) = device.mount() else { continue };
        let outcome = (0..400).try_for_each(|_| {
            let name = format!("file{}", prng.below(14));
            let mut piece = vec![0; 4096];
            prng.fill(&mut piece);
            let at = 4096 * usize::try_from(prng.below(19)).unwrap();
            let fd = vfs.open(&name, false)?;
            last = Some((name.clone(), at, piece.clone()));
            vfs.write(fd, at as u64, &piece)?;
            vfs.fsync(fd)?;
            vfs.close(fd)?;
            files.get_mut(&name).unwrap()[at..at + 4096].copy_from_slice(&piece);
            Ok::<_, FsError>(())
        });
        assert!(outcome.is_ok() || !device.is_on(), "cut {cut}: {outcome:?}");
        drop(vfs);
        let geometry = device.chip.borrow().device().chip().part().geometry;
        let [_, programs] = super::fastmap::counts(&device.recorder.take(geometry), "ubifs_gc");
        collected += u32::from(programs > 0);
        device.power_up();
        let mut vfs = device.mount().unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        for (name, content) in &files {
            let mut found =
                read_all(&mut vfs, name).unwrap_or_else(|_| panic!("cut {cut}: {name}"));
            if let Some((last, at, piece)) = &last
                && last == name
                && found[*at..at + 4096] == piece[..]
            {
                found[*at..at + 4096].copy_from_slice(&content[*at..at + 4096]);
            }
            assert!(found == *content, "cut {cut}: {name}");
        }
    }
    assert!(collected > 20, "{collected} runs collected garbage");
}

/// Files whose index takes more than a LEB.
const FILES: u32 = 520;

/// Commits that write the whole index anew: the LEBs of the old one are left alone until the new
/// one is on flash, and what is written to others stays.
#[test]
fn an_index_that_is_written_anew_is_there_before_the_old_one_goes() {
    let origin = Device::with_pages(64, 16, Options::default());
    origin.format().unwrap();
    let name = |number: u32| format!("a file of a name that is rather long, {number}");
    let change_all = |vfs: &mut Vfs, byte: u8| {
        for number in 0..FILES {
            let fd = vfs.open(&name(number), true)?;
            vfs.write(fd, 0, &[byte; 30])?;
            vfs.close(fd)?;
        }
        vfs.sync()
    };
    let check = |device: &Device, known: &[u8], case: &str| {
        let mut fs = device.mount_fs().unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(fs.find_wrong_leb(), Ok(None), "{case}");
        drop(fs);
        let mut vfs = device.mount().unwrap();
        for number in 0..FILES {
            let found = read_all(&mut vfs, &name(number)).unwrap();
            let is_known = |byte: &u8| found == vec![*byte; 30];
            assert!(known.iter().any(is_known), "{case}: file {number}: {found:?}");
        }
    };
    let mut vfs = origin.mount().unwrap();
    for round in 0..6 {
        change_all(&mut vfs, round).unwrap();
        check(&origin.fork(), &[round], "uncut");
    }
    vfs.unmount().unwrap();
    let whole = origin.fork();
    whole.arm(FaultPlan::default());
    change_all(&mut whole.mount().unwrap(), 6).unwrap();
    let count = whole.operations();
    for cut in (0..12).map(|place| count - 1 - 3 * place) {
        let device = origin.fork();
        let (cut_at, ending) = (Some(cut), Some(Ending::Complete));
        device.arm(FaultPlan { cut_at, ending, ..FaultPlan::default() });
        let _cut = device.mount().map(|mut vfs| change_all(&mut vfs, 6));
        device.power_up();
        check(&device, &[5, 6], &format!("cut at {cut}"));
    }
}
