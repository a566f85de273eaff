//! A page that cannot be read at one mount, and can be at the next.

use flysch_chip::{FaultPlan, Prng};
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::{machine, write};
use crate::jffs2::state::read_named;
use crate::machine::{Kind, Machine};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Files that were replaced, removed, cut, and extended by holes.
fn prepare(vfs: &mut Vfs) -> Result<(), FsError> {
    write(vfs, "kept", 3000, 100)?;
    for round in 0..3 {
        for (seed, name) in (round..).zip(NAMES) {
            write(vfs, name, 5000, seed)?;
        }
        vfs.rename("a", "b")?;
        vfs.unlink("c")?;
        vfs.sync()?;
        let fd = vfs.open("d", false)?;
        vfs.truncate(fd, 1000)?;
        vfs.truncate(fd, 4500)?;
        vfs.write(fd, 4500, &[1; 100])?;
        vfs.fsync(fd)?;
        vfs.close(fd)?;
    }
    Ok(())
}

fn used_pages(machine: &Machine) -> Vec<PageAddr> {
    let mut chip = machine.device.borrow().chip().fork(flysch_chip::Clock::new());
    let geometry = chip.geometry();
    let mut bytes = vec![0; geometry.page_size as usize];
    let mut is_used = |page: &PageAddr| {
        let _quality = chip.read(*page, 0, &mut bytes);
        bytes.iter().any(|&byte| byte != 0xFF)
    };
    (0..geometry.page_count()).map(PageAddr).filter(&mut is_used).collect()
}

/// What was written while the page could not be read counts when it can be again: nothing on that
/// page is newer. JFFS2 gives each node a version for that.
#[test]
fn what_was_synced_beside_a_bad_page_outlives_it() {
    let origin = machine(Kind::Jffs2);
    let mut vfs = origin.mount().unwrap();
    prepare(&mut vfs).unwrap();
    drop(vfs);
    let mut renewed = 0;
    let mut wanted = vec![0; 3000];
    Prng::new(100).fill(&mut wanted);
    for (page, name) in used_pages(&origin).into_iter().flat_map(|page| NAMES.map(|it| (page, it)))
    {
        let machine = origin.fork();
        let flawed_pages = [(page, 200)].into();
        let plan = FaultPlan { flawed_pages, ..FaultPlan::default() };
        machine.device.borrow_mut().arm(plan);
        let Ok(mut vfs) = machine.mount() else { continue };
        if vfs.rename("kept", name).and_then(|()| vfs.sync()).is_err() {
            continue;
        }
        drop(vfs);
        renewed += 1;
        machine.device.borrow_mut().arm(FaultPlan::default());
        let mut vfs = machine.mount().unwrap();
        assert!(read_named(&mut vfs, name).as_ref() == Ok(&wanted), "{page}, {name}");
        assert_eq!(vfs.exists("kept"), Ok(false), "{page}, {name}");
    }
    assert!(renewed > 20, "{renewed} files");
}
