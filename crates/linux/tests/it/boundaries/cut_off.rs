//! Bytes that a truncation cut off never come back, and bytes that a cut write left behind the end
//! of a file never come to light.

use flysch_chip::{Changes, Ending, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;

use super::{STACKS, churn, machine, write};
use crate::jffs2::state::read_named;
use crate::machine::{Kind, Machine};

/// Where the file was cut, and where it ends after it grew again.
const CUT: u64 = 5000;
const GROWN: u64 = 9000;

/// What follows once the file has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Nothing,
    Owner,
    Write,
}

/// Let the file grow by a hole, and change it again, so that both may be on one page.
fn grow(vfs: &mut Vfs, then: Then) -> Result<(), FsError> {
    let fd = vfs.open("file", false)?;
    vfs.truncate(fd, GROWN)?;
    match then {
        Then::Nothing => {}
        Then::Owner => vfs.set_owner(fd)?,
        Then::Write => vfs.write(fd, GROWN - 300, &[0; 300])?,
    }
    vfs.fsync(fd)?;
    vfs.close(fd)
}

/// The file, of which all that follows the cut is zero.
fn check(machine: &Machine, case: &str) -> Vfs {
    let mut vfs = machine.mount().unwrap_or_else(|error| panic!("{case}: {error}"));
    let found = read_named(&mut vfs, "file").unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!((CUT..=GROWN).contains(&(found.len() as u64)), "{case}: {} bytes", found.len());
    let mut wanted = vec![0; 12_000];
    Prng::new(8).fill(&mut wanted);
    let (kept, beyond) = found.split_at(usize::try_from(CUT).unwrap());
    assert!(kept == &wanted[..kept.len()], "{case}");
    assert!(beyond.iter().all(|&byte| byte == 0), "{case}: it is back");
    vfs
}

#[test]
fn what_was_cut_off_never_comes_back() {
    for (kind, then) in STACKS
        .into_iter()
        .flat_map(|kind| [Then::Nothing, Then::Owner, Then::Write].map(|it| (kind, it)))
    {
        let origin = machine(kind);
        let mut vfs = origin.mount().unwrap();
        write(&mut vfs, "cold", 100_000, 5).unwrap();
        write(&mut vfs, "file", 12_000, 8).unwrap();
        let fd = vfs.open("file", false).unwrap();
        vfs.truncate(fd, CUT).unwrap();
        vfs.fsync(fd).unwrap();
        vfs.unmount().unwrap();
        let whole = origin.fork();
        let changes = Changes::default();
        whole.device.borrow_mut().keep_changes(changes.clone());
        grow(&mut whole.mount().unwrap(), then).unwrap();
        let seeds = if kind == Kind::Jffs2 { 10 } else { 2 };
        let cuts = (0..changes.count() as u64).flat_map(|cut| (0..seeds).map(move |it| (cut, it)));
        for (cut, seed) in cuts {
            let case = format!("{kind:?}, {then:?}, cut {cut}, seed {seed}");
            let machine = origin.fork();
            let (cut_at_change, ending) = (Some(cut), Some(Ending::Torn));
            let plan = FaultPlan { seed, cut_at_change, ending, ..FaultPlan::default() };
            machine.device.borrow_mut().arm(plan);
            let _cut = machine.mount().map(|mut vfs| grow(&mut vfs, then));
            machine.device.borrow_mut().power_up();
            machine.device.borrow_mut().arm(FaultPlan::default());
            let mut vfs = check(&machine, &case);
            // Newer nodes of the file, and collections, leave little of how it came to be.
            let fd = vfs.open("file", false).unwrap();
            vfs.set_owner(fd).unwrap();
            vfs.fsync(fd).unwrap();
            vfs.close(fd).unwrap();
            churn(&mut vfs, 40);
            vfs.unmount().unwrap();
            drop(check(&machine, &case));
        }
    }
}

/// How a file comes to end behind a gap.
#[derive(Clone, Copy, Debug)]
enum Beyond {
    Write,
    Truncate,
}

/// A file of 1000 bytes, and 3000 more that may reach flash without its new size.
fn extend(vfs: &mut Vfs) -> Result<(), FsError> {
    let fd = vfs.open("file", false)?;
    vfs.write(fd, 1000, &[0xEE; 3000])?;
    vfs.fsync(fd)?;
    vfs.close(fd)
}

#[test]
fn a_gap_is_zero_whatever_a_cut_write_left_there() {
    for kind in STACKS {
        let origin = machine(kind);
        let mut vfs = origin.mount().unwrap();
        write(&mut vfs, "file", 1000, 8).unwrap();
        vfs.unmount().unwrap();
        let whole = origin.fork();
        let changes = Changes::default();
        whole.device.borrow_mut().keep_changes(changes.clone());
        extend(&mut whole.mount().unwrap()).unwrap();
        let count = changes.count() as u64;
        for (cut, beyond) in (0..count).flat_map(|it| [(it, Beyond::Write), (it, Beyond::Truncate)])
        {
            let case = format!("{kind:?}, cut {cut}, {beyond:?}");
            let machine = origin.fork();
            let (cut_at_change, ending) = (Some(cut), Some(Ending::Complete));
            let plan = FaultPlan { cut_at_change, ending, ..FaultPlan::default() };
            machine.device.borrow_mut().arm(plan);
            let _cut = machine.mount().map(|mut vfs| extend(&mut vfs));
            machine.device.borrow_mut().power_up();
            machine.device.borrow_mut().arm(FaultPlan::default());
            let mut vfs = machine.mount().unwrap();
            let fd = vfs.open("file", false).unwrap();
            let size = usize::try_from(vfs.size(fd).unwrap()).unwrap();
            match beyond {
                Beyond::Write => vfs.write(fd, GROWN - 1, &[0]).unwrap(),
                Beyond::Truncate => vfs.truncate(fd, GROWN).unwrap(),
            }
            vfs.fsync(fd).unwrap();
            for _ in 0..2 {
                let found = read_named(&mut vfs, "file").unwrap();
                assert_eq!(found.len() as u64, GROWN, "{case}");
                assert!(found[size.max(1000)..].iter().all(|&byte| byte == 0), "{case}: {size}");
                vfs = machine.mount().unwrap();
            }
        }
    }
}
