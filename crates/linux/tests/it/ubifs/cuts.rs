//! Power cuts at every operation, and cuts during the recovery from them.

use flysch_chip::{Ending, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::{Compressor, Options};
use flysch_linux::vfs::Vfs;

use super::content::read_all;
use super::device::Device;
use super::fastmap::counts;

/// Number of rounds of the workload.
const ROUNDS: u8 = 5;

fn content(round: u8) -> Vec<u8> {
    let mut bytes = vec![round; 9000 + usize::from(round) * 700];
    Prng::new(u64::from(round)).fill(&mut bytes[..3000]);
    bytes
}

/// Write files and make each durable before the next. `done` is the number of rounds that are
/// complete.
fn work(vfs: &mut Vfs, done: &mut u8) -> Result<(), FsError> {
    for round in 0..ROUNDS {
        let temporary = vfs.open("temporary", true)?;
        vfs.write(temporary, 0, &content(round))?;
        vfs.fsync(temporary)?;
        vfs.close(temporary)?;
        vfs.rename("temporary", "file")?;
        vfs.sync_directory("/")?;
        *done = round + 1;
        let fd = vfs.open("journal", true)?;
        vfs.write(fd, 0, &[round; 6000])?;
        vfs.fsync(fd)?;
        vfs.close(fd)?;
        vfs.unlink("journal")?;
        if round % 2 == 1 {
            vfs.sync()?;
        }
    }
    Ok(())
}

/// Check that what was durable is there: the file of the last complete round, or of the one under
/// way.
fn check(vfs: &mut Vfs, done: u8, case: &str) {
    if done == 0 && vfs.exists("file") == Ok(false) {
        return;
    }
    let found = read_all(vfs, "file").unwrap_or_else(|error| panic!("{case}: {error}"));
    let round = found.last().copied().unwrap();
    assert!(round + 1 == done || round == done, "{case}: round {round} after {done}");
    assert!(found == content(round), "{case}: content of round {round}");
}

/// A device. With fastmaps it has more than 64 blocks, which fastmaps need.
fn device(fastmap: bool) -> Device {
    let options = Options { compressor: Compressor::Lzo, fastmap, ..Options::default() };
    let device = Device::new(if fastmap { 68 } else { 32 }, options);
    device.format().unwrap();
    device
}

fn operations_of_work(fastmap: bool) -> u64 {
    let device = device(fastmap);
    device.arm(FaultPlan::default());
    let mut vfs = device.mount().unwrap();
    work(&mut vfs, &mut 0).unwrap();
    vfs.unmount().unwrap();
    device.operations()
}

#[test]
fn nothing_durable_is_lost_at_any_cut() {
    cut_everywhere(false);
}

#[test]
fn nothing_durable_is_lost_at_any_cut_with_fastmaps() {
    let device = device(true);
    let geometry = device.chip.borrow().device().chip().part().geometry;
    let mut vfs = device.mount().unwrap();
    work(&mut vfs, &mut 0).unwrap();
    vfs.unmount().unwrap();
    let [_, programs] = counts(&device.recorder.take(geometry), "ubi_fastmap");
    assert!(programs >= 3 * 64, "fastmaps are written before, between and after: {programs}");
    cut_everywhere(true);
}

fn cut_everywhere(fastmap: bool) {
    let count = operations_of_work(fastmap);
    for cut in 0..count {
        let ending = Ending::ALL[usize::try_from(cut % 4).unwrap()];
        cut_once(fastmap, cut, ending, None);
    }
    for cut in (0..count).step_by(7) {
        for ending in Ending::ALL {
            cut_once(fastmap, cut, ending, Some(cut * 31 % 90));
        }
    }
}

/// Cut power at operation `cut` of the work, and once more during the next mount if `again` says
/// so.
fn cut_once(fastmap: bool, cut: u64, ending: Ending, again: Option<u64>) {
    let case = format!("fastmap {fastmap}, cut {cut} {ending:?} again {again:?}");
    let device = device(fastmap);
    let plan =
        |cut_at| FaultPlan { seed: cut, cut_at, ending: Some(ending), ..FaultPlan::default() };
    device.arm(plan(Some(cut)));
    let mut done = 0;
    if let Ok(mut vfs) = device.mount() {
        let outcome = work(&mut vfs, &mut done).and_then(|()| vfs.unmount());
        assert!(outcome.is_err() || !device.is_on() || cut > 0, "{case}");
    }
    device.power_up();
    if again.is_some() {
        device.arm(plan(again));
        drop(device.mount());
        device.power_up();
    }
    let counted = device.fork().mount_fs().map(|mut fs| fs.find_wrong_leb());
    assert_eq!(counted.unwrap(), Ok(None), "{case}: the space of this LEB is wrong");
    let mut vfs = device.mount().unwrap_or_else(|error| panic!("{case}: {error}"));
    check(&mut vfs, done, &case);
    let mut more = 0;
    work(&mut vfs, &mut more).unwrap_or_else(|error| panic!("{case}: {error}"));
    vfs.unmount().unwrap();
    let mut vfs = device.mount().unwrap();
    check(&mut vfs, ROUNDS, &case);
}
