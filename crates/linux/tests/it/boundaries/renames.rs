//! A file that is replaced by a rename is never missing, and never there twice.

use flysch_chip::{Changes, Ending, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;

use super::{STACKS, machine, write};
use crate::jffs2::state::{inodes, read_named};
use crate::machine::{Kind, Machine};

const ROUNDS: u64 = 8;

/// Bytes written in front of the entries of a rename: with its head a node of JFFS2 then takes
/// about half a sector.
const LEAD: usize = 172;

/// Names so long that the entries of one rename do not fit into a sector.
fn name(letter: &str) -> String {
    letter.repeat(230)
}

fn content(round: u64) -> Vec<u8> {
    let mut bytes = vec![0; 3000];
    Prng::new(round).fill(&mut bytes);
    bytes
}

/// How far the work came.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The last round whose new file was synced.
    synced: u64,
    /// The last round that is durable.
    done: u64,
}

/// Replace a file some times.
fn replace(vfs: &mut Vfs, progress: &mut Progress) -> Result<(), FsError> {
    for round in 1..=ROUNDS {
        let fd = vfs.open(&name("n"), true)?;
        vfs.write(fd, 0, &content(round))?;
        vfs.fsync(fd)?;
        progress.synced = round;
        vfs.close(fd)?;
        // What is written in front of the two entries brings them into sectors of their own.
        let lead = vfs.open("lead", true)?;
        vfs.write(lead, 0, &content(round)[..LEAD])?;
        vfs.close(lead)?;
        vfs.rename(&name("n"), &name("f"))?;
        vfs.sync_directory("/")?;
        progress.done = round;
    }
    Ok(())
}

/// A file system that is three quarters full, so that garbage is collected all the time, and a file
/// to replace.
fn full_machine(kind: Kind) -> Machine {
    let machine = machine(kind);
    let mut vfs = machine.mount().unwrap();
    write(&mut vfs, &name("f"), 1, 1).unwrap();
    write(&mut vfs, "lead", 1, 1).unwrap();
    let fd = vfs.open(&name("f"), false).unwrap();
    vfs.truncate(fd, 0).unwrap();
    vfs.write(fd, 0, &content(0)).unwrap();
    vfs.fsync(fd).unwrap();
    vfs.close(fd).unwrap();
    let share = if kind == Kind::Yaffs2 { 55 } else { 60 };
    let cold = vfs.filesystem().free_bytes().unwrap() * share / 100;
    for number in 0..4 {
        write(&mut vfs, &format!("cold{number}"), usize::try_from(cold / 4).unwrap(), number)
            .unwrap();
    }
    for round in 0..60 {
        write(&mut vfs, "hot", 6000, round).unwrap();
    }
    vfs.unmount().unwrap();
    machine
}

fn check(machine: &Machine, Progress { synced, done }: Progress, case: &str) {
    let mut seen = None;
    for _ in 0..2 {
        let mut vfs = machine.mount().unwrap_or_else(|error| panic!("{case}: {error}"));
        // No name is listed twice.
        let names = inodes(&mut vfs).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(names.len() >= 6, "{case}: {} names", names.len());
        let old = read_named(&mut vfs, &name("f"));
        let old = old.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(old == content(done) || old == content(done + 1), "{case}: after {done}");
        if synced > done && old == content(done) {
            let new = read_named(&mut vfs, &name("n"));
            assert!(new == Ok(content(synced)), "{case}: the file that was synced is there");
        }
        let seen = seen.get_or_insert_with(|| old.clone());
        assert!(*seen == old, "{case}: it changed by itself");
        vfs.sleep(3_000_000_000);
        vfs.sync().unwrap();
    }
}

#[test]
fn a_file_that_is_replaced_is_there_once() {
    for kind in STACKS {
        let origin = full_machine(kind);
        let whole = origin.fork();
        let changes = Changes::default();
        whole.device.borrow_mut().keep_changes(changes.clone());
        replace(&mut whole.mount().unwrap(), &mut Progress::default()).unwrap();
        let count = changes.count() as u64;
        // Only JFFS2 has several names in a page that may be torn between them.
        let torn = if kind == Kind::Jffs2 { 12 } else { 2 };
        for cut in 0..count {
            for seed in 0..=torn {
                let ending = if seed == 0 { Ending::Complete } else { Ending::Torn };
                let machine = origin.fork();
                let (cut_at_change, how) = (Some(cut), Some(ending));
                let plan = FaultPlan { seed, cut_at_change, ending: how, ..FaultPlan::default() };
                machine.device.borrow_mut().arm(plan);
                let mut progress = Progress::default();
                if let Ok(mut vfs) = machine.mount() {
                    let _cut = replace(&mut vfs, &mut progress);
                }
                machine.device.borrow_mut().power_up();
                machine.device.borrow_mut().arm(FaultPlan::default());
                check(&machine, progress, &format!("{kind:?}, cut {cut} {ending:?}, seed {seed}"));
            }
        }
    }
}

/// A directory and a file do not take each other's place, and a refusal changes nothing.
#[test]
fn files_and_directories_are_kept_apart() {
    for kind in STACKS {
        let machine = machine(kind);
        let mut vfs = machine.mount().unwrap();
        write(&mut vfs, "file", 5000, 1).unwrap();
        vfs.mkdir("full").unwrap();
        vfs.mkdir("empty").unwrap();
        write(&mut vfs, "full/inner", 100, 2).unwrap();
        let before = inodes(&mut vfs).unwrap();
        let refused = [
            ("file", "full", FsError::WrongKind),
            ("file", "empty", FsError::WrongKind),
            ("empty", "file", FsError::WrongKind),
            ("full", "full/inner", FsError::WrongKind),
            ("full", "full/more", FsError::WrongKind),
            ("empty", "full", FsError::NotEmpty),
            ("missing", "file", FsError::NotFound),
        ];
        for (from, to, error) in refused {
            assert_eq!(vfs.rename(from, to), Err(error), "{kind:?}: {from} to {to}");
        }
        assert_eq!(vfs.unlink("full"), Err(FsError::NotEmpty), "{kind:?}");
        vfs.unmount().unwrap();
        let mut vfs = machine.mount().unwrap();
        assert_eq!(inodes(&mut vfs).unwrap(), before, "{kind:?}");
        vfs.rename("full", "empty").unwrap();
        assert_eq!(read_named(&mut vfs, "empty/inner").map(|it| it.len()), Ok(100), "{kind:?}");
    }
}
