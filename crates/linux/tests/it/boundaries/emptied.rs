//! Once all names are gone, a file system is as empty as a new one, whatever was cut before.

use flysch_chip::{Changes, Ending, FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::{Advice, Vfs};

use super::{STACKS, machine, write};
use crate::machine::Machine;

/// Make a file whose content reaches flash before its name, which is never asked for.
fn write_early(vfs: &mut Vfs) -> Result<(), FsError> {
    let fd = vfs.open("early", true)?;
    let mut bytes = vec![0; 20_000];
    Prng::new(6).fill(&mut bytes);
    vfs.write(fd, 0, &bytes)?;
    vfs.advise(fd, Advice::DontNeed { offset: 0, len: 0 })?;
    vfs.close(fd)
}

/// Make a file, shorten it, replace it, and remove it; each step is made durable.
fn work(vfs: &mut Vfs) -> Result<(), FsError> {
    write_early(vfs)?;
    write(vfs, "first", 30_000, 1)?;
    let fd = vfs.open("first", false)?;
    vfs.truncate(fd, 5000)?;
    vfs.fsync(fd)?;
    vfs.close(fd)?;
    write(vfs, "second", 20_000, 2)?;
    vfs.rename("second", "first")?;
    vfs.sync_directory("/")?;
    // A name is removed while its file is open, and another file is synced.
    let fd = vfs.open("first", false)?;
    vfs.unlink("first")?;
    write(vfs, "third", 9000, 3)?;
    vfs.close(fd)?;
    vfs.sync()
}

fn emptied(machine: &Machine, case: &str) -> u64 {
    machine.free_once_empty().unwrap_or_else(|error| panic!("{case}: {error}"))
}

#[test]
fn nothing_that_was_cut_takes_space_for_ever() {
    for kind in STACKS {
        let origin = machine(kind);
        let new = emptied(&origin.fork(), "a new file system");
        let whole = origin.fork();
        let changes = Changes::default();
        whole.device.borrow_mut().keep_changes(changes.clone());
        work(&mut whole.mount().unwrap()).unwrap();
        for cut in 0..changes.count() as u64 {
            for ending in [Ending::Complete, Ending::Torn] {
                let case = format!("{kind:?}, cut {cut} {ending:?}");
                let machine = origin.fork();
                let (cut_at_change, how) = (Some(cut), Some(ending));
                let plan = FaultPlan { cut_at_change, ending: how, ..FaultPlan::default() };
                machine.device.borrow_mut().arm(plan);
                let _cut = machine.mount().map(|mut vfs| work(&mut vfs));
                machine.device.borrow_mut().power_up();
                machine.device.borrow_mut().arm(FaultPlan::default());
                let free = emptied(&machine, &case);
                assert!(free <= new && free + kind.slack() >= new, "{case}: {free}, new {new}");
            }
        }
    }
}
