//! Devices that are full or nearly so: how much fits, and what their commits cost.

use std::collections::BTreeMap;

use flysch_chip::{Event, EventKind, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::ubifs::Options;
use flysch_linux::vfs::Vfs;

use super::content::read_all;
use super::device::Device;

const PAGE: usize = 4096;

/// A device whose volume has this many LEBs.
fn device_of(lebs: u32) -> Device {
    let of = |blocks| {
        let device = Device::new(blocks, Options::default());
        device.format().unwrap();
        device
    };
    let has = |device: &Device| device.mount_fs().is_ok_and(|fs| fs.ubi().leb_count() == lebs);
    (lebs..2 * lebs + 20).map(of).find(|device| has(&device.fork())).expect("a device of this size")
}

/// A file of random bytes grows until the device is full. On Linux 6.1, `dd` with blocks of 4096
/// bytes wrote as much to volumes of as many LEBs, and once more when that file was gone.
#[test]
fn a_file_grows_as_far_as_on_the_kernel() {
    for (lebs, bytes) in [
        (20, 462_848),
        (26, 1_097_728),
        (30, 1_605_632),
        (33, 1_986_560),
        (40, 2_875_392),
        (57, 5_029_888),
    ] {
        let device = device_of(lebs);
        let mut vfs = device.mount().unwrap();
        let mut prng = Prng::new(1);
        for name in ["first", "second"] {
            let mut grow = |vfs: &mut Vfs| {
                let fd = vfs.open(name, true)?;
                let mut page = [0; PAGE];
                let mut refused = |number| {
                    prng.fill(&mut page);
                    vfs.write(fd, number * PAGE as u64, &page).err()
                };
                assert_eq!((0..).find_map(&mut refused), Some(FsError::NoSpace));
                let size = vfs.size(fd)?;
                vfs.close(fd)?;
                vfs.sync()?;
                Ok::<_, FsError>(size)
            };
            assert_eq!(grow(&mut vfs), Ok(bytes), "{lebs} LEBs, the {name} file");
            vfs.unlink(name).unwrap();
            vfs.sync().unwrap();
        }
    }
}

/// Names of the files on a nearly full device, and their content.
type Files = BTreeMap<String, Vec<u8>>;
/// The page of a file that was being written when the power went.
type Last = Option<(String, usize, [u8; PAGE])>;

/// Fill a device with files whose pages are written in turns, until it is full. One file then goes.
fn fill(vfs: &mut Vfs) -> Files {
    let mut files = Files::new();
    let mut prng = Prng::new(3);
    let mut page = [0; PAGE];
    for number in (0..40).cycle() {
        let name = format!("file{number}");
        prng.fill(&mut page);
        let content = files.entry(name.clone()).or_default();
        let fd = vfs.open(&name, true).unwrap();
        let outcome = vfs.write(fd, content.len() as u64, &page).and_then(|()| vfs.fsync(fd));
        vfs.close(fd).unwrap();
        if outcome.is_err() {
            break;
        }
        content.extend(page);
    }
    vfs.unlink("file39").unwrap();
    files.remove("file39");
    vfs.sync().unwrap();
    files
}

/// Write pages of a few files anew, so that most of the index stays where it is. Fails if the power
/// goes, and then `last` is what may be there or not.
fn overwrite(vfs: &mut Vfs, files: &mut Files, last: &mut Last) -> Result<(), FsError> {
    let names: Vec<String> = files.keys().take(7).cloned().collect();
    let mut prng = Prng::new(7);
    for _ in 0..800 {
        let name = &names[usize::try_from(prng.below(names.len() as u64)).unwrap()];
        let pages = files[name].len() / PAGE;
        let at = PAGE * usize::try_from(prng.below(pages as u64)).unwrap();
        let mut piece = [0; PAGE];
        prng.fill(&mut piece);
        let fd = vfs.open(name, false)?;
        *last = Some((name.clone(), at, piece));
        vfs.write(fd, at as u64, &piece)?;
        vfs.fsync(fd)?;
        vfs.close(fd)?;
        files.get_mut(name).unwrap()[at..at + PAGE].copy_from_slice(&piece);
    }
    Ok(())
}

fn check(vfs: &mut Vfs, files: &Files, last: &Last, case: &str) {
    for (name, content) in files {
        let mut found = read_all(vfs, name).unwrap_or_else(|_| panic!("{case}: {name}"));
        if let Some((_, at, piece)) = last.as_ref().filter(|(last, ..)| last == name)
            && found[*at..*at + PAGE] == piece[..]
        {
            found[*at..*at + PAGE].copy_from_slice(&content[*at..*at + PAGE]);
        }
        assert!(found == *content, "{case}: {name}");
    }
}

/// The index of a nearly full device finds no empty LEB, and goes to gaps in its own LEBs. What was
/// synced is there after a cut at any page that is written to them, and the accounts are right.
#[test]
fn an_index_in_gaps_survives_cuts() {
    let origin = Device::with_pages(58, 16, Options::default());
    origin.format().unwrap();
    let mut vfs = origin.mount().unwrap();
    let files = fill(&mut vfs);
    vfs.unmount().unwrap();
    let run = |plan| {
        let device = origin.fork();
        device.arm(plan);
        let (mut files, mut last) = (files.clone(), None);
        let outcome = device.mount().map(|mut vfs| overwrite(&mut vfs, &mut files, &mut last));
        (device, files, last, outcome)
    };
    let (whole, _, _, outcome) = run(FaultPlan::default());
    assert_eq!(outcome, Ok(Ok(())));
    let geometry = whole.chip.borrow().device().chip().part().geometry;
    let trace = whole.recorder.take(geometry);
    let changes = [EventKind::Program, EventKind::ProgramOob, EventKind::Erase];
    let changes = trace.events.iter().filter(|event| changes.contains(&event.kind));
    let in_gaps = |event: &Event| trace.causes.path(event.cause).contains("ubifs_fill_gaps");
    let gaps: Vec<u64> =
        (0..).zip(changes).filter(|(_, it)| in_gaps(it)).map(|(at, _)| at).collect();
    assert!(gaps.len() > 60, "{} pages were written to gaps", gaps.len());
    let ends = gaps.iter().flat_map(|&at| [at, at + 14, at + 20]).step_by(5);
    for (number, cut) in (0..).zip(ends) {
        let plan = FaultPlan { seed: number, cut_at_change: Some(cut), ..FaultPlan::default() };
        let (device, files, last, _cut) = run(plan);
        assert!(!device.is_on(), "cut {cut}");
        device.power_up();
        let wrong = device.fork().mount_fs().map(|mut fs| fs.find_wrong_leb());
        assert_eq!(wrong, Ok(Ok(None)), "cut {cut}");
        check(&mut device.mount().unwrap(), &files, &last, &format!("cut {cut}"));
    }
}
